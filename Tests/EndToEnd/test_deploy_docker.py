"""deploy/docker: what can be checked without building the image."""

import fnmatch
import json
import os
import re
import shutil
import subprocess

import pytest

from harness.deployed import DEPLOY, DeployedGateway, install, skip_unless_release
from harness.gateway import BINARY, FOLDER, run

ROOT = FOLDER.parent.parent
FILE = DEPLOY / "docker/Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions and their arguments, with continued lines joined."""
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r" *\\\n *", " ", "\n".join(lines))
    return [tuple(line.split(" ", 1)) for line in joined.splitlines() if line]


def packages() -> list[list[str]]:
    """The Debian packages that each stage installs."""
    command = r"apt-get install -y --no-install-recommends ([^&]*)"
    return [match[1].split() for name, argument in instructions() if name == "RUN"
            if (match := re.search(command, argument))]


def installed_packages(names: list[str]) -> set[str]:
    """These packages and all that they depend on."""
    tree = subprocess.run(
        ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
         "--no-breaks", "--no-replaces", "--no-enhances", *names],
        check=True, capture_output=True, text=True).stdout
    return {line.partition(":")[0] for line in tree.splitlines() if line and line[0].isalnum()}


@pytest.fixture(scope="module", autouse=True)
def apt():
    if not shutil.which("apt-cache"):
        pytest.skip("no apt-cache on this machine")


def test_copied_files_exist_and_are_in_the_context():
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines()
               if not line.startswith("#")]
    sources = [argument.split()[0] for name, argument in instructions()
               if name == "COPY" and not argument.startswith("--from")]
    assert len(sources) == 4
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source
        assert not any(fnmatch.fnmatch(source, rule) for rule in ignored[1:]), source


def test_ignored_folders_are_of_no_target():
    """Swift needs the folders of all targets, also of the tests' ones."""
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines()
               if line.startswith("Tests/")]
    manifest = (ROOT / "Package.swift").read_text()
    targets = re.findall(r'"(Tests/\w+)"', manifest)
    targets += [f"Tests/{name}Tests"
                for name in re.findall(r'^ +tests\(\s*"(\w+)"', manifest, re.MULTILINE)]
    assert len(targets) > 20 and not set(ignored) & set(targets)


def test_packages_exist_in_debian():
    building, running = packages()
    names = sorted({*building, *running})
    policy = subprocess.run(["apt-cache", "policy", *names], check=True, capture_output=True,
                            text=True).stdout
    candidates = re.findall(r"^(\S+):\n.*\n  Candidate: \d", policy, re.MULTILINE)
    assert len(names) > 10 and sorted(candidates) == names


def test_the_image_has_every_library_of_the_program():
    """Also the plug-in that libwebsockets loads when the gateway starts."""
    skip_unless_release()
    listing = subprocess.run(["ldd", BINARY], check=True, capture_output=True, text=True).stdout
    libraries = {os.path.realpath(path) for path in re.findall(r"=> (/\S+)", listing)}
    assert len(libraries) > 10
    image = installed_packages(packages()[1])
    for library in libraries:
        # Packages list some libraries below /lib, which is a link to /usr/lib.
        owner = subprocess.run(["dpkg-query", "--search", library, library.removeprefix("/usr")],
                               capture_output=True, text=True).stdout.partition(":")[0]
        assert owner in image, f"{library} is in {owner}, which the image does not install"
    assert "libwebsockets-evlib-ev" in packages()[1]


def test_the_build_stage_has_what_make_installs_for_building():
    listed = (ROOT / "dev/packages").read_text()
    assert all(re.search(rf"\b{re.escape(package)}\b", listed) for package in packages()[0])


def test_the_recipe_keeps_memory_out_of_core_files():
    """As the unit of systemd does: a core file has all secrets."""
    [recipe] = re.findall(r"docker run -d .*\n(?:.*\n)*?\n", (DEPLOY / "README.md").read_text())
    assert "--ulimit core=0 " in recipe and "--security-opt no-new-privileges" in recipe, recipe
    unit = (DEPLOY / "systemd/fleetwire.service").read_text()
    assert {"LimitCORE=0", "NoNewPrivileges=yes"} <= set(unit.splitlines())


def test_the_user_is_not_root():
    [user] = [argument for name, argument in instructions() if name == "USER"]
    assert user == "fleetwire"


def test_the_image_starts_with_the_production_configuration(tmp_path):
    found = dict(instructions())
    serve, *options = json.loads(found["CMD"])
    assert serve == "serve" and json.loads(found["ENTRYPOINT"]) == ["/usr/local/bin/fleetwire"]
    config = install(tmp_path / "etc")
    options = [str(config) if word == "/etc/fleetwire/fleetwire.yaml" else word for word in options]
    variables = dict(value.split("=") for name, value in instructions() if name == "ENV")
    result = run("check-config", *options, **variables)
    assert result.returncode == 0 and "0.0.0.0:6001" in result.stdout, result


def test_the_health_check_asks_the_gateway(tmp_path):
    [check] = [argument for name, argument in instructions() if name == "HEALTHCHECK"]
    assert check.endswith('CMD ["/usr/local/bin/healthy"]')
    gateway = DeployedGateway(tmp_path / "etc")

    def status() -> int:
        return subprocess.run([DEPLOY / "docker/healthy"], capture_output=True,
                              env=os.environ | {"FLEETWIRE_SERVER_PORT": str(gateway.port)}
                              ).returncode

    assert status() == 0
    gateway.stop()
    assert status() == 1
