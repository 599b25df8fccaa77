"""Whose phones: announcements, customers, those who are connected, and the number on the icon."""

import pytest

from harness.fleet import fresh

LOG = "/api/driver/notifications/log"


@pytest.fixture
def scene(pushing):
    return pushing()


# Announcements


def test_to_several_drivers_each_on_all_his_phones(scene):
    people = [scene.driver() for _ in range(3)]
    phones = [[scene.ios(person), scene.android(person), scene.ios(person, environment="sandbox")] for person in people]
    ids = scene.announce_many([person.subject for person in people], "NEW_BATCH_AVAILABLE", batchId="B1")
    for each, his in zip(ids, phones):
        for phone in his:
            push = phone.next(each)
            assert (push.data["type"], push.data["event"], push.data["batchId"]) == ("NEW_BATCH_AVAILABLE", "new-batch-available", "B1")
        scene.accepted(each, 3)
    # The two environments of APNs are two servers, each with its tokens.
    assert len(scene.apns.requests) == len(scene.sandbox.requests) == len(scene.fcm.sends) == 3


def test_to_a_customer(scene):
    phone, other = scene.android(scene.customer()), scene.android(scene.customer())
    push = phone.next(scene.announce(phone, "ORDER_CANCELLED", orderId="o1"))
    assert push.data["entityId"] == push.data["orderId"] == "o1"
    scene.hear_nothing(other)


def test_a_driver_and_a_customer_of_one_id_are_two(scene):
    subject = fresh("p")
    driver, customer = scene.ios(scene.driver(subject)), scene.ios(scene.customer(subject))
    driver.next(scene.announce(driver))
    scene.hear_nothing(customer)


def test_to_all_is_every_driver_who_has_a_phone(scene):
    drivers = [phone for person in [scene.driver() for _ in range(3)] for phone in (scene.ios(person), scene.android(person))]
    customer = scene.android(scene.customer())
    each = scene.announce({"all": True}, "NEW_BATCH_AVAILABLE", batchId="B2")
    for phone in drivers:
        assert phone.next(each).badge == 1
    scene.accepted(each, len(drivers))
    scene.hear_nothing(customer)


def test_to_all_of_a_large_fleet(scene):
    """More than are made ready at once; each phone once."""
    count = 1_200
    phones = scene.crowd(count)
    each = scene.announce({"all": True})
    for fake in (scene.apns, scene.fcm):
        fake.until(lambda: len(fake.taken()) == count / 2, "a push to every phone", seconds=60)
    scene.reaches("push_queue_depth", 0, provider="apns")
    for phone in phones:
        assert [push.notification for push in phone.pushes] == [each]
    listed = scene.steps(each)
    assert 100 <= len(listed) <= 2 * count and all(step["step"] in ("push_queued", "push_accepted") for step in listed), "its life is told with a bound"


def test_to_somebody_without_a_phone(scene):
    scene.is_not_pushed(scene.announce(scene.driver()))


def test_one_phone_of_two_people_is_the_last_ones(scene):
    first, second = scene.driver(), scene.driver()
    phone = scene.android(first)
    phone.next(scene.announce(first))
    phone.register(second)
    scene.is_not_pushed(scene.announce(first))
    phone.next(scene.announce(second))


def test_a_phone_that_went_gets_nothing(scene):
    owner = scene.driver()
    gone, kept = scene.ios(owner), scene.android(owner)
    gone.unregister()
    kept.next(each := scene.announce(owner))
    scene.accepted(each, 1)
    assert gone.sent == []


# Customers


def test_a_booking_s_customer_is_known_by_what_his_token_named(scene):
    """Where the order does not say who he is."""
    reference, code = fresh("R"), fresh("O")
    named, other = scene.ios(scene.customer(bookings=["x", reference])), scene.ios(scene.customer(bookings=["x"]))
    scene.dispatcher.assign(code, "d1", bookingReference=reference)
    answer = scene.dispatcher.order(code, "remove-driver")
    push = named.next(answer["data"]["notificationIds"][2])
    assert push.data["event"] == "driver-removed"
    scene.hear_nothing(other)


def test_the_orders_customer_goes_before(scene):
    reference, code = fresh("R"), fresh("O")
    named, customer = scene.ios(scene.customer(bookings=[reference])), scene.ios(scene.customer())
    scene.dispatcher.assign(code, "d1", bookingReference=reference, customerId=customer.owner.subject)
    answer = scene.dispatcher.order(code, "remove-driver")
    customer.next(answer["data"]["notificationIds"][2])
    scene.hear_nothing(named)


def test_bookings_are_those_of_the_last_registration(scene):
    subject, before, after, code = fresh("c"), fresh("R"), fresh("R"), fresh("O")
    phone = scene.ios(scene.customer(subject, bookings=[before]))
    phone.register(scene.customer(subject, bookings=[after]))
    scene.dispatcher.assign(code, "d1", bookingReference=before)
    answer = scene.dispatcher.order(code, "remove-driver")
    scene.is_not_pushed(answer["data"]["notificationIds"][2])
    code = fresh("O")
    scene.dispatcher.assign(code, "d1", bookingReference=after)
    phone.next(scene.dispatcher.order(code, "remove-driver")["data"]["notificationIds"][2])


# Mirror, fallback, off


def test_off_is_never(pushing):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "T", "push": "off"}})
    phone = scene.ios()
    scene.is_not_pushed(scene.announce(phone, "DRIVER_APPROVED"))
    phone.next(scene.announce(phone, "DRIVER_REJECTED"))


