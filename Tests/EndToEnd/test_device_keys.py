"""The keys that seal devices' tokens: `store.encryption_keys`, of which the first seals and all open."""

import base64
import contextlib
import sqlite3

import pytest

from harness.apps import FIRST
from harness.fleet import eventually
from harness.gateway import run, write_config


def key(name: str) -> dict:
    return {"id": name, "key": base64.b64encode(name.encode().ljust(32, b".")).decode()}


def sealed_with(scene) -> list[str]:
    with contextlib.closing(sqlite3.connect(f"file:{scene.gateway.config.parent}/var/fleetwire.db?mode=ro", uri=True)) as database:
        return [row[0] for row in database.execute("SELECT DISTINCT key_id FROM devices ORDER BY key_id")]


def test_an_older_key_opens_until_all_is_sealed_anew(pushing):
    scene = pushing("kept", store={"encryption_keys": [key("old")]})
    phones = [scene.ios() for _ in range(20)]
    assert sealed_with(scene) == ["old"]
    scene.gateway.stop()
    scene = pushing("kept", store={"encryption_keys": [key("new"), key("old")]})
    for phone in phones:
        phone.next(scene.announce(phone))
    eventually(lambda: sealed_with(scene) == ["new"], "everything is sealed with the first key", seconds=60)
    scene.gateway.stop()
    scene = pushing("kept", store={"encryption_keys": [key("new")]})
    for phone in phones:
        phone.next(scene.announce(phone))


@pytest.mark.parametrize("other", [key("second"), {"id": "first", "key": key("second")["key"]}], ids=["of another name", "of the same name"])
def test_without_its_key_the_store_is_not_opened(pushing, other):
    """Whoever starts it is told which key that is, and what can be done."""
    scene = pushing("kept", store={"encryption_keys": [key("first")]})
    phone = scene.ios()
    scene.gateway.stop()
    config = write_config(scene.gateway.config, server={"host": "127.0.0.1", "port": 0}, apps=[FIRST.entry()],
                          **scene.providers.sections(store={"encryption_keys": [other]}))
    done = run("serve", "--config", config)
    assert done.returncode not in (0, None) and "listening" not in done.stdout, done
    assert "first" in done.stderr and "encryption_keys" in done.stderr and "Fatal error" not in done.stderr, done.stderr
    assert other["key"] not in done.stderr
    scene = pushing("kept", store={"encryption_keys": [key("first")]})
    phone.next(scene.announce(phone))
