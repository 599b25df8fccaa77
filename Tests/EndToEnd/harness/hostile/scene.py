"""A gateway that is attacked alone by one attack, with fakes of everything that it asks."""

import contextlib
import threading
from pathlib import Path

from .. import certificates
from ..api import Api
from ..codes import PROXY
from ..fleet import Caller, token
from ..gateway import Gateway
from ..metrics import Metrics
from ..push.providers import Providers
from ..sms_adapter import Phone, SMSAdapter
from ..webhook_receiver import WebhookReceiver, webhook
from .bystander import resident_bytes

# Small enough to be reached within an attack's time.
OUTGOING_BYTES, CACHE_BYTES, IDEMPOTENCY_KEYS = 32 << 20, 1 << 20, 2_000
DAILY_MAX, PREFIX_MAX = 300, 20
SAMPLE_SECONDS = 0.1


class Scene:
    """The gateway, its fakes, and what its metrics have said while the attack went on."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack):
        self.stack = stack
        self.providers = Providers(folder / "providers", certificates.make(folder / "tls"))
        self.adapter, self.receiver = SMSAdapter(), WebhookReceiver()
        for each in (self.providers, self.adapter, self.receiver):
            stack.callback(each.close)
        sections = self.providers.sections(
            otp={"enabled": True, "sms": self.adapter.settings(), "daily_max": DAILY_MAX, "prefix_daily_max": PREFIX_MAX})
        self.gateway = Gateway(
            folder / "gateway", loops=1, sections=sections, limits={"cache_bytes": CACHE_BYTES},
            server=PROXY | {"connections": 16_000, "outgoing_bytes": OUTGOING_BYTES},
            first={"client_events": True, "webhooks": [webhook(f"{self.receiver.url}/hooks")]})
        self.memory = resident_bytes(self.gateway)
        self.before = self.metrics()
        self.outbox_most = 0.0
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample)

    def keep(self, thing):
        return self.stack.enter_context(contextlib.closing(thing))

    def caller(self, role: str, subject: str) -> Caller:
        return self.keep(Caller(self.gateway, role, subject))

    def phone(self, number: str | None = None, address: str | None = None) -> Phone:
        return self.keep(Phone(self.gateway, self.adapter, number, address))

    # MARK: Metrics

    def metrics(self) -> Metrics:
        with contextlib.closing(Caller(self.gateway, "ops", "oz")) as ops:
            return Metrics(ops.request("GET", "/metrics").text)

    def limited(self, *limits: str) -> float:
        """How often one of these limits was reached."""
        now = self.metrics()
        return sum(now.value("fleetwire_limited_total", limit=limit) - self.before.value("fleetwire_limited_total", limit=limit)
                   for limit in limits)

    def largest(self, histogram: str) -> float:
        """The upper bound of the highest bucket that has got an observation since the beginning."""
        now, name = self.metrics(), f"fleetwire_{histogram}_bucket"
        bounds = {label.partition('le="')[2].partition('"')[0] for each, label, _ in now.samples if each == name}
        found, below = 0.0, 0.0
        for bound in sorted(bounds, key=float):
            count = now.value(name, le=bound) - self.before.value(name, le=bound)
            if count > below:
                found, below = float(bound), count
        return found

    @contextlib.contextmanager
    def sampling(self):
        """Samples what the gateway holds for its clients, until the attack is over."""
        self._sampler.start()
        try:
            yield
        finally:
            self._ended.set()
            self._sampler.join()

    def _sample(self) -> None:
        # The pause is the measuring interval.
        with contextlib.closing(Api(self.gateway)) as api:
            headers = {"Authorization": f"Bearer {token('ops', 'oz')}"}
            while not self._ended.wait(SAMPLE_SECONDS):
                text = api.call("GET", "/metrics", headers=headers).text
                self.outbox_most = max(self.outbox_most, Metrics(text).total("fleetwire_outbox_bytes"))
