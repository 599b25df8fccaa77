"""The manual page that dev/manual makes from the program's help."""

import json
import shutil
import subprocess

import pytest

from harness.gateway import BINARY, FOLDER, environment

ROOT = FOLDER.parent.parent


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page's file."""
    path = tmp_path_factory.mktemp("manual") / "fleetwire.1"
    path.write_bytes(subprocess.run([ROOT / "dev/manual", BINARY], check=True,
                                    capture_output=True).stdout)
    return path


@pytest.fixture(scope="module")
def sections(page) -> dict[str, str]:
    """The page as it is shown, without line breaks: the text of each section and subsection."""
    shown = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=1000", page], check=True,
                           capture_output=True).stdout
    found, name = {}, ""
    # mandoc prints bold and underlined characters twice, with a backspace between.
    characters = shown.decode()
    while "\b" in characters:
        at = characters.index("\b")
        characters = characters[:at - 1] + characters[at + 1:]
    for line in characters.splitlines()[1:-1]:
        if line and not line.startswith("     "):
            name = line.strip()
        found[name] = found.get(name, "") + line.strip() + "\n"
    return found


def commands() -> list[dict]:
    dump = subprocess.run([BINARY, "--experimental-dump-help"], check=True, capture_output=True,
                          text=True).stdout
    return [json.loads(dump)["command"], *json.loads(dump)["command"]["subcommands"]]


def test_every_command_and_option_is_described(sections):
    program, *rest = commands()
    assert len(rest) >= 10
    for command in rest:
        name, section = command["commandName"], sections[command["commandName"]]
        [synopsis] = [line for line in sections["SYNOPSIS"].splitlines()
                      if line.split()[:2] == ["fleetwire", name]]
        assert command["abstract"].split(".")[0] in section
        for argument in command["arguments"]:
            value = argument["valueName"]
            if not argument["shouldDisplay"] or value in ("help", "version"):
                continue
            expected = {"flag": f"--{value}", "option": f"--{value} {value}", "positional": value}
            assert expected[argument["kind"]] in synopsis, (name, argument)
            if "abstract" in argument:
                assert expected[argument["kind"]] in section, (name, argument)
                assert argument["abstract"].split(".")[0] in section, (name, argument)
    for argument in program["arguments"]:
        assert f"--{argument['valueName']}" in sections["DESCRIPTION"]


@pytest.mark.parametrize("section, words", [
    ("EXIT STATUS", ["64", "78"]), ("ENVIRONMENT", ["FLEETWIRE_CONFIG", "NOTIFY_SOCKET"]),
    ("FILES", ["/etc/fleetwire/fleetwire.yaml"]), ("SIGNALS", ["SIGTERM", "SIGHUP"]),
    ("SEE ALSO", ["nginx(8)"])])
def test_the_page_has_the_usual_sections(sections, section, words):
    assert all(word in sections[section] for word in words)


def test_mandoc_finds_nothing_to_complain_about(page):
    result = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True)
    # It looks for the pages that SEE ALSO names in an index, which Debian does not keep.
    assert [line for line in result.stdout.splitlines() + result.stderr.splitlines()
            if "outdated mandoc.db" not in line] == []


def test_man_prints_the_page_without_warnings(page):
    result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], capture_output=True,
                            text=True, env=environment(LC_ALL="C.UTF-8", MANROFFSEQ=""))
    assert result.returncode == 0 and result.stderr == "", result
    assert "Realtime" not in result.stdout and "realtime notification gateway" in result.stdout


def test_an_unusable_program_is_an_error(tmp_path):
    false = shutil.which("false")
    assert subprocess.run([ROOT / "dev/manual", false], capture_output=True).returncode != 0
