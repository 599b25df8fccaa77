"""docs/operations.md: its commands install, reload, upgrade and restore the gateway behind nginx.

They run as root in namespaces of their own: what they write to /etc, /usr/local, /var and /run is
lost with the namespace, their ports are those of another network, and their processes end with the
test. No systemd runs there: `harness/systemctl.py` stands in for it.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from harness.deployed import skip_unless_release
from harness.gateway import BINARY, FOLDER, environment

ROOT = FOLDER.parent.parent
PAGE = ROOT / "docs/operations.md"
MARK = "\0"
# Not the page's, so that a name that stays in a file is found.
DOMAIN = "gateway.example.net"

NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Directories that are copies, within the namespace.
SETUP = """
set -euo pipefail
ip link set lo up
mount -t tmpfs none "$SCRATCH"
for folder in etc usr/local var; do
    mkdir -p "$SCRATCH/$folder/upper" "$SCRATCH/$folder/work"
    mount -t overlay overlay "/$folder" \\
        -o "lowerdir=/$folder,upperdir=$SCRATCH/$folder/upper,workdir=$SCRATCH/$folder/work"
done
mount -t tmpfs none /run
cp Tests/EndToEnd/harness/systemctl.py /usr/local/bin/systemctl
echo "127.0.0.1 $DOMAIN" >> /etc/hosts
"""
# What happens after the block that begins so: here, what a restored backup must not contain.
BETWEEN = {
    "install -d -m 700 -o fleetwire": """call https://$domain/api/admin/orders/B-1/assign-driver \\
    -H "Authorization: Bearer $admin" -d '{"driverId":"42"}'
runuser -u fleetwire -- fleetwire audit --order B-1""",
}
# What a reader would look at afterwards.
CHECKS = {
    "unit": "systemd-analyze verify fleetwire.service 2>&1",
    "manual": "man -w fleetwire",
    "audit": """for order in A-17 B-1; do
    runuser -u fleetwire -- fleetwire audit --order $order
done""",
    "client": """driver=$(runuser -u fleetwire -- fleetwire token --role driver --subject 42)
export REQUESTS_CA_BUNDLE=/etc/nginx/fleetwire/certificate.pem
export WEBSOCKET_CLIENT_CA_BUNDLE=$REQUESTS_CA_BUNDLE
(cd Tests/EndToEnd && "$PYTHON" -m harness.wss_driver $domain fleet $driver $admin)""",
    "outside": "call -o /dev/null -w '%{http_code}' https://$domain/metrics",
    "scrape": 'curl -sS http://127.0.0.1:6001/metrics -H "Authorization: Bearer '
              '$(cat /etc/fleetwire/secrets/metrics_token)"',
    "cron": """command=$(sed -n 's/^30 3 \\* \\* \\* fleetwire //p' /etc/cron.d/fleetwire)
