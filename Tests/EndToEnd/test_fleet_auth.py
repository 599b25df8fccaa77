"""Channel authorization: /pusher/auth, /pusher/user-auth, and plain channel names after sign-in."""

import base64
import hashlib
import json
import threading
from urllib.parse import quote, urlencode

import pytest

from harness.api import Api, Response
from harness.apps import FIRST
from harness.client import Client
from harness.fleet import JWT, Fleet, error_message, expect_no_events, join, sign_in, unique_id, wait_until
from harness.gateway import check_log
from harness.metrics import count_limited, scrape

MASTER_KEY = bytes(range(32))
SETTINGS = {
    "first": {"encryption_master_key": base64.b64encode(MASTER_KEY).decode(),
              "allowed_origins": ["https://dash.example"]},
    "sections": {"auth": {"jwt": JWT | {"cookie": "fleet_session"}}}}
SOCKET = "123.456"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Scenario:
    """Two drivers with one job each, and the customer of the first job."""

    def __init__(self, fleet: Fleet):
        self.fleet, self.admin = fleet, fleet.admin("x")
        self.driver, self.other_driver = fleet.driver(name="Dan"), fleet.driver()
        self.job, self.other_job = unique_id("J"), unique_id("K")
        self.reference, self.other_reference = unique_id("R"), unique_id("S")
        self.admin.assign(self.job, self.driver.subject, bookingReference=self.reference)
        self.admin.assign(self.other_job, self.other_driver.subject,
                          bookingReference=self.other_reference)
        self.customer = fleet.customer(name="Cleo", bookings=[self.reference, unique_id("T")])
        self.ops = fleet.ops()

    def channels(self) -> dict[str, str]:
        return {
            "own driver": f"private-driver-{self.driver.subject}",
            "other driver": f"private-driver-{self.other_driver.subject}",
            "drivers": "private-drivers-channel", "dashboard": "private-admin-channel",
            "own tracking": f"private-tracking-{self.reference}",
            "other tracking": f"private-tracking-{self.other_reference}",
            "own booking": f"private-booking-{self.reference}",
            "other booking": f"private-booking-{self.other_reference}",
            "own customer": f"private-customer-{self.customer.subject}",
            "other customer": "private-customer-other",
            "unlisted": "private-something", "presence": "presence-something",
            "presence of drivers": "presence-drivers-channel",
            "presence driver other": f"presence-driver-{self.other_driver.subject}",
            "encrypted": "private-encrypted-something",
            "encrypted driver other": f"private-encrypted-driver-{self.other_driver.subject}"}


@pytest.fixture
def scenario(fleet):
    return Scenario(fleet)


ALLOWED = {
    "driver": {"own driver", "drivers", "own tracking", "own booking"},
    "customer": {"own customer", "own tracking", "own booking"},
    "ops": set(),
}


@pytest.mark.parametrize("role", ["driver", "customer", "ops"])
def test_each_role_is_authorized_for_exactly_its_channels(scenario, connect, role):
    caller, client = getattr(scenario, role), connect()
    for kind, channel in scenario.channels().items():
        response = caller.channel_auth(client.socket_id, channel)
        if kind in ALLOWED[role]:
            assert response.json() == {"auth": FIRST.auth(client.socket_id, channel)}, (
                kind, response)
            assert response.status == 200
        else:
            assert response.status == 403, (kind, response)
            assert error_message("/pusher/auth", response)


def test_admin_is_authorized_for_all_channels(scenario, connect):
    client = connect()
    for kind, channel in scenario.channels().items():
        response = scenario.admin.channel_auth(client.socket_id, channel)
        assert response.status == 200, (kind, response)
        received = response.json()
        if channel.startswith("presence-"):
            assert received.keys() == {"auth", "channel_data"}
            assert json.loads(received["channel_data"])["user_id"] == "admin:x"
            assert received["auth"] == FIRST.auth(client.socket_id, channel,
                                                  received["channel_data"])
        elif channel.startswith("private-encrypted-"):
            secret = base64.b64encode(
                hashlib.sha256(channel.encode() + MASTER_KEY).digest()).decode()
            assert received == {"auth": FIRST.auth(client.socket_id, channel),
                                "shared_secret": secret}
        else:
            assert received == {"auth": FIRST.auth(client.socket_id, channel)}


