"""A gateway with the development configuration, the examples that run beside it, and the driver's page."""

import json
import urllib.parse

import yaml

from .documents import ROOT, RepositoryGateway
from .examples import Program
from .fleet import Caller, wait_until
from .tokens import HS256, claims

SECRET = yaml.safe_load((ROOT / "config/fleetwire.yaml").read_text())["auth"]["jwt"]["secret"]
AGAIN = r".+; again in \d\.\d s"


def token(role: str, subject: str, **more) -> str:
    """Returns a token that the development configuration accepts."""
    return HS256(SECRET).token(claims(role, subject, **more))


class Site:
    """A gateway in a directory that looks like a clone of the repository, the programs that run in it, and an admin."""

    def __init__(self, directory, closing, changes=None):
        self.directory, self.closing = directory, closing
        self.gateway = RepositoryGateway(directory, changes or {})

    def run(self, name: str, *arguments: str) -> Program:
        return self.closing(Program(self.directory, name, *arguments))

    def run_driver(self, *arguments: str) -> Program:
        return self.run("driver.py", "--url", self.gateway.url, "--retry-seconds", "0.2", *arguments)

    def run_backend(self, *arguments: str) -> str:
        """Returns the URL of the backend."""
        backend = self.run("backend.py", "--url", self.gateway.url, "--port", "0", *arguments)
        return backend.expect(r"listening on (http://127\.0\.0\.1:\d+)")[1]

    def admin(self) -> Caller:
        return self.closing(Caller(self.gateway, bearer=token("admin", "ann")))

    def assign(self, order: str) -> None:
        self.admin().assign(order, "42")

    def steps(self, order: str) -> list[str]:
        """The steps of the latest notification of the order to the driver."""
        admin = self.admin()
        found = admin.expect_ok("GET", f"/api/ops/notifications?order={order}")["notifications"]
        latest = next(each["id"] for each in found if each["channel"] == "driver-42")
        return [step["step"] for step in admin.expect_ok("GET", f"/api/ops/notifications/{latest}")["steps"]]

    def refuses(self, bearer: str) -> bool:
        return self.closing(Caller(self.gateway, bearer=bearer)).request("GET", "/api/driver/jobs").status == 401

    def wait_until_accepted(self, *orders: str) -> None:
        admin = self.admin()
        for order in orders:
            wait_until(lambda: admin.get_order(order)["status"] == "accepted", f"that {order} is accepted")


class Page:
    """The driver's page, in which driver 42 signs in."""

    def __init__(self, browser, site: Site, folder: str, backend: str, password: str = "dana", name: str = "driver.html",
                 retry_seconds: str = "0.2"):
        options = urllib.parse.urlencode({"gateway": site.gateway.url, "backend": backend,
                                          "retry-seconds": retry_seconds, "silence-seconds": "0.5"})
        self.tab = browser.open(f"{folder}/{name}?{options}")
        self.sign_in(password)

    def sign_in(self, password: str) -> None:
        for name, text in (("driver", "42"), ("password", password)):
            self.tab.run(f"document.querySelector('[name={name}]').select()")
            self.tab.type(text)
        self.tab.press("Enter")

    def wait_for_status(self, text: str) -> None:
        self.tab.wait_for(f"document.getElementById('status').textContent.includes({json.dumps(text)})", text)

    def wait_for_jobs(self, *jobs: str) -> None:
        self.tab.wait_for(f"document.getElementById('jobs').innerText.trim() === {json.dumps(chr(10).join(jobs))}",
                          f"the jobs {jobs}")

    def close(self) -> None:
        self.tab.close()