runuser -u fleetwire -- sh -c "${command//\\\\%/%}" && ls /var/backups/fleetwire""",
    "modes": "stat -c '%a %U %G %n' /etc/fleetwire/secrets/* /var/lib/fleetwire{,/fleetwire.db}",
    "log": "cat /var/log/fleetwire.log",
}


@dataclass
class Block:
    line: int
    text: str


def blocks() -> list[Block]:
    """The page's shell blocks that run here."""
    text = PAGE.read_text()
    found = []
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        before = text[:match.start()].rstrip()
        if not before.endswith("Not run in a test:"):
            found.append(Block(text[:match.start()].count("\n") + 2, match[1]))
    return found


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> dict[str, str]:
    """Runs the page. Returns what each block and each check has printed."""
    skip_unless_release()
    if os.geteuid() != 0:
        pytest.skip("the page is for root")
    trial = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if trial.returncode:
        pytest.skip(f"no namespaces here: {trial.stderr.strip()}")
    folder = tmp_path_factory.mktemp("walk")
    manual = folder / "fleetwire.1"
    manual.write_bytes(subprocess.run([ROOT / "dev/manual", BINARY], check=True,
                                      capture_output=True).stdout)
    (folder / "scratch").mkdir()
    steps = []
    for block in blocks():
        text = block.text.replace("domain=fleet.example.com", f"domain={DOMAIN}")
        steps.append((block.text, f"# line {block.line}\n{text}"))
        steps += [("between", more) for first, more in BETWEEN.items()
                  if block.text.startswith(first)]
    steps += list(CHECKS.items())
    script = SETUP + "".join(f"{text}\nprintf '\\0'\n" for _, text in steps)
    result = subprocess.run(
        [*NAMESPACES, "bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100,
        env=environment(SCRATCH=str(folder / "scratch"), PYTHON=sys.executable, DOMAIN=DOMAIN,
                        MAKEFLAGS=f"BINARY={BINARY} MANUAL={manual}"))
    outputs = result.stdout.split(MARK)
    failed = steps[len(outputs) - 1] if len(outputs) <= len(steps) else None
    assert failed is None, f"{failed[1]}\nprinted:\n{outputs[-1]}\n{result.stderr}"
    return {name: output for (name, _), output in zip(steps, outputs)}


def output(walk: dict[str, str], first_line: str) -> str:
    [found] = [text for name, text in walk.items() if name.startswith(first_line)]
    return found


def test_the_configuration_is_accepted(walk):
    printed = output(walk, "umask 022")
    assert printed == "/etc/fleetwire/fleetwire.yaml: ok (1 app, 127.0.0.1:6001)\n"


def test_the_timeline_of_the_first_notification_is_printed(walk):
    printed = output(walk, "call() {")
    assert "order-assigned on admin-channel" in printed or "job-assigned on driver-42" in printed
    assert "  created" in printed, printed


def test_the_restored_database_has_what_the_backup_has(walk):
    assert "new -> assigned, driver 42" in walk["between"]
    assert walk["audit"].count("new -> assigned, driver 42") == 1


def test_a_driver_connects_with_an_unmodified_sdk_and_gets_both_jobs(walk):
    assert walk["client"].split() == ["A-17", "A-18"]


def test_the_cron_job_makes_a_backup(walk):
    assert re.search(r"^\d{4}-\d\d-\d\d\.db$", walk["cron"], re.MULTILINE), walk["cron"]


def test_the_unit_is_valid_where_it_is_installed(walk):
    assert walk["unit"] == ""


def test_the_manual_page_is_found(walk):
    assert walk["manual"].endswith("/man1/fleetwire.1\n")


def test_metrics_are_for_prometheus_on_the_machine_only(walk):
    assert walk["outside"] == "404"
    assert "# TYPE fleetwire_connected gauge" in walk["scrape"]


def test_only_the_gateway_reads_its_secrets_and_data(walk):
    modes = {name: (mode, user, group)
             for mode, user, group, name in map(str.split, walk["modes"].splitlines())}
    assert modes.pop("/var/lib/fleetwire") == ("700", "fleetwire", "fleetwire")
    assert modes.pop("/var/lib/fleetwire/fleetwire.db") == ("600", "fleetwire", "fleetwire")
    assert len(modes) == 4 and set(modes.values()) == {("640", "root", "fleetwire")}


def test_the_log_has_the_starts_and_the_reload(walk):
    events = re.findall(r'"event":"(\w+)"', walk["log"])
    assert events.count("listening") == 3 and events.count("stopped") == 2
    assert "reloaded" in events and "reload_incomplete" not in events
    assert '"level":"error"' not in walk["log"]


def test_figures_for_sizing_are_those_that_the_benchmark_measured():
    sizing = PAGE.read_text().partition("## Sizing")[2].partition("nginx, TLS")[0]
    figures = re.findall(r"\d[\d,]*\d", sizing)
    measured = set(re.findall(r"\d[\d,]*\d", (ROOT / "docs/performance.md").read_text()))
    assert len(figures) == 8 and set(figures) <= measured, set(figures) - measured
