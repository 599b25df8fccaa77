"""Drivers with accounts and devices, customers, and what is kept for each of them."""

from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from os import urandom

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .generator import Store
from .sizes import DAY, HOUR, YEAR, Aged, identifier
from .world import KEYS

DOCUMENTS = '[{"type":"RC","imageUrl":"https://images.example/rc.jpg","expiryDate":null}]'
# Every so many drivers have an Android phone instead.
ANDROID = 32


def fill(store: Store) -> None:
    aged, now = store.aged, store.aged.now
    everyone = range(aged.drivers)
    store.add("drivers", "id, version, name, phone_number, vehicle_make, license_plate, created_at, updated_at",
              ((f"a{i}", 1, f"Driver {i}", "+441632960001", "Ford", f"AB{i}", aged.start, now) for i in everyone))
    store.add("accounts", "id, uid, person_id, phone, status, version, name, license_number, license_image_url, vehicle_name, "
              "vehicle_number, vehicle_type, vehicle_documents, created_at, updated_at, last_login_at", accounts(aged))
    store.add("audit", "id, at, actor, action, account_id, correlation_id, status_before, status_after", (
        (identifier(at, i + (1 << 29)), at, "admin:ada", "approve", aged.account(i), f"a{i}", "PENDING", "ACTIVE")
        for i in range(aged.approved) for at in [aged.start + i]))
    store.add("driver_availability", "account_id, online, since, seen_at",
              ((aged.account(i), int(i % 3 == 0), now - HOUR, now) for i in range(aged.approved)))
    store.add("driver_positions", "driver_id, latitude, longitude, recorded_at",
              ((f"a{i}", "51.5", "-0.12", now - 60_000 - i) for i in everyone[::2]))
    store.add("preferences", "owner, json, updated_at", (
        (f"driver:a{i}", '{"types":{"marketing":false},"quietHours":{"enabled":false,"from":"22:00","to":"07:00",'
         '"timeZone":"Europe/London"}}', now) for i in everyone))
    devices(store)
    cursors(store)
    customers(store)
    store.add("idempotency", "subject, key, digest, status, body, created_at", (
        (f"admin:w{i % 500}", f"k{i // 500}", b"\0" * 32, 200, f'{{"success":true,"data":{{"order":"O{i}"}}}}', now - DAY + i)
        for i in range(aged.count("idempotency"))))


def accounts(aged: Aged) -> Iterator[tuple]:
    states = ["PENDING", "REJECTED", "SUSPENDED"]
    for i in range(aged.drivers):
        at = aged.start + i * (YEAR - DAY) // aged.drivers
        yield (aged.account(i), f"a{i}", f"a{i}", aged.phone(i), "ACTIVE" if i < aged.approved else states[i % 3], 2,
               f"Driver {i}", f"MH14{i:011}", "https://images.example/license.jpg", "Honda Activa", f"MH12AB{i % 10_000:04}",
               "SCOOTER", DOCUMENTS, at, at, aged.now - DAY)


def devices(store: Store) -> None:
    """One or two of each driver, some sealed with the older key, and one of some customers."""
    aged, keys = store.aged, [(key["id"], AESGCM(b64decode(key["key"]))) for key in KEYS]

    def row(provider: str, token: str, owner: str, number: int) -> tuple:
        id = sha256(f"{provider}:{token}".encode()).hexdigest()[:32]
        key, cipher = keys[number % 3 == 0]
        nonce = urandom(12)
        return (id, provider, "ios" if provider == "apns" else "android", "production" if provider == "apns" else None, owner,
                nonce + cipher.encrypt(nonce, token.encode(), id.encode()), key, f"{token[:4]}…{token[-4:]}", aged.start,
                aged.now - DAY)

    def rows() -> Iterator[tuple]:
        for i in range(aged.drivers):
            owner = f"driver:a{i}"
            if i % ANDROID == ANDROID - 1:
                yield row("fcm", f"{i:022}:APA91b{'x' * 134}", owner, i)
            else:
                yield row("apns", aged.token(i), owner, i)
            if i % 2:
                yield row("apns", aged.token(i, 1), owner, i)
        for i in range(min(aged.customers, aged.count("bookings"))):
            yield row("apns", aged.token(i, 2), f"customer:{aged.customer_id(i)}", i)

    store.add("devices", "id, provider, platform, environment, owner, sealed, key_id, masked, registered_at, last_seen_at",
              rows())
    store.add("device_bookings", "reference, owner", (
        (f"R{order}", f"customer:{aged.customer(order)}") for order in range(aged.orders - aged.count("bookings"), aged.orders)))
    store.add("device_booking_lists", "owner, issued_at", (
        (f"customer:{aged.customer_id(i)}", aged.now - DAY) for i in range(min(aged.customers, aged.count("bookings")))))


def cursors(store: Store) -> None:
    """Of some drivers, as many devices as are kept, and of each driver one that hears of announcements."""
    aged, columns = store.aged, "channel, owner, device, sequence, created_at, updated_at"
    each = max(1, min(20, aged.count("cursors") // aged.drivers))
    store.add("cursors", columns, (
        (f"driver-a{i}", f"driver:a{i}", f"p{device}", max(0, store.last.get(f"driver-a{i}", 0) - missed - device * 3),
         aged.start, aged.now - DAY) for i in range(aged.drivers) for missed in [aged.unread if i < aged.heavy else 0]
        for device in range(each)))
    last = store.last["drivers-channel"]
    store.add("cursors", columns, (
        ("drivers-channel", f"driver:a{i}", "phone", last - 1 if i % 4 else last - 20, aged.start, aged.now - DAY)
        for i in range(aged.drivers)))


def customers(store: Store) -> None:
    aged = store.aged
    everyone = range(aged.customers)
    store.add("customers", "id, phone, name, email, email_key, created_at, updated_at, last_login_at", (
        (aged.customer_id(i), aged.customer_phone(i), f"Customer {aged.customer_id(i)}", f"C{i}@example.com", f"c{i}@example.com",
         aged.start + i, aged.start + i, aged.now - DAY) for i in everyone))
    store.database.execute("UPDATE customer_ids SET next = ?", (aged.customer_id(aged.customers),))
    store.add("customer_duplicates", "id, phone", ((i + 1, aged.customer_phone(i)) for i in everyone[:20]))
    store.add("own_addresses", "phone, digest, key_id, signed_in_at", (
        (aged.customer_phone(i % aged.customers), sha256(b"%d" % i).digest(), "k1", aged.now - (i % 90) * DAY)
        for i in range(aged.count("own_addresses"))))
