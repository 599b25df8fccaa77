"""The gateway with everything that it talks to, and the people who call it."""

import base64
import contextlib
from pathlib import Path

from .. import certificates
from ..api import Api
from ..client import Client
from ..codes import PROXY
from ..fleet import JWT, Caller, join
from ..gateway import Gateway
from ..people import FirebaseUser, account_settings, key_server
from ..push.providers import ENCRYPTION, Providers
from ..sms_adapter import Phone, SMSAdapter
from ..webhook_receiver import WebhookReceiver, webhook
from .sizes import Aged
from .watch import Watch

# The generator seals a part of the devices' tokens with the older key: the gateway seals them anew.
OLD_KEY = {"id": "k0", "key": base64.b64encode(bytes(range(32, 64))).decode()}
KEYS = [*ENCRYPTION, OLD_KEY]


class World:
    """Starts gateways in one folder. APNs cannot be reached, so that its queue is long; FCM answers."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack):
        self.folder = folder
        self.providers = Providers(folder / "providers", certificates.make(folder / "tls"))
        self.providers.apns.stop_listening()
        self.providers.sandbox.stop_listening()
        self.adapter, self.server, self.receiver = SMSAdapter(), key_server(), WebhookReceiver()
        for each in (self.providers, self.adapter, self.server, self.receiver):
            stack.callback(each.close)

    def start(self, days: int) -> Gateway:
        otp = {"enabled": True, "sms": self.adapter.settings()}
        sections = self.providers.sections(
            **account_settings(self.server, JWT), otp=otp, store={"retention_days": days, "encryption_keys": KEYS})
        return Gateway(self.folder / "gateway", server=PROXY, sections=sections,
                       # What limits one person is not measured here: a few people do everything.
                       limits={"fleet_commands_per_second": 100_000, "fleet_queries_per_second": 100_000},
                       first={"client_events": True, "webhooks": [webhook(f"{self.receiver.url}/hooks")]})


class People:
    """Those who call one gateway. All their connections are closed at the end."""

    def __init__(self, world: World, gateway: Gateway, aged: Aged, watch: Watch, stack: contextlib.ExitStack):
        self.world, self.gateway, self.aged, self.watch, self.stack = world, gateway, aged, watch, stack
        self.callers: dict[tuple[str, str], Caller] = {}

    def keep(self, thing):
        return self.stack.enter_context(contextlib.closing(thing))

    def caller(self, role: str, subject: str, **more) -> Caller:
        """Each person has one connection. The gateway closes those that are idle for a minute, so nobody waits so long."""
        if (role, subject) not in self.callers:
            self.callers[role, subject] = self.keep(Caller(self.gateway, role, subject, **more))
        return self.callers[role, subject]

    @property
    def admin(self) -> Caller:
        return self.caller("admin", "ada")

    @property
    def ops(self) -> Caller:
        return self.caller("ops", "oz")

    def driver(self, number: int) -> Caller:
        return self.caller("driver", f"a{number}", name="Dan")

    def customer(self, subject: str, **more) -> Caller:
        return self.caller("customer", subject, **more)

    def firebase(self, number: int) -> FirebaseUser:
        """A driver of the store, who signs in with Firebase."""
        user = self.keep(FirebaseUser(self.gateway, f"a{number}", "+91" + self.aged.phone(number)))
        user.account = self.aged.account(number)
        return user

    def phone(self, number: str | None = None) -> Phone:
        return self.keep(Phone(self.gateway, self.world.adapter, number))

    def backend(self) -> Api:
        return self.keep(Api(self.gateway))

    def listen(self, caller: Caller, *channels: str) -> Client:
        """A connection of a person, subscribed to these private channels."""
        client = self.keep(Client.connect(self.gateway))
        for channel in channels:
            join(client, caller, f"private-{channel}")
        return client

    def step(self, special: str):
        return self.watch.step(special)