def expect_behind_replay(client, event: str, **fields) -> None:
    """Expects an event behind the notifications that the driver has missed."""
    message = client.receive()
    while message["event"] == "job-assigned":
        message = client.receive()
    assert {"event": event} | fields == {name: message[name] for name in ("event", *fields)}


def test_signed_subscription_receives_events(scenario, connect, api):
    for caller, kinds in ((scenario.driver, ALLOWED["driver"]),
                          (scenario.customer, ALLOWED["customer"]),
                          (scenario.admin, ["dashboard", "unlisted"])):
        for kind in sorted(kinds):
            client, channel = connect(), scenario.channels()[kind]
            join(client, caller, channel)
            api.publish(channel, "hello", kind)
            expect_behind_replay(client, "hello", channel=channel, data=kind)


def test_admin_joins_presence_channels(scenario, connect):
    one, other, channel = connect(), connect(), "presence-" + unique_id()
    for client, caller in ((one, scenario.admin), (other, scenario.fleet.admin("y"))):
        client.send_subscribe(channel, **caller.channel_auth(client.socket_id, channel).json())
        members = client.expect_joined(channel)
    assert sorted(members["ids"]) == ["admin:x", "admin:y"]
    one.expect("pusher_internal:member_added")


def bodies(channel: str) -> dict[str, tuple[bytes, dict]]:
    fields = {"socket_id": SOCKET, "channel_name": channel}
    return {
        "a form": (urlencode(fields).encode(), FORM),
        "a form with a charset": (
            urlencode(fields).encode(),
            {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}),
        "a form in another order": (urlencode(dict(reversed(fields.items()))).encode(), FORM),
        "a form with further fields": (
            urlencode({"x": "1"} | fields | {"callback": "f"}).encode(), FORM),
        "a form with an escaped name": (
            b"socket_id=123%2E456&channel_name="
            + "".join(f"%{ord(letter):02x}" for letter in channel).encode(), FORM),
        "JSON": (json.dumps(fields).encode(), {"Content-Type": "application/json"}),
        "JSON with a charset": (
            json.dumps(fields | {"more": [1]}).encode(),
            {"Content-Type": "application/json; charset=utf-8"}),
    }


def test_form_and_json_bodies_are_equivalent(scenario):
    channel = scenario.channels()["own driver"]
    for kind, (body, headers) in bodies(channel).items():
        response = scenario.driver.post("/pusher/auth", body, headers=headers)
        assert (response.status,
                response.json()) == (200, {"auth": FIRST.auth(SOCKET, channel)}), kind


@pytest.mark.parametrize("cookie",
                         ["fleet_session={}", "a=b; fleet_session={}; c=d",
                          'x="y"; fleet_session={}'])
def test_token_in_cookie_authenticates(scenario, fleet, cookie):
    channel, anonymous = scenario.channels()["own driver"], fleet.caller()
    body = {"socket_id": SOCKET, "channel_name": channel}
    response = anonymous.post("/pusher/auth", body,
                              headers={"Cookie": cookie.format(scenario.driver.bearer)})
    assert (response.status, response.json()) == (200, {"auth": FIRST.auth(SOCKET, channel)})
    assert anonymous.request("GET", "/api/driver/jobs",
                             headers={
        "Cookie": cookie.format(scenario.driver.bearer)}).status == 200


def test_authorization_header_precedes_cookie(scenario):
    """A client that sends an Authorization header must not act as another user because of a stale
    cookie.
    """
    cookie = {"Cookie": f"fleet_session={scenario.admin.bearer}"}
    body = {"socket_id": SOCKET, "channel_name": "private-admin-channel"}
    assert scenario.driver.post("/pusher/auth", body, headers=cookie).status == 403
    assert scenario.fleet.caller(bearer="nonsense").post(
        "/pusher/auth", body, headers=cookie).status == 401


@pytest.mark.parametrize("path", ["/pusher/auth", "/pusher/user-auth"])
@pytest.mark.parametrize("cookie",
                         ["", "fleet_session=", "other={}", "Fleet_Session={}", "xfleet_session={}",
                          "fleet_session=x{}"])
