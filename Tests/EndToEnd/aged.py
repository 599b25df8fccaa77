"""The gateway on a store of a year: `make aged`.

A generator fills a store; then everything that reads or writes it runs a few times, and the time of the slowest is
printed and bounded, from outside: the request's own time. At last the retention is shortened, so that it has much to
delete, while dispatchers work: none of them may notice.
"""

import argparse
import contextlib
import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.api import Api
from harness.aged.generator import YEAR, Aged, fill, identifier
from harness.fleet import SECTIONS, Caller, report
from harness.gateway import Gateway
from harness.metrics import scrape

# The bounds in seconds: of a step, of a start, and of the slowest of a hundred dispatchers' actions beside retention.
STEP, START, BESIDE_RETENTION = 1.0, 10.0, 0.02
FILL = 300.0


class Run:
    def __init__(self, folder: Path, aged: Aged, bound: float, beside: float):
        self.folder, self.aged, self.bound, self.beside = folder, aged, bound, beside
        self.problems: list[str] = []
        self.gateway = self.start(365 * 3)

    def start(self, days: int) -> Gateway:
        return Gateway(self.folder, sections=SECTIONS | {"store": {"retention_days": days}})

    def fill(self) -> None:
        self.gateway.stop()
        rows, seconds = fill(self.gateway.database_path, self.aged)
        size = self.gateway.database_path.stat().st_size
        print(f"{rows:,} rows, {size / 1e9:.2f} GB, made in {seconds:.0f} s; {self.aged.drivers:,} drivers, "
              f"{self.aged.heavy} with {self.aged.unread:,} unread each\n\n| step | slowest, ms |\n|---|---|", flush=True)
        if seconds > FILL:
            self.problems.append(f"the generator took {seconds:.0f} s")

    def judge(self, name: str, seconds: float, bound: float) -> None:
        print(f"| {name} | {seconds * 1000:.1f} |", flush=True)
        if seconds > bound:
            self.problems.append(f"{name}: {seconds * 1000:.0f} ms, at most {bound * 1000:.0f}")

    def step(self, name: str, actions: list[Callable[[], object]]) -> None:
        slowest = 0.0
        for action in actions:
            begin = time.monotonic()
            action()
            slowest = max(slowest, time.monotonic() - begin)
        self.judge(name, slowest, self.bound)

    # MARK: Steps

    def steps(self) -> None:
        begin = time.monotonic()
        self.gateway = self.start(365 * 3)
        self.judge("start", time.monotonic() - begin, START)
        with contextlib.ExitStack() as stack:
            def caller(role: str, subject: str) -> Caller:
                return stack.enter_context(contextlib.closing(Caller(self.gateway, role, subject)))

            admin, ops = caller("admin", "ada"), caller("ops", "o")
            heavy, light = caller("driver", "a0"), caller("driver", f"a{self.aged.drivers - 1}")
            customer = caller("customer", "c1")
            self.queries(ops, heavy, light, customer)
            self.commands(admin, heavy, light, customer)
            self.background(admin, ops, heavy)

    def queries(self, ops: Caller, heavy: Caller, light: Caller, customer: Caller) -> None:
        def get(caller: Caller, *paths: str) -> list[Callable[[], object]]:
            return [lambda path=path: caller.expect_ok("GET", path) for path in paths for _ in range(3)]

        newest = ops.expect_ok("GET", "/api/ops/notifications?limit=1")["notifications"][0]["id"]
        lists = "/api/ops/notifications"
        self.step("query: figures, push queues", get(ops, "/api/ops/delivery", "/api/ops/push", "/api/ops/stats"))
        self.step("query: the newest of the log", get(ops, f"{lists}?limit=200", f"{lists}?limit=200&before={newest}"))
        self.step("query: what nobody has confirmed", get(ops, f"{lists}?state=unconfirmed", f"{lists}?state=expired"))
        self.step("query: of a driver, of an order", get(
            ops, f"{lists}?channel=driver-a0", f"{lists}?channel=driver-a0&state=acknowledged", f"{lists}?order=O7"))
        self.step("query: one notification", get(ops, f"{lists}/{newest}"))
        self.step("query: an inbox", get(heavy, "/api/driver/notifications", "/api/driver/notifications?limit=200") +
                  get(light, "/api/driver/notifications") + get(customer, "/api/customer/notifications?limit=200"))
        self.step("query: a driver's jobs", get(heavy, "/api/driver/jobs") + get(light, "/api/driver/jobs"))

    def commands(self, admin: Caller, heavy: Caller, light: Caller, customer: Caller) -> None:
        self.step("command: assign, cancel", [
            lambda each=each, action=action: admin.order(f"N{each}", action, driverId=f"a{each % 9}")
            for each in range(50) for action in ("assign-driver", "cancel-enhanced")])
        self.step("command: announce to 500", [lambda: admin.expect_ok("POST", "/api/admin/notifications", {
            "type": "NEW_BATCH_AVAILABLE", "to": {"drivers": [f"a{each}" for each in range(500)]}, "data": {}})] * 3)
        self.step("command: announce to all", [lambda: admin.expect_ok(
            "POST", "/api/admin/notifications", {"type": "NEW_BATCH_AVAILABLE", "to": {"all": True}, "data": {}})] * 3)
        old = identifier(int(time.time() * 1000) - YEAR, 1)
        self.step("command: telemetry", [lambda: report(light, old)] * 10)
        self.step("query: preferences", [lambda: light.expect_ok("GET", "/api/driver/preferences")] * 20)
        self.step("command: mark all as read", [
            lambda: heavy.expect_ok("POST", "/api/driver/notifications/read", {"all": True}),
            lambda: customer.expect_ok("POST", "/api/customer/notifications/read", {"all": True})])
        self.step("command: erase", [lambda: admin.request("DELETE", "/api/admin/people/driver/a1"),
                                     lambda: admin.request("DELETE", "/api/admin/people/customer/c2")])

    def background(self, admin: Caller, ops: Caller, heavy: Caller) -> None:
        """Read marks are written and two people erased, in slices, while dispatchers work."""
        times = []
        deadline = time.monotonic() + 600
        while self.gateway.query("SELECT (SELECT COUNT(*) FROM read_marks) + (SELECT COUNT(*) FROM erasures WHERE cursor <> '~')"
                                 )[0][0] and time.monotonic() < deadline:
            times += self.actions(admin, 20)
        if times:
            self.judge("an action beside background tasks", max(times), self.bound)

    def actions(self, admin: Caller, count: int) -> list[float]:
        times = []
        for each in range(count):
            begin = time.monotonic()
            admin.order(f"P{time.monotonic_ns()}", "assign-driver", driverId=f"a{each % self.aged.drivers}")
            times.append(time.monotonic() - begin)
        return times

    # MARK: Retention

    def retention(self, seconds: float) -> None:
        """A shorter retention has a tenth of the rows to delete."""
        self.gateway.stop()
        before = statistics.quantiles(self.quiet(365 * 3, seconds / 4), n=100)
        self.gateway.stop()
        times = self.quiet(330, seconds)
        after = statistics.quantiles(times, n=100)
        deleted = self.deleted
        print(f"\nan action: p50 {before[49] * 1000:.1f}, p99 {before[98] * 1000:.1f} ms; while retention deletes "
              f"{deleted / seconds:.0f} rows/s: p50 {after[49] * 1000:.1f}, p99 {after[98] * 1000:.1f}, longest "
              f"{max(times) * 1000:.1f} ms; it is {self.lag / 86_400:.1f} days behind")
        if after[98] > max(self.beside, 2 * before[98]):
            self.problems.append(f"beside retention p99 is {after[98] * 1000:.1f} ms, at most {self.beside * 1000:.0f}")
        if not deleted:
            self.problems.append("retention has deleted nothing")

    def quiet(self, days: int, seconds: float) -> list[float]:
        self.gateway = self.start(days)
        times: list[float] = []
        with contextlib.closing(Caller(self.gateway, "admin", "ada")) as admin:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                times += self.actions(admin, 10)
        with contextlib.closing(Api(self.gateway)) as api:
            metrics = scrape(api)
        self.deleted = metrics.total("fleetwire_store_forgotten_total")
        self.lag = metrics.total("fleetwire_store_retention_lag_seconds")
        return times


def run(folder: Path, aged: Aged, bound: float = STEP, seconds: float = 30, beside: float = BESIDE_RETENTION) -> list[str]:
    """Returns the problems."""
    run = Run(folder, aged, bound, beside)
    try:
        run.fill()
        run.steps()
        run.retention(seconds)
        run.gateway.stop()
    except (OSError, http.client.HTTPException) as error:
        run.problems.append(f"{type(error).__name__}: {error}")
    finally:
        if not run.gateway.stopped:
            run.gateway.kill()
    return run.problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--drivers", type=int, default=10_000)
    parser.add_argument("--heavy", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleetwire-aged-") as name:
        problems = run(Path(name), Aged(options.rows, options.drivers, options.heavy), seconds=options.seconds)
    print("\n" + ("\n".join(problems) or "aged: all bounds are met"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
