"""Judges what happened to a trip: by the plan's places and times, the gateway's log, and what the customer got.

Whatever must or must not happen follows from the positions that were sent and the times of requests; between
the two lies what a kill may have changed.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from ..crowd.judge import Violation
from .plan import (ACCURACY, APPROACHING, ARRIVAL, FAR, LATITUDES, LONGITUDES, NEAR, RELIABLE, SETTLE, STRIDE, TRIPS,
                   Car, metres_between)
from .town import Attempt, Customer, Driver, Received, iso

MOMENTS = ["driver-assigned", "driver-en-route", "driver-nearby", "driver-arrival", "driver-waiting", "trip-started",
           "destination-near", "trip-completed"]
SETTLE_MS, MINUTE = int(SETTLE * 1_000), 60_000
# A notification that was so old at a kill, in milliseconds, was known to be written: it is not repeated.
REPEATED_MS = 2_000
NEVER = 2**62
NUMBER = re.compile(r"(?<![\d.])\d+\.\d{3,}(?![\dZ])")


@dataclass(frozen=True)
class Logged:
    """A notification in the gateway's log."""

    id: str
    channel: str
    event: str
    at: int
    data: dict

    def __str__(self) -> str:
        return f"logged on {self.channel}: {self.id} {self.event} {self.data}"


@dataclass
class Case:
    """All that is known of a trip."""

    car: Car
    attempts: list[Attempt]
    received: list[Received]
    # When a subscription began, by process and channel.
    sessions: dict[tuple[int, str], int]
    log: list[Logged]
    # The order's row, and how many arrivals by position are in the audit log.
    order: dict
    arrivals: int
    inbox: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, driver: Driver, customer: Customer, **stored) -> "Case":
        return cls(driver.car, driver.attempts, customer.received, customer.sessions, **stored)

    def history(self) -> str:
        lines = [(each.sent, f"{each}") for each in self.attempts]
        lines += [(each.at, f"  {each}") for each in [*self.received, *self.log]]
        lines += [(at, f"  subscribed in process {process} to {channel}") for (process, channel), at in self.sessions.items()]
        return "\n".join([f"{self.car}", f"{self.order}", f"inbox {self.inbox}", *(
            f"{at} {line}" for at, line in sorted(lines, key=lambda line: line[0]))])

    def first(self, *names: str) -> int:
        """When the first of these commands was sent."""
        return min((each.sent for each in self.attempts if each.name in names), default=NEVER)

    def reports(self) -> list[Attempt]:
        return [each for each in self.attempts if each.positions]

    def at(self, event: str) -> int | None:
        return next((each.at for each in self.log if each.event == event), None)

    def step_id(self, step: str) -> str:
        """The id of the notification of a step. One that sorts behind all, if there is none."""
        return next((each.id for each in self.log if each.event == "job-progress" and each.data["step"] == step), "~")