def test_mode_off_is_for_those_who_say_nothing(pushing):
    scene = pushing(mode="off", texts={"DRIVER_APPROVED": {"title": "T", "push": "mirror"}})
    phone = scene.ios()
    scene.is_not_pushed(scene.announce(phone, "DRIVER_REJECTED"))
    phone.next(scene.announce(phone, "DRIVER_APPROVED"))


@pytest.mark.parametrize("settings", [{"mode": "fallback"}, {"texts": {"DRIVER_APPROVED": {"title": "T", "push": "fallback"}}}], ids=["mode", "entry"])
@pytest.mark.parametrize("channel", ["private", "plain"])
def test_fallback_is_for_who_is_not_subscribed_to_his_own_channel(pushing, settings, channel):
    scene = pushing(**settings)
    phone = scene.ios()
    name = f"driver-{phone.owner.subject}"
    client = scene.listen(phone.owner, name) if channel == "private" else scene.signed_in(phone.owner, name)
    [step] = scene.became(scene.announce(phone), "push_cancelled")
    assert step["detail"]["reason"] == "connected"
    client.expect("driver-approved")
    client.unsubscribe(f"private-{name}" if channel == "private" else name)
    # Connected, but not to his own channel.
    phone.next(scene.announce(phone))
    client.close()
    phone.next(scene.announce(phone))


def test_mirror_does_not_ask_who_is_connected(scene):
    phone = scene.ios()
    scene.listen(phone.owner, f"driver-{phone.owner.subject}")
    phone.next(scene.announce(phone))


def test_what_all_drivers_hear_is_pushed_where_its_entry_says_so(pushing):
    """Not to whom the same action has told something already."""
    scene = pushing(texts={"order-removed": {"title": "Gone"}, "job-available-again": {"title": "Free", "push": "mirror"}})
    his, others = scene.ios(), [scene.android(), scene.ios()]
    code, answer = scene.order(his.owner)
    his.next(answer["data"]["notificationIds"][0])
    ids = scene.dispatcher.order(code, "unassign")["data"]["notificationIds"]
    for phone in others:
        assert phone.next(ids[2]).title == "Free"
    assert his.next(ids[0]).title == "Gone"
    scene.accepted(ids[2], len(others))
    scene.hear_nothing(his)


def test_a_provider_that_is_not_enabled_is_not_asked(pushing):
    scene = pushing(fcm={"enabled": False})
    owner = scene.driver()
    apple, android = scene.ios(owner), scene.android(owner)
    each = scene.announce(owner)
    apple.next(each)
    scene.accepted(each, 1)
    assert scene.fcm.requests == [] and android.sent == []


def test_without_any_provider_nothing_is_queued(pushing):
    scene = pushing(apns={"enabled": False}, fcm={"enabled": False})
    owner = scene.driver()
    scene.ios(owner)
    scene.is_not_pushed(scene.announce(owner))
    assert scene.apns.connections == scene.fcm.connections == []


# The badge


@pytest.mark.parametrize("role", ["driver", "customer"])
def test_the_badge_counts_what_he_has_not_read(scene, role):
    phone = scene.ios(getattr(scene, role)())
    ids = []
    for number in range(3):
        ids.append(scene.announce(phone))
        assert phone.next(ids[-1]).badge == number + 1
    read = f"/api/{role}/notifications/read"
    phone.owner.done("POST", read, {"ids": ids[:1]})
    phone.owner.done("POST", read, {"ids": ids[:1]})
    assert phone.next(scene.announce(phone)).badge == 3
    listed = phone.owner.done("GET", f"/api/{role}/notifications")["data"]["notifications"]
    assert [each["readAt"] is None for each in listed] == [True, True, True, False]
    phone.owner.done("POST", read, {"all": True})
    assert phone.next(scene.announce(phone)).badge == 1


@pytest.mark.parametrize("event, badge", [("received", 2), ("action_view_now", 1), ("action_accept", 1), ("action_dismiss", 1)])
def test_who_acted_on_it_has_read_it(scene, event, badge):
    phone, stranger = scene.android(), scene.driver()
    first = scene.announce(phone)
    assert phone.next(first).badge == 1
    report = {"notificationId": first, "type": "DRIVER_APPROVED", "entityId": "e", "event": event, "timestamp": "2026-03-01T10:00:00Z"}
    stranger.done("POST", LOG, report | {"event": "action_accept"})
    for _ in range(2):
        phone.owner.done("POST", LOG, report)
    assert phone.next(scene.announce(phone)).badge == badge


def test_the_badge_is_the_length_of_his_list(scene):
    """What is not pushed counts as well, for it is in the list of what he has not read."""
    phone = scene.ios()
    for number in range(4):
        code, answer = scene.order(phone.owner)
        phone.next(answer["data"]["notificationIds"][0])
        answer = scene.dispatcher.order(code, "unassign" if number % 2 else "cancel-enhanced")
        push = phone.next(answer["data"]["notificationIds"][0])
        listed = phone.owner.done("GET", "/api/driver/notifications?limit=100")["data"]["notifications"]
        assert push.badge == sum(each["readAt"] is None for each in listed) == 3 * (number + 1)


def test_the_badge_survives_a_restart(pushing):
    scene = pushing("kept")
    phone = scene.ios()
    ids = [scene.announce(phone) for _ in range(3)]
    phone.wait(3)
    phone.owner.done("POST", "/api/driver/notifications/read", {"ids": ids[:2]})
    scene.gateway.kill()
    scene = pushing("kept")
    each = scene.announce(phone)
    phone.seen = 3
    # What was not written down as accepted may come once more before it.
    pushes = scene.apns.until(lambda: [push for push in phone.pushes if push.notification == each], "the push after the restart")
    assert pushes[0].badge == 2