def test_missing_or_invalid_token_is_401(scenario, fleet, path, cookie):
    anonymous = fleet.caller()
    response = anonymous.post(path,
                              {"socket_id": SOCKET, "channel_name": "private-drivers-channel"},
                              headers={"Cookie": cookie.format(scenario.driver.bearer)})
    assert response.status == 401, response
    assert error_message(path, response)


def test_user_auth_identifies_driver_customer_and_admin(scenario, connect):
    for caller, expected in (
            (scenario.driver, {"id": f"driver:{scenario.driver.subject}",
                               "user_info": {"name": "Dan"}}),
            (scenario.customer, {"id": f"customer:{scenario.customer.subject}",
                                 "user_info": {"name": "Cleo"}})):
        client = connect()
        received = caller.user_auth(client.socket_id).json()
        assert received.keys() == {"auth", "user_data"}
        assert received["auth"] == FIRST.user_auth(client.socket_id, received["user_data"])
        user = sign_in(client, caller)
        assert expected.items() <= user.items(), user
        assert ("bookings" in user) == (caller is scenario.customer)
        assert scenario.reference in user.get("bookings", [scenario.reference])
    client = connect()
    assert sign_in(client, scenario.admin)["id"] == "admin:x"


@pytest.mark.parametrize("body", [b"socket_id=123.456", b'{"socket_id":"123.456"}'],
                         ids=["form", "JSON"])
def test_user_auth_accepts_form_and_json(scenario, body):
    headers = FORM if body[:1] != b"{" else {"Content-Type": "application/json"}
    received = scenario.driver.post("/pusher/user-auth", body, headers=headers).json()
    assert received["auth"] == FIRST.user_auth(SOCKET, received["user_data"])


# Plain channel names


def test_signed_in_user_subscribes_to_plain_channels_of_the_role(scenario, connect, api):
    for caller, kinds in ((scenario.driver, ALLOWED["driver"]),
                          (scenario.customer, ALLOWED["customer"]),
                          (scenario.admin, ["dashboard", "other driver", "other booking"])):
        for kind in sorted(kinds):
            client = connect()
            sign_in(client, caller)
            plain = scenario.channels()[kind].removeprefix("private-")
            client.subscribe(plain)
            api.publish(plain, "hello", kind)
            expect_behind_replay(client, "hello", channel=plain, data=kind)


@pytest.mark.parametrize("role", ["driver", "customer", "ops", None])
def test_other_plain_channels_are_rejected(scenario, connect, api, role):
    client, plain = connect(), []
    if role and role != "ops":
        sign_in(client, getattr(scenario, role))
    for kind, channel in scenario.channels().items():
        if channel.startswith("private-") and kind not in ALLOWED.get(
                role, ()) and "unlisted" not in kind and "encrypted" not in kind:
            plain.append(channel.removeprefix("private-"))
            client.send_subscribe(plain[-1])
            client.expect_rejection(plain[-1])
            # A cache channel that matches no pattern: open to all, and no mirror of this channel.
            client.subscribe(f"cache-{plain[-1]}")
            client.expect("pusher:cache_miss")
    assert len(plain) >= 6
    for name in plain:
        api.publish([name, f"private-{name}"], "secret")
    expect_no_events(api, client)


def expect_opened(client, *names: str) -> list[str]:
    """Expects the subscriptions to these names, between notifications that are replayed, and returns
    the errors that come with them."""
    errors, opened = [], []
    while len(opened) < len(names):
        message = client.receive()
        if message["event"] == "pusher:error":
            errors.append(message["data"]["message"])
        elif message["event"] != "job-assigned":
            assert message["event"] == "pusher_internal:subscription_succeeded", message
            opened.append(message["channel"])
    assert opened == list(names)
    return errors


