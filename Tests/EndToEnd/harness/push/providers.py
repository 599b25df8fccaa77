"""APNs with its sandbox, and FCM, and what the gateway must be told of them."""

import base64
import json
from functools import lru_cache
from pathlib import Path

from ..fleet import JWT, Caller
from ..gateway import flow
from ..tokens import ES256, RS256
from .apns import KEY, TEAM, TOPIC, APNsFake
from .fcm import FCMFake
from .phones import Phone, android_token, ios_token

ENCRYPTION = [{"id": "k1", "key": base64.b64encode(bytes(range(32))).decode()}]


@lru_cache
def keys() -> tuple[ES256, RS256]:
    """Made once: an RSA key takes its time."""
    return ES256(), RS256()


class Providers:
    """All three fakes, and their files in a folder."""

    def __init__(self, folder: Path, tls: dict[str, str]):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, (team_key, account_key) = folder, keys()
        self.apns, self.sandbox, self.fcm = APNsFake(tls, team_key), APNsFake(tls, team_key), FCMFake(tls, account_key)
        self.fakes = [self.apns, self.sandbox, self.fcm]
        self.key_file = APNsFake.write_key(team_key, folder / "AuthKey.p8")
        self.account_file = self.fcm.write_account(folder / "account.json")
        self.ca_file = tls["certificate"]

    def sections(self, mode: str | None = None, apns: dict | None = None, fcm: dict | None = None, texts: dict | None = None, **more) -> dict:
        """Sections of the configuration. `apns`, `fcm` and `more` change or add to what is right; `texts` are entries of the catalogue."""
        push = {
            "apns": {"enabled": True, "host": self.apns.host, "port": self.apns.port, "sandbox_host": self.sandbox.host, "sandbox_port": self.sandbox.port,
                     "team_id": TEAM, "key_id": KEY, "key_file": str(self.key_file), "topic": TOPIC, "ca_file": self.ca_file} | (apns or {}),
            "fcm": {"enabled": True, "service_account_file": str(self.account_file), "base_url": self.fcm.base_url, "ca_file": self.ca_file} | (fcm or {})}
        whole = {"auth": {"jwt": JWT}, "push": push | ({"mode": mode} if mode else {}), "store": {"encryption_keys": ENCRYPTION}}
        if texts is not None:
            whole["notifications"] = {"file": str(self.write_texts(texts))}
        return whole | more

    def write_texts(self, entries: dict) -> Path:
        path = self.folder / "notifications.yaml"
        path.write_text("".join(f"{json.dumps(name)}: {flow(entry)}\n" for name, entry in entries.items()))
        return path

    # Phones

    def ios(self, owner: Caller, token: str | None = None, **more) -> Phone:
        fake = self.sandbox if more.get("environment") == "sandbox" else self.apns
        return Phone(owner, fake, token or ios_token(), **more)

    def android(self, owner: Caller, token: str | None = None, **more) -> Phone:
        return Phone(owner, self.fcm, token or android_token(), **more)

    def phone(self, kind: str, owner: Caller) -> Phone:
        return self.ios(owner) if kind == "ios" else self.android(owner)

    # The end

    def assert_content(self) -> None:
        for fake in self.fakes:
            fake.assert_content()

    def close(self) -> None:
        for fake in self.fakes:
            fake.close()
