"""Recipients of pushes: announcements, customers, connected users, and the badge."""

import pytest

from harness.client import Client
from harness.fleet import unique_id

LOG = "/api/driver/notifications/log"


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


# Announcements


def test_announce_to_several_drivers_reaches_all_their_devices(fleet):
    people = [fleet.driver() for _ in range(3)]
    devices = [[fleet.ios(person), fleet.android(person), fleet.ios(person, environment="sandbox")]
               for person in people]
    ids = fleet.announce_to_drivers([person.subject for person in people], "NEW_BATCH_AVAILABLE",
                                    batchId="B1")
    for each, owned in zip(ids, devices):
        for device in owned:
            push = device.next(each)
            assert (push.data["type"], push.data["event"],
                    push.data["batchId"]) == ("NEW_BATCH_AVAILABLE", "new-batch-available", "B1")
        fleet.wait_for_accepted(each, 3)
    # The two APNs environments are two servers with separate tokens.
    assert len(fleet.apns.requests) == len(fleet.sandbox.requests) == len(
        fleet.fcm.send_requests) == 3


def test_announce_reaches_only_the_named_customer(fleet):
    device, other = fleet.android(fleet.customer()), fleet.android(fleet.customer())
    push = device.next(fleet.announce(device, "ORDER_CANCELLED", orderId="o1"))
    assert push.data["entityId"] == push.data["orderId"] == "o1"
    fleet.expect_no_pushes(other)


def test_driver_and_customer_with_the_same_id_are_two_users(fleet):
    subject = unique_id("p")
    driver, customer = fleet.ios(fleet.driver(subject)), fleet.ios(fleet.customer(subject))
    driver.next(fleet.announce(driver))
    fleet.expect_no_pushes(customer)


def test_announce_to_all_reaches_every_driver_with_a_device(fleet):
    drivers = [device for person in [fleet.driver() for _ in range(3)]
               for device in (fleet.ios(person), fleet.android(person))]
    customer = fleet.android(fleet.customer())
    notification = fleet.announce({"all": True}, "NEW_BATCH_AVAILABLE", batchId="B2")
    for device in drivers:
        assert device.next(notification).badge == 1
    fleet.wait_for_accepted(notification, len(drivers))
    fleet.expect_no_pushes(customer)


def test_announce_to_all_of_a_large_fleet_is_one_push_per_device(fleet):
    """More devices than one batch expands; each device gets one push."""
    count = 1_200
    devices = fleet.register_devices(count)
    notification = fleet.announce({"all": True})
    for fake in (fleet.apns, fleet.fcm):
        fake.wait_until(lambda: len(fake.accepted()) == count / 2, "a push to every device",
                        seconds=60)
    fleet.wait_for_metric("push_queue_depth", 0, provider="apns")
    for device in devices:
        assert [push.notification for push in device.pushes] == [notification]
    listed = fleet.steps(notification)
    assert (100 <= len(listed) <= 2 * count
            and all(step["step"] in ("push_queued", "push_accepted")
                    for step in listed)), "its history has a bounded length"


def test_user_without_a_device_gets_no_push(fleet):
    fleet.expect_not_pushed(fleet.announce(fleet.driver()))


def test_device_of_two_users_belongs_to_the_last(fleet):
    first, second = fleet.driver(), fleet.driver()
    device = fleet.android(first)
    device.next(fleet.announce(first))
    device.register(second)
    fleet.expect_not_pushed(fleet.announce(first))
    device.next(fleet.announce(second))


def test_unregistered_device_gets_nothing(fleet):
    owner = fleet.driver()
    gone, kept = fleet.ios(owner), fleet.android(owner)
    gone.unregister()
    kept.next(notification := fleet.announce(owner))
    fleet.wait_for_accepted(notification, 1)
    assert gone.sent == []


# Customers


def test_customer_is_found_by_the_bookings_of_the_token(fleet):
    """Applies if the order has no customer id."""
    reference, code = unique_id("R"), unique_id("O")
    named, other = (fleet.ios(fleet.customer(bookings=["x", reference])),
                    fleet.ios(fleet.customer(bookings=["x"])))
    fleet.dispatcher.assign(code, "d1", bookingReference=reference)
    response = fleet.dispatcher.order(code, "remove-driver")
    push = named.next(response["data"]["notificationIds"][2])
    assert push.data["event"] == "driver-removed"
    fleet.expect_no_pushes(other)


def test_customer_id_of_the_order_takes_precedence(fleet):
    reference, code = unique_id("R"), unique_id("O")
    named, customer = fleet.ios(fleet.customer(bookings=[reference])), fleet.ios(fleet.customer())
    fleet.dispatcher.assign(code, "d1", bookingReference=reference,
                            customerId=customer.owner.subject)
    response = fleet.dispatcher.order(code, "remove-driver")
    customer.next(response["data"]["notificationIds"][2])
    fleet.expect_no_pushes(named)