def test_plain_names_are_subscribed_when_the_sign_in_succeeds(scenario, connect, api):
    """pusher-js subscribes again before it signs in again, and never repeats what was refused."""
    client, own = connect(), f"driver-{scenario.driver.subject}"
    tracking, foreign = f"tracking-{scenario.reference}", f"driver-{scenario.other_driver.subject}"
    for name in (own, tracking, foreign, "drivers-channel", own):
        client.send_subscribe(name)
        client.expect_rejection(name)
    client.unsubscribe(tracking)
    sign_in(client, scenario.driver)
    [error] = expect_opened(client, own, "drivers-channel")
    assert foreign in error
    api.publish([own, "drivers-channel"], "hello")
    for name in (own, "drivers-channel"):
        expect_behind_replay(client, "hello", channel=name)
    client.send_subscribe(own)
    # What is published now does not wait for the replay.
    expect_behind_replay(client, "pusher:error",
                         data={"message": f"Existing subscription to channel {own}", "code": None})


def test_connection_keeps_a_limited_number_of_names(scenario, connect, api):
    before, client = count_limited(api, "kept_names"), connect()
    names = [f"driver-{unique_id()}" for _ in range(33)]
    for name in names:
        client.send_subscribe(name)
        client.expect_rejection(name)
    assert count_limited(api, "kept_names") == before + 1
    sign_in(client, scenario.admin)
    assert expect_opened(client, *names[:32]) == []
    client.expect_nothing()


def test_refused_subscriptions_are_counted_and_logged(start_gateway, closing):
    """For operators: such an app looks connected, and gets nothing."""
    gateway = start_gateway(**SETTINGS)
    fleet, api = Fleet(gateway, closing), closing(Api(gateway))
    driver = fleet.driver()
    client = fleet.signed_in(driver)
    for name, fields in (("driver-other", {}), ("private-tracking-x", {"auth": "key1:no"}), ("private-x", {}), ("a b", {})):
        client.send_subscribe(name, **fields)
        client.expect_rejection(name)
    never = fleet.closing(Client.connect(gateway))
    never.send_subscribe("driver-7")
    never.expect_rejection("driver-7")
    never.close()
    expected = {("driver-*", "forbidden"), ("tracking-*", "signature"), ("none", "missing_auth"),
                ("none", "invalid_name"), ("driver-*", "not_signed_in")}

    def counted() -> set[tuple[str, str]]:
        metrics = scrape(api)
        return {each for each in expected if metrics.value(
            "fleetwire_subscriptions_refused_total", pattern=each[0], reason=each[1]) == 1}

    wait_until(lambda: counted() == expected, "all are counted")
    assert scrape(api).total("fleetwire_subscriptions_refused_total") == 5

    def logged() -> list[dict]:
        return [line for line in check_log(gateway.log()) if line["event"] == "subscription_refused"]

    wait_until(lambda: len(logged()) == 5, "all are logged")
    lines = logged()
    assert {(line["pattern"], line["reason"]) for line in lines} == expected
    assert {(line["app"], line["level"]) for line in lines} == {("1001", "warning")}
    for _ in range(30):
        client.send_subscribe("driver-other")
        client.expect_rejection("driver-other")
    wait_until(lambda: sum(line.get("omitted", 1) for line in logged()) == 35, "the rest is counted in the log")


def test_unknown_keys_are_logged(start_gateway, closing):
    gateway = start_gateway()
    code, _ = closing(Client.dial(gateway, "nobody")).expect_close()
    assert code == 4001

    def lines() -> list[dict]:
        return [line for line in check_log(gateway.log()) if line["event"] == "app_key_unknown"]

    wait_until(lines, "it is logged")
    [line] = lines()
    assert (line["key"], line["address"]) == ("nobody", "127.0.0.1")


def test_channels_without_a_pattern_are_public(connect, api, channel):
    client = connect()
    for name in (channel, "drivers-channel-2", "drivers", "my-driver-42", "admin-channels"):
        client.subscribe(name)
        api.publish(name, "hello")
        client.expect("hello", channel=name)


