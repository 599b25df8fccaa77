"""The applications that every gateway under test is configured with, and their signatures."""

import hashlib
import hmac
from dataclasses import dataclass

# Seconds a test waits for a response or message. Generous: a slow machine must not fail a test.
TIMEOUT = 15.0


@dataclass(frozen=True)
class App:
    id: str
    key: str
    secret: str
    enabled: bool = True

    def sign(self, text: str) -> str:
        return hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).hexdigest()

    def auth(self, socket_id: str, channel: str, channel_data: str | None = None) -> str:
        """Returns the `auth` string that authorizes a private channel, or with channel_data a
        presence channel.
        """
        text = f"{socket_id}:{channel}" + ("" if channel_data is None else f":{channel_data}")
        return f"{self.key}:{self.sign(text)}"

    def user_auth(self, socket_id: str, user_data: str) -> str:
        """Returns the `auth` string that signs in the user of user_data."""
        return f"{self.key}:{self.sign(f'{socket_id}::user::{user_data}')}"

    def entry(self, **more) -> dict:
        """Returns the application's entry in the configuration file."""
        entry = {"id": self.id, "key": self.key, "secret": self.secret}
        return entry | ({} if self.enabled else {"enabled": False}) | more


FIRST = App("1001", "key1", "secret1")
SECOND = App("1002", "key2", "secret2")
DISABLED = App("1003", "key3", "secret3", enabled=False)
