"""Devices of users, and the pushes they receive."""

import json
import secrets
from dataclasses import dataclass
from functools import cached_property

from ..fleet import Caller
from .apns import APNsFake
from .connection import Request
from .fcm import FCMFake

FCM_TOKEN, APP_DEVICE = "/api/auth/fcm-token", "/app-register-device"


@dataclass(eq=False)
class Push:
    """An accepted push as the device receives it, from either provider."""

    request: Request

    @cached_property
    def body(self) -> dict:
        return self.request.json

    @property
    def uses_apns(self) -> bool:
        return "aps" in self.body

    @property
    def message_id(self) -> str:
        """The id of the push as the phone knows it: the `apns-id`, or FCM's id of the message."""
        return (self.request.headers["apns-id"] if self.uses_apns
                else json.loads(self.request.response_body)["name"].split("/")[-1])

    @property
    def aps(self) -> dict:
        return (self.body["aps"] if self.uses_apns
                else self.body["message"]["apns"]["payload"]["aps"])

    @property
    def headers(self) -> dict:
        """APNs headers; FCM passes the same ones to APNs."""
        return self.request.headers if self.uses_apns else self.body["message"]["apns"]["headers"]

    @property
    def android(self) -> dict:
        return self.body["message"]["android"]

    @property
    def data(self) -> dict[str, str]:
        """The data fields that the app reads, in order."""
        return ({name: value for name, value in self.body.items() if name != "aps"}
                if self.uses_apns else self.body["message"]["data"])

    @property
    def title(self) -> str:
        return self.aps["alert"].get("title")

    @property
    def text(self) -> str:
        return self.aps["alert"].get("body")

    @property
    def badge(self) -> int:
        return self.aps["badge"]

    @property
    def collapse_id(self) -> str:
        return self.headers["apns-collapse-id"]

    @property
    def expires(self) -> int:
        """Seconds since 1970."""
        return int(self.headers["apns-expiration"])

    @property
    def is_urgent(self) -> bool:
        return self.headers["apns-priority"] == "10"

    @property
    def notification(self) -> str:
        return self.data["notificationId"]

    def __repr__(self) -> str:
        return f"<{self.request!r} {self.body}>"


class Device:
    """A user's device. `next` returns its pushes one by one; `seen` counts those it returned."""

    def __init__(self, owner: Caller, fake: APNsFake | FCMFake, token: str, **more):
        self.owner, self.fake, self.token, self.more, self.seen = owner, fake, token, more, 0
        self.register()

    @property
    def uses_apns(self) -> bool:
        return isinstance(self.fake, APNsFake)

    def register(self, owner: Caller | None = None) -> None:
        self.owner = owner or self.owner
        if self.uses_apns or "platform" in self.more:
            body = {"deviceToken": self.token, "platform": "ios"} | self.more
            assert self.owner.expect_ok("POST", APP_DEVICE, body) == {"success": True}
        else:
            body = {"fcmToken": self.token} | self.more
            assert self.owner.expect_ok("POST", FCM_TOKEN,
                                        body) == {"message": "FCM token registered", "data": None,
                                                  "error": None}

    def unregister(self) -> None:
        if self.uses_apns:
            assert self.owner.expect_ok("DELETE", APP_DEVICE,
                                        {"deviceToken": self.token, "platform": "ios"}) == {
                "success": True}
        else:
            response = self.owner.expect_ok("DELETE", FCM_TOKEN, {"fcmToken": self.token})
            assert response == {"message": "FCM token removed", "data": None, "error": None}

    @property
    def sent(self) -> list[Request]:
        """All requests to the device, whatever their outcome."""
        return self.fake.sent_to(self.token)

    @property
    def pushes(self) -> list[Push]:
        return [Push(request) for request in self.sent if request.accepted]

    def message_ids(self) -> list[str]:
        return [push.message_id for push in self.pushes]

    def wait(self, count: int, seconds: float = 15.0) -> list[Push]:
        """Waits until the device has received so many pushes."""
        return self.fake.wait_until(lambda: len(self.pushes) >= count and self.pushes,
                                    f"{count} pushes to {self.token[:12]}", seconds)

    def next(self, notification: str | None = None) -> Push:
        """Returns the next push, which must be of this notification."""
        push = self.wait(self.seen + 1)[self.seen]
        self.seen += 1
        assert (notification is None
                or push.notification == notification), f"expected {notification}, got {push}"
        return push


def ios_token() -> str:
    return secrets.token_hex(32)


def android_token() -> str:
    return f"{secrets.token_urlsafe(16)}:APA91b{secrets.token_urlsafe(100)}"