def test_losing_a_job_ends_subscriptions_to_its_channels(scenario, connect, api):
    """Plain and private channels, by reassignment and by unassignment; other subscribers stay."""
    plain, private = connect(), connect()
    customer = scenario.fleet.listen(scenario.customer, f"tracking-{scenario.reference}")
    sign_in(plain, scenario.driver)
    plain.subscribe(f"tracking-{scenario.reference}")
    plain.subscribe(f"booking-{scenario.reference}")
    join(private, scenario.driver, f"private-tracking-{scenario.reference}")
    scenario.admin.assign(scenario.job, scenario.other_driver.subject)
    for client, names in ((plain, ["booking", "tracking"]), (private, ["private-tracking"])):
        errors = [client.receive() for _ in names]
        assert {message["event"]
                for message in errors} <= {"pusher:error", "pusher:subscription_error"}, errors
    api.publish([f"tracking-{scenario.reference}", f"booking-{scenario.reference}"], "position")
    customer.expect("position", channel=f"private-tracking-{scenario.reference}")
    expect_no_events(api, plain, private)
    assert scenario.driver.channel_auth(SOCKET,
                                        f"private-tracking-{scenario.reference}").status == 403
    successor = scenario.fleet.listen(scenario.other_driver, f"tracking-{scenario.reference}")
    scenario.admin.order(scenario.job, "unassign")
    assert successor.receive()["event"] in ("pusher:error", "pusher:subscription_error")
    expect_no_events(api, successor, customer)


@pytest.mark.parametrize("end", ["cancelled", "completed"])
def test_ended_job_revokes_its_channels(scenario, connect, api, end):
    """The booking's next order may have another driver."""
    client, channel = connect(), f"private-booking-{scenario.reference}"
    join(client, scenario.driver, channel)
    if end == "cancelled":
        scenario.admin.order(scenario.job, "cancel-enhanced")
    else:
        scenario.driver.accept(scenario.job)
        for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
            scenario.driver.progress(scenario.job, step)
    while client.receive()["event"] != "pusher:error":
        pass
    next_order = unique_id("J")
    scenario.admin.assign(next_order, scenario.other_driver.subject,
                          bookingReference=scenario.reference)
    scenario.other_driver.accept(next_order)
    expect_no_events(api, client)


@pytest.mark.parametrize("end",
                         ["reassigned", "unassigned", "removed", "cancelled", "completed",
                          "renamed"])
def test_old_signature_is_rejected_once_the_permission_ended(scenario, connect, end):
    client, channel = connect(), f"private-tracking-{scenario.reference}"
    signed = scenario.driver.channel_auth(client.socket_id, channel).json()
    if end == "reassigned":
        scenario.admin.assign(scenario.job, scenario.other_driver.subject)
    elif end == "completed":
        scenario.driver.accept(scenario.job)
        for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
            scenario.driver.progress(scenario.job, step)
    elif end == "renamed":
        scenario.admin.expect_ok("PUT", f"/api/admin/orders/{scenario.job}",
                                 {"bookingReference": unique_id("R")})
    else:
        scenario.admin.order(scenario.job,
                             {"unassigned": "unassign", "removed": "remove-driver",
                              "cancelled": "cancel-enhanced"}[end])
    client.send_subscribe(channel, **signed)
    client.expect_rejection(channel)
    assert scenario.driver.channel_auth(client.socket_id, channel).status == 403


def test_subscribe_concurrent_with_reassignment_gives_no_access(scenario, connect, api):
    for number in range(40):
        code, client = unique_id("J"), connect()
        scenario.admin.assign(code, scenario.driver.subject)
        channel, signed = f"tracking-{code}", {}
        if number % 2:
            channel, signed = (f"private-{channel}",
                               scenario.driver.channel_auth(
                client.socket_id, f"private-{channel}").json())
        else:
            sign_in(client, scenario.driver)
        subscribing = threading.Thread(target=client.send_subscribe, args=[channel], kwargs=signed)
        subscribing.start()
        scenario.admin.assign(code, scenario.other_driver.subject)
        subscribing.join()
        client.receive_until_pong()
        api.publish(f"tracking-{code}", "position")
        expect_no_events(api, client)


# Attacks


def assert_not_signed(response: Response, socket_id: str, channels: list[str]) -> None:
    """Expects a rejection that contains the signature of none of these channels."""
    for channel in channels:
        assert FIRST.auth(socket_id, channel).partition(":")[2] not in response.text, channel
    assert 400 <= response.status < 500, response
    assert error_message("/pusher/auth", response)


