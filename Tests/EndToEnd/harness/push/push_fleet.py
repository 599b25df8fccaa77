"""A gateway with push enabled, its users and their devices, and the operators' view."""

import contextlib
import json
import re
import time
from collections.abc import Callable

from ..fleet import Caller, Fleet, unique_id
from ..gateway import Gateway, check_log
from ..metrics import Metrics
from . import apns, fcm
from .behavior import Respond
from .devices import Device
from .providers import Providers

ANNOUNCE = "/api/admin/notifications"


def poll_until(condition: Callable[[], bool], what: Callable[[], str], seconds: float) -> None:
    """Like `wait_until`, for slow conditions whose description is computed on failure."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def registered_devices(device: Device) -> list[dict]:
    """Returns the devices that the owner has registered, as the API lists them."""
    return device.owner.expect_ok("GET", f"/api/{device.owner.role}/devices")["data"]["devices"]


class PushFleet(Fleet):
    def __init__(self, gateway: Gateway, closing: Callable, providers: Providers):
        super().__init__(gateway, closing)
        self.providers, self.apns, self.sandbox, self.fcm = (
            providers, providers.apns, providers.sandbox, providers.fcm)
        self.dispatcher = self.admin()

    # Devices

    def ios(self, owner: Caller | None = None, token: str | None = None, **more) -> Device:
        """Registers a device of this user; by default of a new driver."""
        return self.providers.ios(owner or self.driver(), token, **more)

    def android(self, owner: Caller | None = None, token: str | None = None, **more) -> Device:
        return self.providers.android(owner or self.driver(), token, **more)

    def device(self, kind: str, owner: Caller | None = None) -> Device:
        return self.providers.device(kind, owner or self.driver())

    def register_devices(self, count: int) -> list[Device]:
        """Registers so many drivers with one device each, alternating the provider; closes their
        connections.
        """
        devices = []
        for number in range(count):
            with contextlib.closing(Caller(self.gateway, "driver", unique_id("d"))) as owner:
                devices.append(self.android(owner) if number % 2 else self.ios(owner))
            if number % 100 == 0:  # the gateway closes connections that are idle for a minute
                self.dispatcher.expect_ok("GET", "/api/ops/push")
        return devices

    # Notifications

    def fail_next_push(self, device: Device, response: Respond, reason: str | None = None) -> str:
        """The next push to this device gets this response once, and must fail for good. Returns the
        notification's id.
        """
        device.fake.script(response, (apns if device.uses_apns else fcm).to(device.token), times=1)
        sent = len(device.sent)
        notification = self.announce(device)
        [step] = self.wait_for_step(notification, "push_failed")
        assert reason is None or reason in step["detail"]["reason"], step
        assert (len(device.sent) == sent + 1
                and step["detail"]["provider"] == ("apns" if device.uses_apns else "fcm")), step
        return notification

    def announce(self, to: Caller | Device | dict, kind: str = "DRIVER_APPROVED", **data) -> str:
        """Announces a notification. Returns its id."""
        if isinstance(to, Device):
            to = to.owner
        to = to if isinstance(to, dict) else {to.role: to.subject}
        body = json.dumps({"type": kind, "to": to, "data": data}, ensure_ascii=False)
        return self.dispatcher.expect_ok("POST", ANNOUNCE,
                                         body.encode())["data"]["notificationIds"][0]

    def announce_to_drivers(self, drivers: list[str], kind: str = "DRIVER_APPROVED",
                            **data) -> list[str]:
        body = {"type": kind, "to": {"drivers": drivers}, "data": data}
        return self.dispatcher.expect_ok("POST", ANNOUNCE, body)["data"]["notificationIds"]

    def warm_up(self, *devices: Device) -> None:
        """Sends one push to each device and waits for its outcome: afterwards connections and
        credentials exist.
        """
        for device in devices:
            self.wait_for_accepted(self.announce(device))
            device.next()

    def expect_no_pushes(self, *devices: Device) -> None:
        """Expects no further push: announces a notification to each owner, which must come next.
        Pushes of one owner keep their order. Takes all devices of an owner.
        """
        owners = {(device.owner.role, device.owner.subject): device.owner for device in devices}
        markers = {name: self.announce(owner) for name, owner in owners.items()}
        for device in devices:
            device.next(markers[device.owner.role, device.owner.subject])

    # The operators' view

    def steps(self, notification: str) -> list[dict]:
        """Returns the push steps of a notification's history."""
        whole = self.dispatcher.expect_ok("GET", f"/api/ops/notifications/{notification}")["steps"]
        return [step for step in whole if step["step"].startswith("push_")]

    def wait_for_step(self, notification: str, step: str, count: int = 1,
                      seconds: float = 15.0) -> list[dict]:
        """Waits until so many of its pushes reach this step. Returns those steps."""
        def found() -> list[dict]:
            return [each for each in self.steps(notification) if each["step"] == step]

        poll_until(
            lambda: len(found()) >= count,
            lambda: f"{count} {step} of {notification}; there are {self.steps(notification)}",
            seconds)
        assert len(found()) == count, found()
        return found()

    def wait_for_accepted(self, notification: str, count: int = 1,
                          seconds: float = 15.0) -> list[dict]:
        return self.wait_for_step(notification, "push_accepted", count, seconds)

    def expect_not_pushed(self, *notifications: str) -> None:
        """Expects no push jobs; jobs are created with the notification, so none can follow."""
        for notification in notifications:
            assert self.steps(notification) == [], notification

    def metrics(self) -> Metrics:
        return Metrics(self.dispatcher.request("GET", "/metrics").text)

    def metric(self, family: str, **labels: str) -> float:
        """Returns the sum of a metric's samples with these labels."""
        return self.metrics().value(f"fleetwire_{family}", **labels)

    def wait_for_metric(self, family: str, value: float, seconds: float = 15.0,
                        **labels: str) -> None:
        poll_until(
            lambda: self.metric(family, **labels) == value,
            lambda: f"{family} {labels} is {value}; it is {self.metric(family, **labels)}", seconds)

    def lane(self, name: str) -> dict:
        """Returns the state of a lane (`apns`, `apns-sandbox`, `fcm`) from `/api/ops/push`."""
        lanes = self.dispatcher.expect_ok("GET", "/api/ops/push")["lanes"]
        return {each["lane"]: each for each in lanes}[name]

    def wait_for_lane_state(self, name: str, state: str, seconds: float = 15.0) -> dict:
        poll_until(lambda: self.lane(name)["state"] == state,
                   lambda: f"lane {name} is {state}; {self.lane(name)}", seconds)
        return self.lane(name)

    def log_entries(self, pattern: str, level: str | None = None) -> list[dict]:
        """Returns the log entries that match."""
        lines = self.gateway.log().splitlines(keepends=True)
        whole = "".join(line for line in lines if line.endswith("\n"))
        return [entry for entry in check_log(whole) if re.search(pattern, str(entry))
                and level in (None, entry["level"])]

    def wait_for_log_entry(self, pattern: str, level: str | None = None,
                           seconds: float = 15.0) -> dict:
        poll_until(lambda: bool(self.log_entries(pattern, level)),
                   lambda: f"a log entry that matches {pattern}; end of the log: {self.gateway.log()[-2000:]}", seconds)
        return self.log_entries(pattern, level)[0]

    def order(self, driver: Caller, **fields) -> tuple[str, dict]:
        """Assigns a new order to a driver. Returns its code and the response."""
        code = unique_id("O")
        return code, self.dispatcher.assign(code, driver.subject, **fields)