def test_bookings_are_those_of_the_last_registration(fleet):
    subject, before, after, code = unique_id("c"), unique_id("R"), unique_id("R"), unique_id("O")
    device = fleet.ios(fleet.customer(subject, bookings=[before]))
    device.register(fleet.customer(subject, bookings=[after]))
    fleet.dispatcher.assign(code, "d1", bookingReference=before)
    response = fleet.dispatcher.order(code, "remove-driver")
    fleet.expect_not_pushed(response["data"]["notificationIds"][2])
    code = unique_id("O")
    fleet.dispatcher.assign(code, "d1", bookingReference=after)
    device.next(fleet.dispatcher.order(code, "remove-driver")["data"]["notificationIds"][2])


# Mirror, fallback, off


def test_entry_with_push_off_is_never_pushed(start_push_fleet):
    fleet = start_push_fleet(catalogue={"DRIVER_APPROVED": {"title": "T", "push": "off"}})
    device = fleet.ios()
    fleet.expect_not_pushed(fleet.announce(device, "DRIVER_APPROVED"))
    device.next(fleet.announce(device, "DRIVER_REJECTED"))


def test_mode_off_is_the_default_of_entries_without_push(start_push_fleet):
    fleet = start_push_fleet(mode="off",
                             catalogue={"DRIVER_APPROVED": {"title": "T", "push": "mirror"}})
    device = fleet.ios()
    fleet.expect_not_pushed(fleet.announce(device, "DRIVER_REJECTED"))
    device.next(fleet.announce(device, "DRIVER_APPROVED"))


@pytest.mark.parametrize("settings",
                         [{"mode": "fallback"},
                          {"catalogue": {"DRIVER_APPROVED": {"title": "T", "push": "fallback"}}}],
                         ids=["mode", "entry"])
@pytest.mark.parametrize("channel", ["private", "plain"])
def test_fallback_pushes_only_if_not_subscribed_to_the_own_channel(
        start_push_fleet, settings, channel):
    fleet = start_push_fleet(**settings)
    device = fleet.ios()
    name = f"driver-{device.owner.subject}"
    client = (fleet.listen(device.owner, name) if channel == "private"
              else fleet.signed_in(device.owner, name))
    [step] = fleet.wait_for_step(fleet.announce(device), "push_cancelled")
    assert step["detail"]["reason"] == "confirmed"
    client.expect("driver-approved")
    client.unsubscribe(f"private-{name}" if channel == "private" else name)
    # Connected, but not subscribed to the own channel.
    device.next(fleet.announce(device))
    client.close()
    device.next(fleet.announce(device))


@pytest.mark.parametrize("sign_in", [False, True])
def test_unsigned_subscription_keeps_no_push_back(start_push_fleet, closing, sign_in):
    """Anybody may subscribe to an open channel. Only its own driver's sign-in, or a signature, counts."""
    fleet = start_push_fleet(mode="fallback", channels=[{"pattern": "driver-*", "access": "open"}])
    device = fleet.ios()
    name = f"driver-{device.owner.subject}"
    stranger = closing(Client.connect(fleet.gateway))
    stranger.subscribe(name)
    if sign_in:
        signed = fleet.signed_in(device.owner, name)
        [step] = fleet.wait_for_step(fleet.announce(device), "push_cancelled")
        assert step["detail"]["reason"] == "connected"
        signed.close()
        stranger.expect("driver-approved")
    device.next(fleet.announce(device))
    stranger.expect("driver-approved")


def test_mirror_pushes_also_if_connected(fleet):
    device = fleet.ios()
    fleet.listen(device.owner, f"driver-{device.owner.subject}")
    device.next(fleet.announce(device))


def test_events_for_all_drivers_are_pushed_if_their_entry_enables_it(start_push_fleet):
    """Not to recipients of another push of the same action."""
    fleet = start_push_fleet(
        catalogue={"order-removed": {"title": "Gone"},
                   "job-available-again": {"title": "Free", "broadcast": True}})
    owned, others = fleet.ios(), [fleet.android(), fleet.ios()]
    code, response = fleet.order(owned.owner)
    owned.next(response["data"]["notificationIds"][0])
    ids = fleet.dispatcher.order(code, "unassign")["data"]["notificationIds"]
    for device in others:
        assert device.next(ids[2]).title == "Free"
    assert owned.next(ids[0]).title == "Gone"
    fleet.wait_for_accepted(ids[2], len(others))
    fleet.expect_no_pushes(owned)


@pytest.mark.parametrize("push", ["mirror", "fallback"])
def test_push_mode_of_an_entry_does_not_reach_other_drivers(start_push_fleet, push):
    """`job-cancelled` is published on the driver's own channel and on drivers-channel."""
    fleet = start_push_fleet(catalogue={"job-cancelled": {"push": push}})
    owned, other = fleet.ios(), fleet.ios()
    code, response = fleet.order(owned.owner)
    owned.next(response["data"]["notificationIds"][0])
    ids = fleet.dispatcher.order(code, "cancel-enhanced")["data"]["notificationIds"]
    owned.next(ids[0])
    fleet.expect_not_pushed(ids[2])
    fleet.expect_no_pushes(other)