def lookalikes(own: str, other: str) -> list[str]:
    """Returns names that a careless comparison could take for the driver's own or for an
    unprotected channel.
    """
    whole = f"private-driver-{other}"
    return [whole, whole.upper(), f"Private-driver-{other}", f"private-Driver-{other}",
            f"private-driver-{other} ", f" {whole}", f"{whole}\n", f"{whole}\0",
            f"private-driver-{own},", f"private-driver-{own},{whole}",
            f"private-driver-{own}, {whole}", f"private-driver-{own}/../driver-{other}",
            f"private-driver-{own}%00", f"private-driver-{own}\0{other}",
            f"private-driver-{own};{other}", f"private-driver-{own}.", f"private-driver-{own}-",
            f"private-driver-{own}={other}", f"private-driver-{own}@{other}", "private-driver-*",
            "private-driver-", "private-*", f"private--driver-{other}",
            f"private-private-driver-{other}", f"private-cache-driver-{other}",
            f"private-encrypted-driver-{other}", f"presence-driver-{other}",
            f"presence-cache-driver-{other}", f"private-encrypted-cache-driver-{other}",
            f"private-driver%2D{other}", f"private%2Ddriver-{other}",
            f"private-driver-{quote(other)}%20", f"рrivate-driver-{other}",
            f"private-drіver-{other}", f"private-driver-{own}\u200b", f"private-driver-{own[:-1]}",
            f"private-driver-{own}{own}",
            f"private-driver-{own.upper() if own != own.upper() else own + 'A'}",
            "".join(chr(0xFEE0 + ord(letter)) if "!" <= letter <= "~" else letter
                    for letter in whole),
            f"private-driver-{other}\u0301", f"#server-to-user-driver:{other}",
            f"private-#server-to-user-driver:{other}", ":user:", f':user:{{"id":"driver:{other}"}}',
            "", "private-", "driver", "x" * 201, "private-driver-" + "9" * 500]


def test_lookalike_channel_names_are_rejected(scenario, connect, api):
    own, other = scenario.driver.subject, scenario.other_driver.subject
    client, victim = connect(), scenario.fleet.listen(scenario.other_driver, f"driver-{other}")
    sign_in(client, scenario.driver)
    forbidden = [f"private-driver-{other}", f"driver-{other}"]
    for name in lookalikes(own, other):
        as_form = urlencode({"socket_id": client.socket_id, "channel_name": name}).encode()
        assert_not_signed(scenario.driver.post("/pusher/auth", as_form, headers=FORM),
                          client.socket_id, forbidden)
        assert_not_signed(scenario.driver.channel_auth(client.socket_id, name), client.socket_id,
                          forbidden)
        client.send_subscribe(name)
        client.send_subscribe(name, auth=FIRST.auth(client.socket_id, f"private-driver-{own}"))
    assert all(message["event"] in ("pusher:error", "pusher:subscription_error")
               or not message["channel"].startswith(("driver-", "private-", "presence-"))
               for message in client.receive_until_pong())
    api.publish([f"driver-{other}"], "secret")
    expect_behind_replay(victim, "secret", channel=f"private-driver-{other}")
    expect_no_events(api, client)


@pytest.mark.parametrize("socket_id",
                         ["", "1.1:private-driver-43", "1.1::user::{}", "1.1\0", 1.1],
                         ids=repr)
def test_socket_id_must_be_two_numbers(scenario, socket_id):
    """The signature covers `SOCKET:CHANNEL`: a socket id with a colon could choose the channel."""
    for path, more in (("/pusher/auth", {"channel_name": "private-drivers-channel"}),
                       ("/pusher/user-auth", {})):
        response = scenario.driver.post(path, {"socket_id": socket_id} | more)
        assert response.status == 400, response
        assert "socket_id" in error_message(path, response)


@pytest.mark.parametrize("channel", [None, 1, [], ["private-drivers-channel"], {}, True],
                         ids=json.dumps)
def test_channel_name_must_be_a_string(scenario, channel):
    response = scenario.driver.post("/pusher/auth", {"socket_id": SOCKET, "channel_name": channel})
    assert response.status == 400 and "channel_name" in error_message("/pusher/auth", response)


