"""Fixtures. Whatever a fixture opens is closed after the test."""

import contextlib
import itertools
import os
import resource
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

# Debian's nginx is where only root's path leads, and a login has 1,024 descriptors where it may have more.
os.environ["PATH"] += ":/usr/sbin:/sbin"
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

pytest.register_assert_rewrite("harness")

from harness import certificates, timing  # noqa: E402
from harness.api import Api  # noqa: E402
from harness.apps import FIRST  # noqa: E402
from harness.client import Client  # noqa: E402
from harness.cluster import ONE_NODE  # noqa: E402
from harness.fleet import Fleet, unique_id  # noqa: E402
from harness.gateway import BINARY, IS_PLAIN, SERVER, Gateway, write_config  # noqa: E402
from harness.plain import NEEDS_FLEET  # noqa: E402
from harness.push.providers import Providers  # noqa: E402
from harness.push.push_fleet import PushFleet  # noqa: E402
from harness.webhook_receiver import WebhookReceiver  # noqa: E402
from harness.wire import Wire  # noqa: E402


def pytest_sessionstart(session):
    if not BINARY.exists():
        pytest.exit(f"no program at {BINARY}: build it, or set FLEETWIRE_BINARY", returncode=3)


# The files that take longest. They come first, so that no worker begins one when the others have ended.
LONGEST = ["test_postgres", "test_alerts", "test_alerts_prometheus", "test_cluster", "test_apns_connections", "test_cluster_ops",
           "test_transport_traps", "test_deploy_cluster", "test_fcm_responses", "test_push_outbox", "test_connection_states",
           "test_push_lane_waits", "test_proxies", "test_read_all", "test_aged", "test_documents", "test_webhooks", "test_message_rates"]


def pytest_collection_modifyitems(items):
    """Puts the longest files first, and skips what does not hold for the nodes of a cluster (dev/with-cluster), or without a
    fleet.
    """
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))
    if "FLEETWIRE_TEST_NATS" in os.environ:
        skip(items, ONE_NODE)
    if IS_PLAIN:
        skip(items, NEEDS_FLEET)


