"""The fakes of APNs, its sandbox and FCM, and the gateway's settings for them."""

import base64
import json
from functools import lru_cache
from pathlib import Path

from ..fleet import JWT, Caller
from ..gateway import yaml_flow
from ..tokens import ES256, RS256
from .apns import KEY, TEAM, TOPIC, APNsFake
from .devices import Device, android_token, ios_token
from .fcm import FCMFake

ENCRYPTION = [{"id": "k1", "key": base64.b64encode(bytes(range(32))).decode()}]


@lru_cache
def keys() -> tuple[ES256, RS256]:
    """Made once: RSA keys take long to generate."""
    return ES256(), RS256()


class Providers:
    """All three fakes, and their files in a folder."""

    def __init__(self, folder: Path, tls: dict[str, str]):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, (team_key, account_key) = folder, keys()
        self.apns, self.sandbox, self.fcm = (APNsFake(tls, team_key), APNsFake(tls, team_key),
                                             FCMFake(tls, account_key))
        self.fakes = [self.apns, self.sandbox, self.fcm]
        self.key_file = APNsFake.write_key(team_key, folder / "AuthKey.p8")
        self.account_file = self.fcm.write_account(folder / "account.json")
        self.ca_file = tls["certificate"]

    def sections(self, mode: str | None = None, apns: dict | None = None, fcm: dict | None = None,
                 catalogue: dict | None = None, **more) -> dict:
        """Returns sections of the configuration. `apns`, `fcm` and `more` override or add settings;
        `catalogue` are the entries of the notification catalogue.
        """
        push = {
            "apns": {"enabled": True, "host": self.apns.host, "port": self.apns.port,
                     "sandbox_host": self.sandbox.host, "sandbox_port": self.sandbox.port,
                     "team_id": TEAM, "key_id": KEY, "key_file": str(self.key_file), "topic": TOPIC,
                     "ca_file": self.ca_file} | (apns or {}),
            "fcm": {"enabled": True, "service_account_file": str(self.account_file),
                    "base_url": self.fcm.base_url, "ca_file": self.ca_file} | (fcm or {})}
        configuration = {"auth": {"jwt": JWT}, "push": push | ({"mode": mode} if mode else {}),
                         "store": {"encryption_keys": ENCRYPTION}}
        if catalogue is not None:
            configuration["notifications"] = {"file": str(self.write_catalogue(catalogue))}
        return configuration | more

    def write_catalogue(self, entries: dict) -> Path:
        path = self.folder / "notifications.yaml"
        path.write_text(
            "".join(f"{json.dumps(name)}: {yaml_flow(entry)}\n" for name, entry in entries.items()))
        return path

    # Devices

    def ios(self, owner: Caller, token: str | None = None, **more) -> Device:
        fake = self.sandbox if more.get("environment") == "sandbox" else self.apns
        return Device(owner, fake, token or ios_token(), **more)

    def android(self, owner: Caller, token: str | None = None, **more) -> Device:
        return Device(owner, self.fcm, token or android_token(), **more)

    def device(self, kind: str, owner: Caller) -> Device:
        return self.ios(owner) if kind == "ios" else self.android(owner)

    # The end of the test

    def assert_no_violations(self) -> None:
        for fake in self.fakes:
            fake.assert_no_violations()

    def close(self) -> None:
        for fake in self.fakes:
            fake.close()
