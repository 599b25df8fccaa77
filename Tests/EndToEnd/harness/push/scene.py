"""A gateway that pushes, its people with their phones, and what operators see of it."""

import contextlib
import json
import re
import time
from collections.abc import Callable

from ..fleet import Caller, Fleet, fresh
from ..gateway import Gateway, check_log
from ..metrics import Metrics
from . import apns, fcm
from .conduct import Say
from .phones import Phone
from .providers import Providers

ANNOUNCE = "/api/admin/notifications"


def wait(holds: Callable[[], bool], what: Callable[[], str], seconds: float) -> None:
    """Like `eventually`, for what is slow to ask and best described in the end."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def devices(phone: Phone) -> list[dict]:
    """What its owner has registered, as he is shown it."""
    return phone.owner.done("GET", f"/api/{phone.owner.role}/devices")["data"]["devices"]


class PushFleet(Fleet):
    def __init__(self, gateway: Gateway, closing: Callable, providers: Providers):
        super().__init__(gateway, closing)
        self.providers, self.apns, self.sandbox, self.fcm = providers, providers.apns, providers.sandbox, providers.fcm
        self.dispatcher = self.admin()

    # Phones

    def ios(self, owner: Caller | None = None, token: str | None = None, **more) -> Phone:
        """A new driver's, if nobody is named."""
        return self.providers.ios(owner or self.driver(), token, **more)

    def android(self, owner: Caller | None = None, token: str | None = None, **more) -> Phone:
        return self.providers.android(owner or self.driver(), token, **more)

    def phone(self, kind: str, owner: Caller | None = None) -> Phone:
        return self.providers.phone(kind, owner or self.driver())

    def crowd(self, count: int) -> list[Phone]:
        """As many drivers with a phone each, of both kinds in turn; their owners have hung up."""
        phones = []
        for number in range(count):
            with contextlib.closing(Caller(self.gateway, "driver", fresh("d"))) as owner:
                phones.append(self.android(owner) if number % 2 else self.ios(owner))
        return phones

    # What is sent

    def fails(self, phone: Phone, answer: Say, reason: str | None = None) -> str:
        """The next push to this phone is answered so, once, and fails for good."""
        phone.fake.script(answer, (apns if phone.by_apns else fcm).to(phone.token), times=1)
        sent = len(phone.sent)
        notification = self.announce(phone)
        [step] = self.became(notification, "push_failed")
        assert reason is None or reason in step["detail"]["reason"], step
        assert len(phone.sent) == sent + 1 and step["detail"]["provider"] == ("apns" if phone.by_apns else "fcm"), step
        return notification

    def announce(self, to: Caller | Phone | dict, kind: str = "DRIVER_APPROVED", **data) -> str:
        """Answers the notification's id."""
        if isinstance(to, Phone):
            to = to.owner
        to = to if isinstance(to, dict) else {to.role: to.subject}
        body = json.dumps({"type": kind, "to": to, "data": data}, ensure_ascii=False)
        return self.dispatcher.done("POST", ANNOUNCE, body.encode())["data"]["notificationIds"][0]

    def announce_many(self, drivers: list[str], kind: str = "DRIVER_APPROVED", **data) -> list[str]:
        return self.dispatcher.done("POST", ANNOUNCE, {"type": kind, "to": {"drivers": drivers}, "data": data})["data"]["notificationIds"]

    def warm(self, *phones: Phone) -> None:
        """The first push of each has arrived, and been written down: connections stand, and credentials are known."""
        for phone in phones:
            self.accepted(self.announce(phone))
            phone.next()

    def hear_nothing(self, *phones: Phone) -> None:
        """What is announced to their owners now comes next: nobody else's turn comes between two of his. All phones of an owner have to be named."""
        owners = {(phone.owner.role, phone.owner.subject): phone.owner for phone in phones}
        markers = {name: self.announce(owner) for name, owner in owners.items()}
        for phone in phones:
            phone.next(markers[phone.owner.role, phone.owner.subject])

    # What operators see

    def steps(self, notification: str) -> list[dict]:
        """The pushes' share of its life."""
        whole = self.dispatcher.done("GET", f"/api/ops/notifications/{notification}")["steps"]
        return [step for step in whole if step["step"].startswith("push_")]

    def became(self, notification: str, step: str, count: int = 1, seconds: float = 15.0) -> list[dict]:
        """Waits until so many of its pushes came to this; answers those steps."""
        def found() -> list[dict]:
            return [each for each in self.steps(notification) if each["step"] == step]

        wait(lambda: len(found()) >= count, lambda: f"{count} {step} of {notification}; there are {self.steps(notification)}", seconds)
        assert len(found()) == count, found()
        return found()

    def accepted(self, notification: str, count: int = 1, seconds: float = 15.0) -> list[dict]:
        return self.became(notification, "push_accepted", count, seconds)

    def is_not_pushed(self, *notifications: str) -> None:
        """Jobs are made with the notification, so there will be none later either."""
        for each in notifications:
            assert self.steps(each) == [], each

    def figures(self) -> Metrics:
        return Metrics(self.dispatcher.ask("GET", "/metrics").text)

    def figure(self, family: str, **labels: str) -> float:
        """The sum of a family's samples with these labels."""
        return sum(value for name, said, value in self.figures().samples
                   if name == f"fleetwire_{family}" and all(f'{label}="{wanted}"' in said for label, wanted in labels.items()))

    def reaches(self, family: str, value: float, seconds: float = 15.0, **labels: str) -> None:
        wait(lambda: self.figure(family, **labels) == value, lambda: f"{family} {labels} becomes {value}; it is {self.figure(family, **labels)}", seconds)

    def lane(self, name: str) -> dict:
        """What `/api/ops/push` says of a lane: `apns`, `apns-sandbox`, `fcm`."""
        lanes = self.dispatcher.done("GET", "/api/ops/push")["lanes"]
        return {each["lane"]: each for each in lanes}[name]

    def lane_is(self, name: str, state: str, seconds: float = 15.0) -> dict:
        wait(lambda: self.lane(name)["state"] == state, lambda: f"lane {name} is {state}; {self.lane(name)}", seconds)
        return self.lane(name)

    def logged(self, pattern: str, level: str | None = None) -> list[dict]:
        """The entries of the log whose text fits."""
        lines = self.gateway.log().splitlines(keepends=True)
        whole = "".join(line for line in lines if line.endswith("\n"))
        return [entry for entry in check_log(whole) if re.search(pattern, str(entry)) and level in (None, entry["level"])]

    def until_logged(self, pattern: str, level: str | None = None, seconds: float = 15.0) -> dict:
        wait(lambda: bool(self.logged(pattern, level)), lambda: f"the log says {pattern}: {self.gateway.log()[-2000:]}", seconds)
        return self.logged(pattern, level)[0]

    def order(self, driver: Caller, **fields) -> tuple[str, dict]:
        """An order that was assigned to a driver: its code, and the answer."""
        code = fresh("O")
        return code, self.dispatcher.assign(code, driver.subject, **fields)
