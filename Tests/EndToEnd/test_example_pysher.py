"""examples/driver_pysher.py does what it says, whatever happens to the gateway."""

from harness.example_fixtures import site, start_site  # noqa: F401
from harness.example_site import AGAIN, token
from harness.examples import EXAMPLES
from harness.fleet import wait_until

SUBSCRIBED = "subscribed to private-driver-42"


def run_pysher(site, *arguments: str):  # noqa: F811
    return site.run("driver_pysher.py", "--url", site.gateway.url, "--retry-seconds", "0.2", *arguments)


def test_the_driver_survives_outages_and_shows_each_job_once(site):  # noqa: F811
    driver = run_pysher(site)
    driver.expect(SUBSCRIBED)
    site.assign("A-1")
    driver.expect("job-assigned A-1")
    driver.expect("Job accepted successfully")

    site.gateway.kill()
    for _ in range(10):
        driver.expect(".*Connection refused.*")
    driver.freeze()
    site.gateway.restart()
    site.assign("A-2")
    driver.thaw()
    driver.expect(SUBSCRIBED)
    driver.expect("job-assigned A-2")
    driver.expect("Job accepted successfully")

    # A restart that announces itself.
    site.gateway.stop()
    driver.expect(".*Connection refused.*")
    site.gateway.restart()
    driver.expect(SUBSCRIBED)
    site.assign("A-3")
    driver.expect("job-assigned A-3")
    site.wait_until_accepted("A-1", "A-2", "A-3")
    assert [line for line in driver.lines if line.startswith("job-")] == [f"job-assigned A-{n}" for n in (1, 2, 3)]


def test_the_driver_leaves_a_gateway_that_does_not_answer(site):  # noqa: F811
    driver = run_pysher(site, "--silence-seconds", "0.5")
    driver.expect(SUBSCRIBED)
    site.gateway.freeze()
    for _ in range(2):  # the second time, nobody answers the handshake
        driver.expect(AGAIN)
    site.gateway.thaw()
    driver.expect(SUBSCRIBED)
    site.assign("A-1")
    driver.expect("job-assigned A-1")


def test_the_driver_gets_a_new_token_when_the_old_one_has_expired(site):  # noqa: F811
    """The gateway's clock may differ by a minute, so that the second token is valid for three seconds."""
    soon = token("driver", "42", ttl=-57)
    tokens = site.directory / "tokens"
    tokens.write_text("\n".join([token("driver", "42", ttl=-3600), soon, token("driver", "42")]) + "\n")
    driver = run_pysher(site, "--token-command", "sed -n 1p tokens && sed -i '1{$!d}' tokens")
    driver.expect(SUBSCRIBED)
    wait_until(lambda: site.refuses(soon), "that the token has expired")
    site.gateway.kill()
    site.gateway.restart()
    driver.expect(SUBSCRIBED)
    site.assign("A-1")
    driver.expect("job-assigned A-1")
    driver.expect("Job accepted successfully")
    assert len(tokens.read_text().splitlines()) == 1


def test_the_driver_subscribes_again_when_the_authorization_failed(site):  # noqa: F811
    broken = site.directory / "broken"
    broken.touch()
    driver = run_pysher(site, "--token-command", f"test ! -e broken && echo {token('driver', '42')}")
    for _ in range(3):
        driver.expect(AGAIN)
    broken.unlink()
    driver.expect(SUBSCRIBED)


WRONG = """
import argparse, runpy
Driver = runpy.run_path({program!r})["Driver"]

class Wrong(Driver):
    signatures = ["key1:0", "key1:1"]

    def call(self, path, body):
        grant = super().call(path, body)
        return dict(auth=self.signatures.pop()) if path == "/pusher/auth" and self.signatures else grant

Wrong(argparse.Namespace(url={url!r}, key="key1", driver="42", device="d", token_command={command!r}, silence_seconds=20,
                         retry_seconds=0.2)).run()
"""


def test_the_driver_goes_on_where_pysher_ends(site, tmp_path):  # noqa: F811
    """pysher gives up at an error such as that of a wrong signature."""
    program = tmp_path / "wrong.py"
    program.write_text(WRONG.format(program=str(EXAMPLES / "driver_pysher.py"), url=site.gateway.url,
                                    command=f"echo {token('driver', '42')}"))
    driver = site.run(str(program))
    for _ in range(2):
        driver.expect(r"the connection has ended; again in \d\.\d s")
    driver.expect(SUBSCRIBED)


def test_the_driver_says_what_is_wrong(site):  # noqa: F811
    assert "4001" in run_pysher(site, "--key", "wrong").expect(".*goodbye")[0]
    driver = run_pysher(site, "--driver", "43", "--token-command", f"echo {token('driver', '42')}")
    assert "403" in driver.expect(AGAIN)[0]
