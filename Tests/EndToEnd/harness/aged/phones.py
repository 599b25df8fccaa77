"""Sign-ins by code of the last day, and what limits codes."""

from .generator import Store
from .sizes import DAY, HOUR

# The first of them are stopped. No phone of the steps has one of these.
PREFIXES, STOPPED = 500, 100


def fill(store: Store) -> None:
    aged, now, count = store.aged, store.aged.now, store.aged.count("codes")
    hours, hour = range(1, 25), now // HOUR

    def phone(i: int) -> str:
        return f"+1666{i // 2:07}"

    def at(i: int) -> int:
        return now - DAY + HOUR + i * (DAY - 2 * HOUR) // count

    store.add("code_sessions", "id, phone, delivery, send_id, sends, sent_at, tries_left, key_id, digest",
              ((f"temp_{i:022}", phone(i), "sent", f"send{i}", 1, at(i), 3, "k1", b"\1" * 32) for i in range(count)))
    store.add("code_sends", "id, phone, at, prefix, address",
              ((f"send{i}", phone(i), at(i), f"+1{i % PREFIXES:03}", f"address{i % 1000}") for i in range(count)))
    store.add("code_tries", "id, phone, at", ((f"try{i}", phone(i), at(i)) for i in range(count // 2 + 1)))
    subjects = ["all", "new", *(f"+1{i:03}" for i in range(PREFIXES)), *(f"address {i}" for i in range(count // 50))]
    store.add("code_counts", "subject, hour, codes", ((subject, hour - back, 2) for subject in subjects for back in hours))
    store.add("code_prefixes", "prefix, unused, stopped_at, used_at",
              ((f"+1{i:03}", i % 40, now - HOUR if i < STOPPED else None, now - HOUR) for i in range(PREFIXES)))
    store.add("ended_tokens", "id, until", ((f"token{i:011}", now + i * 1_000) for i in range(count)))