def test_duplicate_fields_sign_no_other_channel(scenario):
    own, other = (f"private-driver-{user.subject}"
                  for user in (scenario.driver, scenario.other_driver))
    for first, second in ((own, other), (other, own)):
        form = f"socket_id={SOCKET}&channel_name={first}&channel_name={second}".encode()
        twice = f'{{"socket_id":"{SOCKET}","channel_name":"{first}","channel_name":"{second}"}}'.encode()
        for response in (scenario.driver.post("/pusher/auth", form, headers=FORM),
                         scenario.driver.post("/pusher/auth", twice),
                         scenario.driver.post(
            f"/pusher/auth?socket_id={SOCKET}&channel_name={other}",
            f"socket_id={SOCKET}&channel_name={first}".encode(), headers=FORM)):
            assert FIRST.auth(SOCKET, other) not in response.text
            assert response.status in (200, 400, 403), response


def test_signature_of_a_driver_authorizes_nothing_else(scenario, connect):
    client, own, other = (connect(), f"private-driver-{scenario.driver.subject}",
                          f"private-driver-{scenario.other_driver.subject}")
    auth = scenario.driver.channel_auth(client.socket_id, own).json()["auth"]
    user = scenario.driver.user_auth(client.socket_id).json()
    for channel, fields in ((other, {"auth": auth}), (other, {"auth": user["auth"]}),
                            (other, {"auth": user["auth"], "channel_data": user["user_data"]}),
                            (":user:", {"auth": user["auth"], "channel_data": user["user_data"]}),
                            (f"presence-driver-{scenario.other_driver.subject}", {"auth": auth})):
        client.send_subscribe(channel, **fields)
        client.expect_rejection(channel)
    outsider = connect()
    outsider.send_subscribe(own, auth=auth)
    outsider.expect_rejection(own)


def test_second_sign_in_is_rejected(scenario, connect, api):
    """Otherwise one connection could collect the permissions of two users."""
    client = connect()
    sign_in(client, scenario.driver)
    client.send("pusher:signin", scenario.other_driver.user_auth(client.socket_id).json())
    client.expect_error()
    client.send_subscribe(f"driver-{scenario.other_driver.subject}")
    client.expect_rejection(f"driver-{scenario.other_driver.subject}")
    client.subscribe(f"driver-{scenario.driver.subject}")


# Browsers


@pytest.mark.parametrize("path, method",
                         [("/pusher/auth", "POST"), ("/pusher/user-auth", "POST"),
                          ("/api/admin/orders/X1/assign-driver", "POST"),
                          ("/api/admin/orders/X1", "PUT"), ("/api/driver/jobs", "GET"),
                          ("/api/ops/stats", "GET")])
def test_cors_allows_configured_origins(scenario, fleet, path, method):
    preflight = {
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers":
        "authorization,content-type,idempotency-key,if-match,x-correlation-id"}
    anonymous = fleet.caller()
    response = anonymous.call("OPTIONS", path,
                              headers=preflight | {"Origin": "https://dash.example"})
    assert response.status in (200, 204), response
    assert response.headers["access-control-allow-origin"] == "https://dash.example"
    assert method in response.headers["access-control-allow-methods"].split(", ")
    allowed_headers = response.headers["access-control-allow-headers"].lower().split(", ")
    assert {"authorization", "content-type", "idempotency-key", "if-match",
            "x-correlation-id"} <= set(allowed_headers), allowed_headers
    for caller in (anonymous, scenario.admin):
        response = caller.request(method, path, {} if method != "GET" else None,
                                  headers={"Origin": "https://dash.example"})
        assert response.headers.get(
            "access-control-allow-origin") == "https://dash.example", response
    exposed = response.headers.get("access-control-expose-headers", "").lower()
    assert "x-correlation-id" in exposed and "idempotency-replayed" in exposed, exposed
    for origin in ("https://evil.example", "null"):
        response = anonymous.call("OPTIONS", path, headers=preflight | {"Origin": origin})
        assert "access-control-allow-origin" not in response.headers
        assert "access-control-allow-origin" not in anonymous.request(
            method, path, headers={"Origin": origin}).headers
