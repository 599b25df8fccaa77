"""The gateway on a store of a year: `make aged`.

A generator fills all tables of a store. Then every endpoint of the API is called several times, on what is oldest, newest
and largest in it, and the time of the slowest is printed and bounded, from outside: the request's own time. An endpoint
that is neither called nor excused fails the run. The gateway is killed in the middle of its tasks, and they must end. At
last the retention is shortened, so that it has much to delete, while dispatchers work: none of them may notice. A cluster
whose log is older than it keeps starts a node.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from harness.aged import account_steps, inbox_steps, jobs_steps, ops_steps, tasks
from harness.aged.cluster import check_aged_cluster
from harness.aged.generator import fill
from harness.aged.sizes import Aged
from harness.aged.watch import Watch
from harness.aged.world import People, World
from harness.gateway import BINARY, environment

STEPS = [jobs_steps.orders, jobs_steps.routes, jobs_steps.trips, jobs_steps.cards, jobs_steps.telemetry, inbox_steps.inboxes,
         inbox_steps.devices, inbox_steps.preferences, inbox_steps.announcements, ops_steps.figures, ops_steps.log,
         ops_steps.subscriptions, ops_steps.pusher, ops_steps.webhooks, account_steps.accounts, account_steps.kitchen,
         account_steps.codes, inbox_steps.read_all]
# Endpoints that no step calls, and why.
EXCUSED: dict[str, str] = {}
TURNS = 5
LONG_INBOX = 50_000
# What may cost more in a larger store, and why.
OPS_LOG = "GET /api/ops/notifications"
GROWING = {
    "GET /app/{key}: a heavy driver's channel": "counts what the replay leaves out",
    "POST /api/admin/notifications: to all": "its pushes are queued meanwhile",
    "POST /api/admin/notifications/{id}/remind: a new one": "its pushes are queued meanwhile",
    "POST /api/admin/notifications/{id}/remind: of the store": "its pushes are queued meanwhile",
    "DELETE /api/admin/people/driver/{id}": "the erasure goes on meanwhile",
    "DELETE /api/admin/people/customer/{id}": "the erasure goes on meanwhile",
} | dict.fromkeys(
    ["GET /api/ops/delivery", f"{OPS_LOG}: state unconfirmed", f"{OPS_LOG}: a day old and unconfirmed",
     f"{OPS_LOG}: state expired"],
    "reads all unconfirmed notifications that have not expired, and a larger store has more",
) | dict.fromkeys(
    [f"{OPS_LOG}: state written", *(f"{OPS_LOG}: state {state} of a heavy driver" for state in (
        "created", "written", "confirmed", "acknowledged", "unconfirmed"))],
    "looks for those in that state, of which there are few, among the newest 100,000")
# How much more of a processor a request may use in a larger store: a factor, and seconds. Judged if there are so many calls.
GROWTH, NOISE, CALLS = 2.0, 0.002, TURNS
KEPT_DAYS, SHORTER_DAYS = 3 * 365, 330


@dataclass
class Bounds:
    """In seconds: of a request, a start, a copy of the store, the tasks, a dispatcher's p99 beside retention, and the
    generator.
    """

    request: float = 1.0
    start: float = 10.0
    backup: float = 120.0
    tasks: float = 600.0
    beside_retention: float = 0.02
    generator: float = 300.0


class Run:
    def __init__(self, folder: Path, aged: Aged, bounds: Bounds, stack: contextlib.ExitStack):
        self.aged, self.bounds, self.stack = aged, bounds, stack
        self.watch, self.problems = Watch(), []
        self.slowest: dict[str, tuple[float, str]] = {}  # by kind: starts, tasks, commands of the shell
        self.world = World(folder, stack)
        self.gateway = self.world.start(KEPT_DAYS)

    def judge(self, name: str, seconds: float, bound: float) -> None:
        """Prints and judges a time. A name begins with its kind and a colon."""
        kind = name.partition(":")[0]
        self.slowest[kind] = max((seconds, name), self.slowest.get(kind, (0, "")))
        print(f"| {name} | | {seconds * 1000:.1f} | |", flush=True)
        if seconds > bound:
            self.problems.append(f"{name}: {seconds * 1000:.0f} ms, at most {bound * 1000:.0f}")

    def fill(self) -> None:
        self.gateway.stop()
        rows, seconds, wrong = fill(self.gateway.database_path, self.aged)
        size = self.gateway.database_path.stat().st_size
        aged, log = self.aged, self.aged.spread + self.aged.newest
        print(f"{rows:,} rows, {log:,} notifications, {size / 1e9:.2f} GB, made in {seconds:.0f} s; {aged.drivers:,} drivers, "
              f"{aged.heavy} with {aged.unread:,} unread each\n", flush=True)
        print("| | calls | slowest, ms | usual CPU, ms |\n|---|---|---|---|", flush=True)
        self.problems += wrong
        if seconds > self.bounds.generator:
            self.problems.append(f"the generator took {seconds:.0f} s")

    def start(self, name: str, days: int = KEPT_DAYS) -> None:
        self.started = int(time.time() * 1000)
        begin = time.monotonic()
        self.gateway = self.world.start(days)
        self.judge(f"start: {name}", time.monotonic() - begin, self.bounds.start)

    @contextlib.contextmanager
    def people(self):
        with contextlib.ExitStack() as stack:
            yield People(self.world, self.gateway, self.aged, self.watch, stack)

    # MARK: Steps

    def steps(self) -> None:
        self.start("with an old store")
        for turn in range(TURNS):
            for step in STEPS:
                with self.people() as people, self.watch.on(self.gateway.process.pid):
                    step(people, turn)
        with self.people() as people, self.watch.on(self.gateway.process.pid):
            self.leave_tasks(people)
        self.report()

    def leave_tasks(self, people: People) -> None:
        """Commands that leave work for a task, at which the gateway is killed."""
        aged, admin = people.aged, people.admin
        with people.step("all of a heavy driver, unfinished"):
            people.driver(aged.heavy - 1).expect_ok("POST", "/api/driver/notifications/read", {"all": True})
        for person in (f"driver/a{aged.heavy + 350}", f"customer/{aged.customer_id(0)}"):
            response = admin.request("DELETE", f"/api/admin/people/{person}")
            assert response.status == 200, response
        left = tasks.unfinished(self.gateway, aged, self.started)
        if not self.long_tasks <= left.keys():
            self.problems.append(f"the tasks had ended before the gateway was killed: {left}")
        self.gateway.kill()

    @property
    def long_tasks(self) -> set[str]:
        """The tasks that take long enough to be killed in the middle: a short inbox is marked at once."""
        return {"erasures"} | ({"read marks"} if self.aged.unread >= LONG_INBOX else set())

    def report(self) -> None:
        """Prints what was measured, and judges it."""
        for kind, belongs in [("query", lambda name: name.startswith("GET")), ("command", lambda name: name[0] != "G")]:
            rows = sorted((row for row in self.watch.rows.items() if belongs(row[0])), key=lambda row: -row[1].slowest)
            for name, row in rows:
                print(f"| {name} | {len(row.seconds)} | {row.slowest * 1000:.1f} | {row.usual_cpu * 1000:.2f} |")
                if row.slowest > self.bounds.request:
                    self.problems.append(f"{name}: {row.slowest * 1000:.0f} ms, at most {self.bounds.request * 1000:.0f}")
            self.slowest[kind] = (rows[0][1].slowest, rows[0][0])
        self.problems += self.watch.missing(EXCUSED)

    def background(self) -> None:
        """The tasks go on after the kill, while dispatchers work."""
        self.start("in the middle of its tasks")
        with self.people() as people:
            watched = tasks.Tasks(people, self.started)
            self.problems += watched.assign_until_done(self.bounds.tasks)
        for task, seconds in watched.ended.items():
            self.judge(f"task: {task}", seconds, self.bounds.tasks)
        if not self.long_tasks <= watched.ended.keys():
            self.problems.append(f"of the tasks, only {list(watched.ended)} went on after the kill")
        self.judge("action: beside the tasks", max(watched.times), self.bounds.request)

    def shell(self) -> None:
        """The commands of the shell that read the store."""
        copy = self.gateway.config.parent / "copy.db"
        for arguments, bound in [(["audit", "--order", "O7"], self.bounds.request), (["backup", copy], self.bounds.backup)]:
            command = [BINARY, arguments[0], "--config", self.gateway.config, *arguments[1:]]
            begin = time.monotonic()
            done = subprocess.run(command, env=environment(), capture_output=True, timeout=2 * self.bounds.backup)
            self.judge(f"command of the shell: {arguments[0]}", time.monotonic() - begin, bound)
            if done.returncode or not (b"assign" in done.stdout or copy.exists()):
                self.problems.append(f"{arguments[0]}: {done}")
        copy.unlink(missing_ok=True)

    # MARK: Retention

    def retention(self, seconds: float) -> None:
        """A shorter retention has a tenth of the rows to delete."""
        self.gateway.stop()
        quiet = statistics.quantiles(self.work(KEPT_DAYS, seconds / 4), n=100)
        self.gateway.stop()
        times = self.work(SHORTER_DAYS, seconds)
        deleted, lag = (self.metrics.total(f"fleetwire_store_{name}") for name in ("forgotten_total", "retention_lag_seconds"))
        beside = statistics.quantiles(times, n=100)
        print(f"\nan action: p50 {quiet[49] * 1000:.1f}, p99 {quiet[98] * 1000:.1f} ms; while retention deletes "
              f"{deleted / seconds:.0f} rows/s: p50 {beside[49] * 1000:.1f}, p99 {beside[98] * 1000:.1f}, longest "
              f"{max(times) * 1000:.1f} ms; it is {lag / 86_400:.1f} days behind")
        if beside[98] > self.bounds.beside_retention:
            self.problems.append(f"beside retention p99 is {beside[98] * 1000:.1f} ms, at most "
                                 f"{self.bounds.beside_retention * 1000:.0f}; without it {quiet[98] * 1000:.1f}")
        if not deleted:
            self.problems.append("retention has deleted nothing")

    def summary(self) -> None:
        print("\n| kind | its slowest | ms |\n|---|---|---|")
        for kind, (seconds, name) in self.slowest.items():
            print(f"| {kind} | {name} | {seconds * 1000:.1f} |", flush=True)

    def work(self, days: int, seconds: float) -> list[float]:
        self.start(f"that keeps {days} days", days)
        times: list[float] = []
        with self.people() as people:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                times += tasks.assign(people, 10)
            self.metrics = tasks.metrics(people)
        return times


def growth(small: Watch, large: Watch) -> list[str]:
    """What costs more in a store of ten times the size. Compares what the gateway has used of a processor, because on a busy
    machine the times say little.
    """
    found = []
    for name, row in large.rows.items():
        if name in small.rows and name not in GROWING and len(row.cpu) >= CALLS:
            before, after = small.rows[name].usual_cpu, row.little_cpu
            if after > GROWTH * before + NOISE:
                found.append(f"{name}: {before * 1000:.2f} ms of a processor, in the larger store {after * 1000:.2f}")
    return found


def run(folder: Path, aged: Aged, bounds: Bounds, seconds: float = 30) -> tuple[Watch, list[str]]:
    """Returns what was measured, and the problems. Without `seconds`, everything ends after the requests."""
    with contextlib.ExitStack() as stack:
        run = Run(folder, aged, bounds, stack)
        try:
            run.fill()
            run.steps()
            if seconds:
                run.background()
                run.shell()
                run.retention(seconds)
                run.gateway.stop()
        except Exception:  # a request that failed, or a defect of a step: what was measured is still of use
            run.problems.append(f"{traceback.format_exc(limit=-4)}end of the log:\n{run.gateway.log()[-2000:]}")
        finally:
            run.summary()
            if not run.gateway.stopped:
                run.gateway.kill()
        return run.watch, run.problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--drivers", type=int, default=10_000)
    parser.add_argument("--heavy", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleetwire-aged-") as name:
        _, problems = run(Path(name), Aged(options.rows, options.drivers, options.heavy), Bounds(), options.seconds)
        problems += check_aged_cluster(Path(name) / "cluster")
    print("\n" + ("\n".join(problems) or "aged: all bounds are met"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
