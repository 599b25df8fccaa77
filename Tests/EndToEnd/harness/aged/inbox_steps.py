"""What drivers and customers do with notifications, devices and preferences, and dispatchers announce."""

from ..fleet import unique_id
from ..push.devices import APP_DEVICE, FCM_TOKEN, android_token, ios_token
from .people import ANDROID
from .world import People

ANNOUNCE = "/api/admin/notifications"


def inboxes(people: People, turn: int) -> None:
    """Lists, from the newest page to one far down, and read marks."""
    aged = people.aged
    heavy, light = people.driver(turn % aged.heavy), people.driver(aged.heavy + turn)
    for special, person in [("heavy", heavy), ("light", light),
                            ("heavy", people.customer(str(aged.customer_id(turn % aged.heavy)))),
                            ("light", people.customer(aged.light_customer(turn)))]:
        path = f"/api/{person.role}/notifications"
        with people.step(f"{special}, the newest"):
            person.expect_ok("GET", path)
            found = person.expect_ok("GET", f"{path}?limit=200")["data"]["notifications"]
        if not found:
            continue
        ids = [each["id"] for each in found]
        with people.step(f"{special}, further pages"):
            for _ in range(5):
                page = person.expect_ok("GET", f"{path}?limit=200&before={ids[-1]}")["data"]["notifications"]
                if not page:
                    break
                ids += [each["id"] for each in page]
        with people.step(f"{special}, by ids"):
            person.expect_ok("POST", f"{path}/read", {"ids": ids[:100]})
        with people.step(f"{special}, again"):
            person.expect_ok("POST", f"{path}/read", {"ids": ids[:100]})


def read_all(people: People, turn: int) -> None:
    """Marks everything as read; the last heavy driver's inbox is left for the tasks."""
    aged = people.aged
    for special, person in [("all of a heavy driver", people.driver(turn % max(1, aged.heavy - 1))),
                            ("all of a light driver", people.driver(aged.heavy + turn)),
                            ("all of a customer", people.customer(str(aged.customer_id(turn % aged.heavy))))]:
        with people.step(special):
            person.expect_ok("POST", f"/api/{person.role}/notifications/read", {"all": True})


def devices(people: People, turn: int) -> None:
    """Registers, moves to another person, and removes tokens."""
    aged = people.aged
    driver, customer = people.driver(aged.heavy + turn), people.customer(aged.customer(turn), bookings=[f"R{turn}"])
    heir = people.driver(aged.heavy + 1_000_000 + turn)
    ios, android = ios_token(), android_token()
    for person in (driver, customer):
        person.expect_ok("GET", f"/api/{person.role}/devices")
    for special, person in [("new", driver), ("again", driver), ("another person's", heir)]:
        with people.step(special):
            person.expect_ok("POST", FCM_TOKEN, {"fcmToken": android, "deviceId": "d"})
            person.expect_ok("POST", APP_DEVICE, {"deviceToken": ios, "platform": "ios"})
    with people.step("a customer's"):
        customer.expect_ok("POST", APP_DEVICE, {"deviceToken": ios, "platform": "ios"})
    with people.step("of the store, another person's"):
        heir.expect_ok("POST", APP_DEVICE, {"deviceToken": aged.token(aged.heavy + 2 + turn), "platform": "ios"})
    heir.expect_ok("DELETE", FCM_TOKEN, {"fcmToken": android})
    customer.expect_ok("DELETE", APP_DEVICE, {"deviceToken": ios, "platform": "ios"})


def preferences(people: People, turn: int) -> None:
    aged = people.aged
    for person in (people.driver(aged.heavy + turn), people.customer(aged.customer(turn))):
        path = f"/api/{person.role}/preferences"
        person.expect_ok("GET", path)
        person.expect_ok("PUT", path, {"types": {"job_update": turn % 2 == 0}})


def announcements(people: People, turn: int) -> None:
    aged, admin = people.aged, people.admin

    def announce(special: str, **to) -> str:
        with people.step(special):
            body = {"type": "DRIVER_APPROVED", "to": to, "data": {"message": unique_id()}}
            return admin.expect_ok("POST", ANNOUNCE, body)["data"]["notificationIds"][0]

    announce("to a heavy driver", driver=f"a{turn % aged.heavy}")
    announce("to a light driver", driver=f"a{aged.heavy + turn}")
    fcm = people.world.providers.fcm
    pushed = announce("to an Android phone", driver=f"a{ANDROID - 1}").encode()
    fcm.wait_until(lambda: any(pushed in request.body for request in fcm.requests), "a push beside APNs' long queue")
    fcm.clear_requests()
    announce("to a customer", customer=aged.customer(turn))
    announce("to 500", drivers=[f"a{each}" for each in range(min(500, aged.drivers))])
    for special, id in [("a new one", announce("to all", all=True)), ("of the store", aged.broadcast_id)]:
        with people.step(special):
            admin.expect_ok("POST", f"{ANNOUNCE}/{id}/remind")