class Judge:
    def __init__(self):
        # When each process was ready, and when it was killed.
        self.begins: list[int] = []
        self.kills: list[int] = []
        self.counts: Counter[str] = Counter()
        self.oldest_repeated = 0

    def judge(self, case: Case) -> None:
        def check(condition: bool, what: str, *more) -> None:
            if not condition:
                raise Violation(f"{case.car.driver}: {what} {' '.join(map(str, more))}\n{case.history()}")
        self.check_answers(case, check)
        self.check_log(case, check)
        for event, (must, may) in {"arrival by position": self.arrival(case, check), "driver-nearby": self.nearby(case),
                                   "driver-waiting": self.waiting(case), "destination-near": self.near(case)}.items():
            told = case.arrivals if event == "arrival by position" else case.at(event) is not None
            check(told or not must, "there must be", event)
            check(may or not told, "there must not be", event)
            self.counts[event] += bool(told)
            self.counts[f"{event} must be"] += must
        self.check_received(case, check)
        self.check_positions(case, check)

    # The rules of moments: whether one must happen, and whether it may.

    def lives(self, begin: int, end: int) -> bool:
        """Whether no kill falls between these times."""
        return not any(begin <= kill <= end for kill in self.kills)

    def was_taken(self, case: Case, report: Attempt, until: int) -> bool:
        """Whether the gateway has certainly done what a report causes, before this time."""
        return (case.car.clock in RELIABLE and report.answered is not None and report.data["ignored"] == 0
                and report.answered + SETTLE_MS < until
                and self.lives(report.sent, report.answered + SETTLE_MS))

    def was_sent_before(self, case: Case, report: Attempt) -> bool:
        return next(each for each in case.reports() if each.positions is report.positions) is not report

    def places(self, case: Case, place: tuple, metres: float, since: int | None, accuracy: float) -> dict[int, list[dict]]:
        """The positions of each report that are near enough to a place and not too old."""
        found = {}
        for index, report in enumerate(case.reports()):
            near = [each for each in report.positions if not case.car.is_blind and each["accuracy"] <= accuracy
                    and since is not None and self.recorded(case, each) >= since and distance(each, place) <= metres
                    and case.car.clock != "behind"]
            if near:
                found[index] = near
        return found

    def recorded(self, case: Case, position: dict) -> int:
        """When the gateway takes a position to be recorded; one that is hours ahead is of the present."""
        return NEVER if case.car.clock == "ahead" else position["recordedAt"]

    def arrival(self, case: Case, check) -> tuple[bool, bool]:
        found = self.places(case, case.car.pickup, ARRIVAL, case.order["trip_started_at"], ACCURACY)
        reports, until = case.reports(), case.first("arrived", "cancel")
        followed = case.first("en_route")
        must = any(reports[index].sent > followed and self.was_taken(case, reports[index], until) for index in found)
        check(case.arrivals <= 1, "arrivals:", case.arrivals)
        if case.arrivals and found:
            self.check_time(case, [each for near in found.values() for each in near], check)
        return must, bool(found)

    def check_time(self, case: Case, near: list[dict], check) -> None:
        """An arrival has the time of its position, and so has the answer to a later report."""
        arrived = case.order["arrived_at"]
        check(case.car.clock == "ahead" or arrived in {each["recordedAt"] for each in near}, "arrived at", arrived)
        for each in case.attempts:
            if each.name == "arrived" and each.answered:
                check(each.data["timestamp"] == iso(arrived), "arrived at", arrived, "but", each)

    def nearby(self, case: Case) -> tuple[bool, bool]:
        start, arrived = case.order["trip_started_at"], case.order["arrived_at"] or NEVER
        if start is None or case.car.is_blind:
            return False, False
        until = min(case.first("arrived", "cancel"), arrived, case.at("driver-arrival") or NEVER)
        arrivals = self.places(case, case.car.pickup, ARRIVAL, start, ACCURACY)
        # The position that makes the job arrived says nothing else. If the report is sent again after a kill, the
        # gateway may know the newest position only, and not the one at the pickup.
        near = [each for index, each in enumerate(case.reports()) if each.sent >= case.first("en_route")
                and each.positions[0]["accuracy"] <= ACCURACY and (index not in arrivals or self.was_sent_before(case, each)) and metres_to_go(case.car, each) < FAR]
        sure = [each for each in near if metres_to_go(case.car, each) <= NEAR and self.was_taken(case, each, until)
                and on_way(each)[-1:] == in_order(each)[-1:]]
        early = [each for each in near if each.sent <= start + MINUTE]
        is_skipped = any(each.answered < start + MINUTE for each in sure)
        must = not early and any(each.sent > start + MINUTE for each in sure)
        may = not is_skipped and any((each.answered or NEVER) >= start + MINUTE for each in near)
        return must, may

    def waiting(self, case: Case) -> tuple[bool, bool]:
        if not (arrived := case.order["arrived_at"]):
            return False, False
        due, until = arrived + TRIPS["waiting_seconds"] * 1_000, case.first("loading", "cancel")
        ends = [*self.kills, NEVER]
        must = any(min(end, until) - max(begin, due) > SETTLE_MS for begin, end in zip(self.begins, ends))
        told = case.at("driver-waiting")
        return must, told is None or told >= due

    def near(self, case: Case) -> tuple[bool, bool]:
        found = self.places(case, case.car.dropoff, APPROACHING, case.order["departed_at"], ACCURACY)
        reports, until = case.reports(), case.first("unloading", "cancel")
        must = any(reports[index].sent > case.first("in_transit") and self.was_taken(case, reports[index], until)
                   and any(each in on_way(reports[index]) for each in near) for index, near in found.items())
        return must, bool(found)

    # What was answered, logged and received

    def check_answers(self, case: Case, check) -> None:
        is_followed, since, before = False, NEVER, None
        for attempt in case.attempts:
            if attempt.name == "en_route" and attempt.answered:
                is_followed, since = True, attempt.answered
            if attempt.name in ("completed", "cancel"):
                is_followed = False
            if attempt.name == "positions" and attempt.answered:
                data, count = attempt.data, len(attempt.positions)
                check(data["sharing"] == ([case.car.reference] if is_followed else []), "shares", attempt)
                check(data["accepted"] + data["ignored"] == count, "counts", attempt)
                check(data["accepted"] == 0 or is_followed and case.car.clock != "behind", "accepted", attempt)
                is_again = before is not None and before.positions is attempt.positions
                is_new = min(each["recordedAt"] for each in attempt.positions) >= since
                check(data["ignored"] == 0 or not is_new or is_again or not is_followed or case.car.clock != "right",
                      "ignored", attempt)
            before = attempt

    def check_log(self, case: Case, check) -> None:
        events = [each.event for each in case.log]
        told = [event for event in events if event in MOMENTS]
        check(told == sorted(set(told), key=MOMENTS.index), "not once and in order:", told)
        always = {"": MOMENTS, "in_transit": MOMENTS[:7], "arrived": MOMENTS[:5], "en_route": MOMENTS[:3]}[case.car.cancelled_at]
        optional = ("driver-nearby", "driver-waiting", "destination-near")
        check(set(always) - set(optional) <= set(told) <= {*always}, "other moments than there must be:", told)
        check(events.count("tracking-started") == 1 == events.count("tracking-stopped"), "tracking", events)
        stopped = next(each for each in case.log if each.event == "tracking-stopped")
        reason = "booking_cancelled" if case.car.cancelled_at else "completed"
        check(stopped.data["reason"] == reason, "stopped for", stopped)
        after = [each for each in case.log if each.event in MOMENTS and each.id > stopped.id]
        check(len(after) == (not case.car.cancelled_at), "told after the end:", *after)
        for event, before in (("driver-nearby", "arrived"), ("driver-waiting", "loading"), ("destination-near", "unloading")):
            late = [each for each in case.log if each.event == event and each.id > case.step_id(before)]
            check(not late, f"told after {before}:", *late)
        self.counts["moments"] += len(told)

    def check_received(self, case: Case, check) -> None:
        logged = {each.id: each for each in case.log}
        first: dict[str, Received] = {}
        newest = {}
        for each in case.received:
            if each.event == "location-updated":
                continue
            id = each.data["notificationId"]
            check(id in logged and (logged[id].event, logged[id].channel) == (each.event, each.channel), "not in the log:", each)
            check(each.event not in MOMENTS or self.is_of(case, logged[id]), "is of another trip, or has no name:", each)
            check(newest.get((each.process, each.channel), "") < id, "out of order, or twice:", each)
            newest[each.process, each.channel] = id
            if id in first:
                age = self.kills[first[id].process] - logged[id].at
                self.counts["repeated"] += 1
                self.oldest_repeated = max(self.oldest_repeated, age)
                check(age < REPEATED_MS, "was repeated:", each)
            first[id] = each  # the last process in which it was received
        for channel in {each.channel for each in case.log}:
            ids = [id for id in dict.fromkeys(each.data["notificationId"] for each in case.received if each.channel == channel
                                              and each.event != "location-updated")]
            check(ids == sorted(ids), "out of order on", channel, ids)
        missing = [each for each in case.log if each.id not in first]
        check(not (lost := self.owed(case, missing)), "never received:", *lost)
        told = [each.id for each in case.log if each.event in MOMENTS]
        check(case.inbox == told, "the customer's list is", case.inbox, "not", told)
        self.counts["received"] += sum(id in first for id in told)
        self.counts["only listed"] += sum(id not in first for id in told)

    def owed(self, case: Case, missing: list[Logged]) -> list[Logged]:
        """Those that were made while the customer was subscribed: no kill may lose them."""
        ends = [*self.kills, NEVER]
        return [each for each in missing if any(
            channel == each.channel and begun <= each.at <= ends[process]
            for (process, channel), begun in case.sessions.items())]

    def is_of(self, case: Case, moment: Logged) -> bool:
        """Whether a moment names the trip and the driver."""
        car, data = case.car, moment.data
        return (data["reference"], data["driver_id"], data["driverName"]) == (car.reference, car.driver, car.name)

    def check_positions(self, case: Case, check) -> None:
        own = {(each["latitude"], each["longitude"]) for report in case.reports() for each in report.positions}
        own.add(case.car.start)
        ended = next(each.at for each in case.log if each.event == "tracking-stopped")
        is_stopped = False
        stopped_in = {each.process for each in case.received if each.event == "tracking-stopped"}
        for each in case.received:
            is_stopped = is_stopped or each.event == "tracking-stopped"
            if each.event != "location-updated":
                check(not coordinates(json.dumps(each.data)), "a position in", each)
                continue
            place = (each.data["latitude"], each.data["longitude"])
            check(each.data["reference"] == case.car.reference and place in own, "the position of another:", each)
            began = case.sessions[each.process, each.channel]
            check(not is_stopped and (began <= ended or each.process in stopped_in), "after the end:", each)
            self.counts["positions shown"] += 1


def distance(position: dict, place: tuple[float, float]) -> float:
    return metres_between((position["latitude"], position["longitude"]), place)


def in_order(report: Attempt) -> list[dict]:
    """The positions in the order of the gateway."""
    return sorted(report.positions, key=lambda each: each["recordedAt"])


def on_way(report: Attempt) -> list[dict]:
    """The positions to which a car came from the one before, in the same report: only such ones tell something for sure."""
    places = in_order(report)
    return [after for before, after in zip(places, places[1:])
            if metres_between((before["latitude"], before["longitude"]), (after["latitude"], after["longitude"])) < STRIDE]


def metres_to_go(car: Car, report: Attempt) -> float:
    """How far the newest position of a report is from the pickup. Of positions that are hours ahead, it is the last."""
    newest = report.positions[-1] if car.clock == "ahead" else max(
        reversed(report.positions), key=lambda each: each["recordedAt"])
    return distance(newest, car.pickup)


def coordinates(text: str) -> list[str]:
    """Numbers in a text that may be degrees of the city. A number before a Z is the end of a time."""
    return [number for number in NUMBER.findall(text) if any(
        least <= float(number) <= most for least, most in (LATITUDES, LONGITUDES))]
