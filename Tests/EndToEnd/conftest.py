"""Fixtures. A test asks for `gateway` and for who talks to it; everything is closed again behind it."""

import contextlib
import itertools
import uuid

import pytest

pytest.register_assert_rewrite("harness")

from harness import certificates  # noqa: E402
from harness.api import Api  # noqa: E402
from harness.apps import FIRST  # noqa: E402
from harness.client import Client  # noqa: E402
from harness.fleet import Fleet  # noqa: E402
from harness.gateway import BINARY, Gateway  # noqa: E402
from harness.push.providers import Providers  # noqa: E402
from harness.push.scene import PushFleet  # noqa: E402
from harness.receiver import Receiver  # noqa: E402
from harness.wire import Wire  # noqa: E402


def pytest_sessionstart(session):
    if not BINARY.exists():
        pytest.exit(f"no program at {BINARY}: build it, or set FLEETWIRE_BINARY", returncode=3)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    """The SDKs must reach the loopback directly, whatever the machine's environment says."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def module_settings(request) -> dict:
    """What a module needs configured: it says so in `SETTINGS`, as arguments of `Gateway`, or overrides this fixture."""
    return getattr(request.module, "SETTINGS", {})


@pytest.fixture(scope="module")
def gateways(module_settings, tmp_path_factory):
    """The gateways of a module by their number of loops. One that died is replaced, so that it fails one test only."""
    running: dict[int, Gateway] = {}

    def with_loops(loops: int) -> Gateway:
        if loops not in running or running[loops].process.poll() is not None:
            running[loops] = Gateway(tmp_path_factory.mktemp("gateway"), loops=loops, **module_settings)
        return running[loops]

    yield with_loops
    with contextlib.ExitStack() as stack:
        for gateway in running.values():
            if gateway.process.poll() is None:
                stack.callback(gateway.stop)


@pytest.fixture
def gateway(request, gateways):
    """A gateway shared by the module; its number of loops is 2 unless a test is parametrised over it."""
    gateway = gateways(getattr(request, "param", 2))
    yield gateway
    gateway.assert_alive()


@pytest.fixture
def start_gateway(tmp_path):
    """Starts gateways that belong to one test."""
    with contextlib.ExitStack() as stack:
        numbers = itertools.count()

        def start(folder: str | None = None, **settings) -> Gateway:
            """In a `folder` of its own, unless one is named: a restart is to find what was there before."""
            gateway = Gateway(tmp_path / (folder or f"gateway{next(numbers)}"), **settings)
            stack.callback(gateway.stop)
            return gateway

        yield start


@pytest.fixture(scope="session")
def tls(tmp_path_factory) -> dict[str, str]:
    """A certificate of the loopback, signed by itself, and its key: what `server.tls` names."""
    return certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def closing():
    """Closes what it is given at the end of the test: `closing(thing)` answers the thing."""
    with contextlib.ExitStack() as stack:
        def keep(thing):
            stack.callback(thing.close)
            return thing

        yield keep


@pytest.fixture
def connect(gateway, closing):
    """Opens greeted connections: `connect()`, `connect(SECOND)`, `connect(protocol=5)`."""
    return lambda app=FIRST, **query: closing(Client.connect(gateway, app, **query))


@pytest.fixture
def dial(gateway, closing):
    """Opens a WebSocket without reading anything: for keys and versions that are refused."""
    return lambda key=FIRST.key, **query: closing(Client.dial(gateway, key, **query))


@pytest.fixture
def wire(gateway, closing):
    """Opens bare sockets."""
    return lambda **settings: closing(Wire(gateway, **settings))


@pytest.fixture
def api_of(gateway, closing):
    """Opens kept-alive API connections: `api_of(SECOND)`."""
    return lambda app=FIRST: closing(Api(gateway, app))


@pytest.fixture
def api(api_of):
    return api_of()


@pytest.fixture
def channel():
    """A channel name nobody else uses: gateways are shared within a module."""
    return f"channel-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def fleet(gateway, closing):
    """The people of a fleet, with ids nobody else uses, and what they do: see `harness.fleet`."""
    return Fleet(gateway, closing)


@pytest.fixture
def own_receiver():
    """A backend of one test, for webhooks: see `harness.receiver`."""
    with contextlib.closing(Receiver()) as receiver:
        yield receiver


@pytest.fixture
def providers(tmp_path, tls):
    """APNs with its sandbox, and FCM: fakes that find fault with everything, at the latest in the end."""
    with contextlib.closing(Providers(tmp_path / "providers", tls)) as providers:
        yield providers
        providers.assert_content()


@pytest.fixture
def pushing(providers, start_gateway, closing):
    """Starts gateways that push to the fakes: `pushing()`, `pushing("kept", mode="fallback", texts={…}, apns={…}, fcm={…})`."""
    def start(folder: str | None = None, server: dict | None = None, first: dict | None = None, under: list | None = None, **sections) -> PushFleet:
        gateway = start_gateway(folder, server=server, first=first, under=under, sections=providers.sections(**sections))
        return PushFleet(gateway, closing, providers)

    return start


class Bystander:
    """Somebody who was there before and wants nothing but his event."""

    def __init__(self, gateway: Gateway, client: Client, api: Api):
        self.gateway, self.client, self.api = gateway, client, api
        self.channel = f"bystander-{uuid.uuid4().hex[:12]}"
        client.subscribe(self.channel)
        # An API connection that has not spoken yet would not be kept for long.
        api.publish(self.channel, "here")
        client.expect("here", channel=self.channel)

    def assert_served(self) -> None:
        """He gets his event, and it is the first thing he hears; newcomers are served; nothing spins."""
        self.gateway.assert_alive()
        self.api.publish(self.channel, "still-here", "yes")
        self.client.expect("still-here", channel=self.channel, data="yes")
        with contextlib.closing(Api(self.gateway)) as newcomer:
            assert newcomer.get("/healthz").status == 200
        self.gateway.assert_calm()


@pytest.fixture
def bystander(gateway, connect, api_of):
    """For hostile tests: asserts afterwards that the others did not notice."""
    bystander = Bystander(gateway, connect(), api_of())
    yield bystander
    bystander.assert_served()