def skip(items, tests: dict[str, list[str]]) -> None:
    """Skips the tests with these names, which stand behind their reason."""
    reasons = {name: reason for reason, names in tests.items() for name in names}
    for item in items:
        if reason := reasons.get(item.originalname) or reasons.get(item.name):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    """The SDKs must connect to the loopback directly, whatever proxies the environment sets."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module", autouse=True)
def divided_timing(request):
    """Divides the constants of time of a module's gateways by its `TIMING_DIVISOR`. On the release binary, the tests wait
    for the real times (`make test-slow`).
    """
    divisor = getattr(request.module, timing.VARIABLE, 1) if timing.IS_DIVISIBLE else 1
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(timing.VARIABLE, str(divisor))
        yield


@pytest.fixture(scope="module")
def module_settings(request) -> dict:
    """The arguments of `Gateway` for a module: its `SETTINGS`, unless it overrides this fixture."""
    return getattr(request.module, "SETTINGS", {})


@pytest.fixture(scope="module")
def gateways(module_settings, tmp_path_factory):
    """The gateways of a module by number of loops. One that has exited is replaced, so that only one
    test fails.
    """
    running: dict[int, Gateway] = {}

    def with_loops(loops: int) -> Gateway:
        if loops not in running or running[loops].process.poll() is not None:
            running[loops] = Gateway(tmp_path_factory.mktemp("gateway"), loops=loops,
                                     **module_settings)
        return running[loops]

    yield with_loops
    with contextlib.ExitStack() as stack:
        for gateway in running.values():
            if gateway.process.poll() is None:
                stack.callback(gateway.stop)


@pytest.fixture
def gateway(request, gateways):
    """A gateway shared by the module, with 2 loops unless the test is parametrized over it."""
    gateway = gateways(getattr(request, "param", 2))
    yield gateway
    gateway.assert_alive()


@pytest.fixture
def start_gateway(tmp_path):
    """Starts gateways for one test."""
    with contextlib.ExitStack() as stack:
        numbers = itertools.count()

        def start(folder: str | None = None, **settings) -> Gateway:
            """Starts a gateway in a new folder, or in `folder`: for restarts that must find earlier
            data.
            """
            gateway = Gateway(tmp_path / (folder or f"gateway{next(numbers)}"), **settings)
            stack.callback(gateway.stop)
            return gateway

        yield start


@pytest.fixture(scope="session")
def tls(tmp_path_factory) -> dict[str, str]:
    """A self-signed certificate for the loopback address, and its key: the value of `server.tls`.
    """
    return certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def closing():
    """Closes objects at the end of the test: `closing(thing)` returns the thing."""
    with contextlib.ExitStack() as stack:
        def keep(thing):
            stack.callback(thing.close)
            return thing

        yield keep


@pytest.fixture
def connect(gateway, closing):
    """Opens connections and receives `pusher:connection_established`: `connect()`,
    `connect(SECOND)`, `connect(protocol=5)`.
    """
    return lambda app=FIRST, **query: closing(Client.connect(gateway, app, **query))


@pytest.fixture
def dial(gateway, closing):
    """Opens a WebSocket without reading anything: for rejected keys and versions."""
    return lambda key=FIRST.key, **query: closing(Client.dial(gateway, key, **query))


@pytest.fixture
def wire(gateway, closing):
    """Opens plain sockets."""
    return lambda **settings: closing(Wire(gateway, **settings))


@pytest.fixture
def open_api(gateway, closing):
    """Opens kept-alive API connections: `open_api(SECOND)`."""
    return lambda app=FIRST: closing(Api(gateway, app))


@pytest.fixture
def api(open_api):
    return open_api()


@pytest.fixture
def channel():
    """A channel name that no other test uses, because gateways are shared within a module."""
    return f"channel-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def presence(channel):
    """The name of a presence channel that no other test uses."""
    return "presence-" + channel


@pytest.fixture
def subscriber(connect, channel):
    """A client subscribed to `channel`; `subscriber.channel` is that name."""
    client = connect()
    client.subscribe(channel)
    client.channel = channel
    return client


@pytest.fixture
def fleet(gateway, closing):
    """The users of a fleet with unique ids, and their actions: see `harness.fleet`."""
    return Fleet(gateway, closing)


@pytest.fixture
def admin(fleet):
    """An admin of the fleet, who calls the REST API."""
    return fleet.admin()


@pytest.fixture
def code():
    """An order code that no other test uses."""
    return unique_id("O")


@pytest.fixture
def config(tmp_path):
    """Writes a configuration with these sections, `config(server={…})`; sections that are left out
    are valid.
    """
    def write(**sections) -> Path:
        return write_config(tmp_path / "test.yaml",
                            **{"server": SERVER, "apps": [FIRST.entry()]} | sections)

    return write


@pytest.fixture
def webhook_receiver():
    """A webhook endpoint for one test: see `harness.webhook_receiver`."""
    with contextlib.closing(WebhookReceiver()) as receiver:
        yield receiver


@pytest.fixture
def providers(tmp_path, tls):
    """Fakes of APNs, its sandbox and FCM; any violation fails the test at its end."""
    with contextlib.closing(Providers(tmp_path / "providers", tls)) as providers:
        yield providers
        providers.assert_no_violations()


@pytest.fixture
def start_push_fleet(providers, start_gateway, closing):
    """Starts gateways that push to the fakes: `start_push_fleet()`, `start_push_fleet("kept",
    mode="fallback", catalogue={…}, apns={…}, fcm={…})`.
    """
    def start(folder: str | None = None, server: dict | None = None, first: dict | None = None,
              wrapper: list | None = None, **sections) -> PushFleet:
        gateway = start_gateway(folder, server=server, first=first, wrapper=wrapper,
                                sections=providers.sections(**sections))
        return PushFleet(gateway, closing, providers)

    return start


class ControlClient:
    """A client that connects before the test and must be served during and after it."""

    def __init__(self, gateway: Gateway, client: Client, api: Api):
        self.gateway, self.client, self.api = gateway, client, api
        self.channel = f"control-client-{uuid.uuid4().hex[:12]}"
        client.subscribe(self.channel)
        # An API connection without a request would be closed soon.
        api.publish(self.channel, "here")
        client.expect("here", channel=self.channel)

    def assert_served(self) -> None:
        """Its event arrives, with none before it; new clients are served; no loop spins."""
        self.gateway.assert_alive()
        self.api.publish(self.channel, "still-here", "yes")
        self.client.expect("still-here", channel=self.channel, data="yes")
        with contextlib.closing(Api(self.gateway)) as new_client:
            assert new_client.get("/healthz").status == 200
        self.gateway.assert_idle()


@pytest.fixture
def control_client(gateway, connect, open_api):
    """For hostile tests: asserts at the end that other clients were not affected."""
    control_client = ControlClient(gateway, connect(), open_api())
    yield control_client
    control_client.assert_served()


@pytest.fixture
def strace_program(tmp_path) -> str:
    """The path of strace. Skips the test if strace cannot trace here."""
    program = shutil.which("strace")
    if not program:
        pytest.skip("no strace on this machine")
    if "LSAN_OPTIONS" in os.environ:
        pytest.skip("the leak check cannot run under strace")
    trial = subprocess.run([program, "-D", "-f", "-o", tmp_path / "trial", "true"],
                           capture_output=True, text=True)
    if trial.returncode or not (tmp_path / "trial").read_text():
        pytest.skip(f"strace cannot trace here: {trial.stderr.strip()}")
    return program