def test_catalogued_types_have_the_words_of_existing_apps(fleet):
    device = fleet.android()
    for kind, data, title, text, action in [
            ("NEW_BATCH_AVAILABLE", {"batchNumber": "17", "zone": "Harbour", "orderCount": "12"},
             "New Batch Available!", "17 in Harbour (12 orders)", None),
            ("NEW_BATCH_AVAILABLE", {"batchNumber": "17"}, "New Batch Available!",
             "A batch of orders is waiting for a driver", None),
            ("DRIVER_APPROVED", {}, "Registration Approved!",
             "Your driver registration has been approved. Start delivering now!", "navigate_home"),
            ("DRIVER_REJECTED", {"action": "navigate_help"}, "Registration Update",
             "Your registration needs attention. Tap to see details.", "navigate_help"),
            ("ORDER_CANCELLED", {"orderNumber": "7", "cancelledBy": "admin"}, "Order Cancelled",
             "Order #7 has been cancelled by admin", None),
            ("BATCH_REASSIGNED", {"message": "To Dan"}, "Batch Reassigned", "To Dan", None)]:
        push = device.next(fleet.announce(device, kind, **data))
        assert (push.title, push.text, push.data.get("action")) == (title, text, action), kind
    # The event has the action, too.
    path = "/api/driver/notifications?limit=10"
    listed = device.owner.expect_ok("GET", path)["data"]["notifications"]
    actions = {each["event"]: each["data"].get("action") for each in listed}
    assert (actions["driver-approved"], actions["driver-rejected"]) == ("navigate_home",
                                                                      "navigate_help")


def test_disabled_provider_gets_no_requests(start_push_fleet):
    fleet = start_push_fleet(fcm={"enabled": False})
    owner = fleet.driver()
    apple, android = fleet.ios(owner), fleet.android(owner)
    notification = fleet.announce(owner)
    apple.next(notification)
    fleet.wait_for_accepted(notification, 1)
    assert fleet.fcm.requests == [] and android.sent == []


def test_without_providers_nothing_is_queued(start_push_fleet):
    fleet = start_push_fleet(apns={"enabled": False}, fcm={"enabled": False})
    owner = fleet.driver()
    fleet.ios(owner)
    fleet.expect_not_pushed(fleet.announce(owner))
    assert fleet.apns.connections == fleet.fcm.connections == []


# The badge


@pytest.mark.parametrize("role", ["driver", "customer"])
def test_badge_counts_unread_notifications(fleet, role):
    device = fleet.ios(getattr(fleet, role)())
    ids = []
    for number in range(3):
        ids.append(fleet.announce(device))
        assert device.next(ids[-1]).badge == number + 1
    read = f"/api/{role}/notifications/read"
    device.owner.expect_ok("POST", read, {"ids": ids[:1]})
    device.owner.expect_ok("POST", read, {"ids": ids[:1]})
    assert device.next(fleet.announce(device)).badge == 3
    listed = device.owner.expect_ok("GET", f"/api/{role}/notifications")["data"]["notifications"]
    assert [each["readAt"] is None for each in listed] == [True, True, True, False]
    device.owner.expect_ok("POST", read, {"all": True})
    assert device.next(fleet.announce(device)).badge == 1


@pytest.mark.parametrize("event, badge",
                         [("received", 2), ("action_view_now", 1), ("action_accept", 1),
                          ("action_dismiss", 1)])
def test_action_on_a_notification_marks_it_as_read(fleet, event, badge):
    device, outsider = fleet.android(), fleet.driver()
    first = fleet.announce(device)
    assert device.next(first).badge == 1
    report = {"notificationId": first, "type": "DRIVER_APPROVED", "entityId": "e", "event": event,
              "timestamp": "2026-03-01T10:00:00Z"}
    outsider.expect_ok("POST", LOG, report | {"event": "action_accept"})
    for _ in range(2):
        device.owner.expect_ok("POST", LOG, report)
    assert device.next(fleet.announce(device)).badge == badge


def test_badge_equals_the_number_of_unread_notifications(fleet):
    """Notifications that are not pushed count as well: they are in the list."""
    device = fleet.ios()
    for number in range(4):
        code, response = fleet.order(device.owner)
        device.next(response["data"]["notificationIds"][0])
        response = fleet.dispatcher.order(code, "unassign" if number % 2 else "cancel-enhanced")
        push = device.next(response["data"]["notificationIds"][0])
        path = "/api/driver/notifications?limit=100"
        listed = device.owner.expect_ok("GET", path)["data"]["notifications"]
        assert push.badge == sum(each["readAt"] is None for each in listed) == 3 * (number + 1)


def test_badge_survives_a_restart(start_push_fleet):
    fleet = start_push_fleet("kept")
    device = fleet.ios()
    ids = [fleet.announce(device) for _ in range(3)]
    device.wait(3)
    device.owner.expect_ok("POST", "/api/driver/notifications/read", {"ids": ids[:2]})
    fleet.gateway.kill()
    fleet = start_push_fleet("kept")
    notification = fleet.announce(device)
    device.seen = 3
    # Pushes whose acceptance was not recorded may be repeated first.
    pushes = fleet.apns.wait_until(
        lambda: [push for push in device.pushes if push.notification == notification],
        "the push after the restart")
    assert pushes[0].badge == 2
