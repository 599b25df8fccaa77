"""What is old goes by itself: phones that nobody has seen for 270 days, pushes and notifications after `store.retention_days`, and who asked
to be forgotten. Nobody waits that long here: the store is edited between two starts."""

import contextlib
import sqlite3

from harness.fleet import eventually
from harness.push.scene import PushFleet

DAY = 86_400_000
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def path(scene: PushFleet) -> str:
    return f"{scene.gateway.config.parent}/var/fleetwire.db"


def edit(scene: PushFleet, *statements: tuple) -> None:
    """The gateway has to have stopped."""
    with contextlib.closing(sqlite3.connect(path(scene))) as database, database:
        for sql, values in statements:
            assert database.execute(sql, values).rowcount > 0, sql


def rows(scene: PushFleet, sql: str, *values) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(f"file:{path(scene)}?mode=ro", uri=True)) as database:
        return database.execute(sql, values).fetchall()


def earlier(ulid: str, milliseconds: int) -> str:
    """The id that it would have been: its first ten digits are the time."""
    time = sum(DIGITS.index(digit) << 5 * place for place, digit in enumerate(reversed(ulid[:10]))) - milliseconds
    return "".join(DIGITS[time >> 5 * place & 31] for place in reversed(range(10))) + ulid[10:]


def test_a_phone_that_nobody_has_seen_for_270_days_gets_no_more_pushes(pushing):
    scene = pushing("kept")
    stale, old, young = scene.ios(), scene.android(), scene.ios()
    scene.warm(stale, old, young)
    scene.gateway.stop()
    edit(scene, *[("UPDATE devices SET last_seen_at = last_seen_at - ? WHERE owner = ?", (days * DAY, f"driver:{phone.owner.subject}"))
                  for phone, days in ((stale, 271), (old, 269))])
    scene = pushing("kept")
    scene.reaches("push_token_removals_total", 1, reason="stale")
    entry = scene.until_logged("device_removed")
    assert (entry["owner"], entry["reason"]) == (f"driver:{stale.owner.subject}", "stale") and stale.token not in scene.gateway.log()
    assert sorted(rows(scene, "SELECT owner FROM devices")) == sorted((f"driver:{phone.owner.subject}",) for phone in (old, young))
    scene.is_not_pushed(scene.announce(stale))
    for phone in (old, young):
        phone.next(scene.announce(phone))


def test_settled_pushes_and_their_notifications_go_with_retention(pushing):
    scene = pushing("kept")
    phone = scene.ios()
    old, young = scene.announce(phone), scene.announce(phone)
    for each in (old, young):
        scene.accepted(each)
        phone.next(each)
    scene.gateway.stop()
    older, age = earlier(old, 31 * DAY), 31 * DAY
    edit(scene, ("UPDATE notifications SET id = ?, created_at = created_at - ? WHERE id = ?", (older, age, old)),
         ("UPDATE push_jobs SET notification_id = ?, queued_at = queued_at - ?, settled_at = settled_at - ? WHERE notification_id = ?",
          (older, age, age, old)))
    scene = pushing("kept")
    eventually(lambda: rows(scene, "SELECT id FROM notifications WHERE id IN (?, ?)", older, young) == [(young,)], "the old one goes")
    eventually(lambda: rows(scene, "SELECT notification_id FROM push_jobs") == [(young,)], "its push goes")
    assert scene.dispatcher.ask("GET", f"/api/ops/notifications/{older}").status == 404
    assert len(scene.accepted(young)) == 1
    phone.next(scene.announce(phone))


def test_whoever_is_forgotten_is_in_no_file(pushing):
    scene = pushing("kept")
    customer, driver, name = scene.customer(), scene.driver(), "Zebedee Quixworth"
    code, _ = scene.order(driver, customerId=customer.subject, customerName=name, pickupAddress="9 Quixworth Mews")
    scene.announce(customer, message=f"Hello {name}")
    assert scene.dispatcher.ask("DELETE", f"/api/admin/people/customer/{customer.subject}").status == 200

    def files() -> bytes:
        return b"".join(file.read_bytes() for file in (scene.gateway.config.parent / "var").glob("fleetwire.db*"))

    eventually(lambda: name.encode() not in files(), "his name is gone", seconds=30)
    assert b"9 Quixworth Mews" in files(), "the driver still has to find it"
    scene.dispatcher.done("POST", f"/api/admin/orders/{code}/cancel-enhanced", {})
    eventually(lambda: b"Quixworth" not in files(), "the address of an order that is over is gone", seconds=90)
