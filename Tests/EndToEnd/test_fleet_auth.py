"""Who may join what: /pusher/auth and /pusher/user-auth, and plain names for those who signed in."""

import base64
import hashlib
import json
import threading
from urllib.parse import quote, urlencode

import pytest

from harness.api import Answer
from harness.apps import FIRST
from harness.fleet import JWT, Fleet, error_of, fresh, hear_nothing, join, sign_in

MASTER_KEY = bytes(range(32))
SETTINGS = {
    "first": {"encryption_master_key": base64.b64encode(MASTER_KEY).decode(), "allowed_origins": ["https://dash.example"]},
    "sections": {"auth": {"jwt": JWT | {"cookie": "fleet_session"}}}}
SOCKET = "123.456"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Scene:
    """Two drivers with a job each, and the customer of the first job."""

    def __init__(self, fleet: Fleet):
        self.fleet, self.admin = fleet, fleet.admin("x")
        self.mine, self.other = fleet.driver(name="Dan"), fleet.driver()
        self.job, self.other_job = fresh("J"), fresh("K")
        self.reference, self.other_reference = fresh("R"), fresh("S")
        self.admin.assign(self.job, self.mine.subject, bookingReference=self.reference)
        self.admin.assign(self.other_job, self.other.subject, bookingReference=self.other_reference)
        self.customer = fleet.customer(name="Cleo", bookings=[self.reference, fresh("T")])
        self.ops = fleet.ops()

    def channels(self) -> dict[str, str]:
        return {
            "driver mine": f"private-driver-{self.mine.subject}", "driver other": f"private-driver-{self.other.subject}",
            "drivers": "private-drivers-channel", "dashboard": "private-admin-channel",
            "tracking mine": f"private-tracking-{self.reference}", "tracking other": f"private-tracking-{self.other_reference}",
            "booking mine": f"private-booking-{self.reference}", "booking other": f"private-booking-{self.other_reference}",
            "customer mine": f"private-customer-{self.customer.subject}", "customer other": "private-customer-somebody",
            "unlisted": "private-something", "presence": "presence-something", "presence of drivers": "presence-drivers-channel",
            "presence driver other": f"presence-driver-{self.other.subject}", "encrypted": "private-encrypted-something",
            "encrypted driver other": f"private-encrypted-driver-{self.other.subject}"}


@pytest.fixture
def scene(fleet):
    return Scene(fleet)


ALLOWED = {
    "mine": {"driver mine", "drivers", "tracking mine", "booking mine"},
    "customer": {"customer mine", "tracking mine", "booking mine"},
    "ops": set(),
}


@pytest.mark.parametrize("who", ["mine", "customer", "ops"])
def test_each_role_gets_exactly_its_channels(scene, connect, who):
    caller, refused = getattr(scene, who), connect()
    for kind, channel in scene.channels().items():
        answer = caller.channel_auth(refused.socket_id, channel)
        if kind in ALLOWED[who]:
            assert answer.json() == {"auth": FIRST.auth(refused.socket_id, channel)}, (kind, answer)
            assert answer.status == 200
        else:
            assert answer.status == 403, (kind, answer)
            assert error_of("/pusher/auth", answer)


def test_an_admin_gets_everything(scene, connect):
    client = connect()
    for kind, channel in scene.channels().items():
        answer = scene.admin.channel_auth(client.socket_id, channel)
        assert answer.status == 200, (kind, answer)
        said = answer.json()
        if channel.startswith("presence-"):
            assert said.keys() == {"auth", "channel_data"}
            assert json.loads(said["channel_data"])["user_id"] == "admin:x"
            assert said["auth"] == FIRST.auth(client.socket_id, channel, said["channel_data"])
        elif channel.startswith("private-encrypted-"):
            secret = base64.b64encode(hashlib.sha256(channel.encode() + MASTER_KEY).digest()).decode()
            assert said == {"auth": FIRST.auth(client.socket_id, channel), "shared_secret": secret}
        else:
            assert said == {"auth": FIRST.auth(client.socket_id, channel)}


def test_what_is_signed_lets_one_in(scene, connect, api):
    for caller, kinds in ((scene.mine, ALLOWED["mine"]), (scene.customer, ALLOWED["customer"]), (scene.admin, ["dashboard", "unlisted"])):
        for kind in sorted(kinds):
            client, channel = connect(), scene.channels()[kind]
            join(client, caller, channel)
            api.publish(channel, "hello", kind)
            client.expect("hello", channel=channel, data=kind)


def test_an_admin_is_a_member_of_presence_channels(scene, connect):
    one, other, channel = connect(), connect(), "presence-" + fresh()
    for client, caller in ((one, scene.admin), (other, scene.fleet.admin("y"))):
        client.ask_for(channel, **caller.channel_auth(client.socket_id, channel).json())
        members = client.joined(channel)
    assert sorted(members["ids"]) == ["admin:x", "admin:y"]
    one.expect("pusher_internal:member_added")


def bodies(channel: str) -> dict[str, tuple[bytes, dict]]:
    fields = {"socket_id": SOCKET, "channel_name": channel}
    return {
        "a form": (urlencode(fields).encode(), FORM),
        "a form with a charset": (urlencode(fields).encode(), {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}),
        "a form in another order": (urlencode(dict(reversed(fields.items()))).encode(), FORM),
        "a form with more": (urlencode({"x": "1"} | fields | {"callback": "f"}).encode(), FORM),
        "a form escaped throughout": (b"socket_id=123%2E456&channel_name=" + "".join(f"%{ord(letter):02x}" for letter in channel).encode(), FORM),
        "JSON": (json.dumps(fields).encode(), {"Content-Type": "application/json"}),
        "JSON with a charset": (json.dumps(fields | {"more": [1]}).encode(), {"Content-Type": "application/json; charset=utf-8"}),
    }


def test_forms_and_JSON_say_the_same(scene):
    channel = scene.channels()["driver mine"]
    for kind, (body, headers) in bodies(channel).items():
        answer = scene.mine.post("/pusher/auth", body, headers=headers)
        assert (answer.status, answer.json()) == (200, {"auth": FIRST.auth(SOCKET, channel)}), kind


@pytest.mark.parametrize("cookie", ["fleet_session={}", "a=b; fleet_session={}; c=d", 'x="y"; fleet_session={}'])
def test_a_cookie_will_do(scene, fleet, cookie):
    channel, guest = scene.channels()["driver mine"], fleet.caller()
    said = {"socket_id": SOCKET, "channel_name": channel}
    answer = guest.post("/pusher/auth", said, headers={"Cookie": cookie.format(scene.mine.bearer)})
    assert (answer.status, answer.json()) == (200, {"auth": FIRST.auth(SOCKET, channel)})
    assert guest.ask("GET", "/api/driver/jobs", headers={"Cookie": cookie.format(scene.mine.bearer)}).status == 200


def test_the_header_goes_before_the_cookie(scene):
    """Who says who he is must not be somebody else by a cookie left over."""
    cookie = {"Cookie": f"fleet_session={scene.admin.bearer}"}
    said = {"socket_id": SOCKET, "channel_name": "private-admin-channel"}
    assert scene.mine.post("/pusher/auth", said, headers=cookie).status == 403
    assert scene.fleet.caller(bearer="nonsense").post("/pusher/auth", said, headers=cookie).status == 401


@pytest.mark.parametrize("path", ["/pusher/auth", "/pusher/user-auth"])
@pytest.mark.parametrize("cookie", ["", "fleet_session=", "other={}", "Fleet_Session={}", "xfleet_session={}", "fleet_session=x{}"])
def test_without_a_token_401(scene, fleet, path, cookie):
    guest = fleet.caller()
    answer = guest.post(path, {"socket_id": SOCKET, "channel_name": "private-drivers-channel"}, headers={"Cookie": cookie.format(scene.mine.bearer)})
    assert answer.status == 401, answer
    assert error_of(path, answer)


def test_user_auth_names_driver_customer_and_admin(scene, connect):
    for caller, expected in ((scene.mine, {"id": f"driver:{scene.mine.subject}", "user_info": {"name": "Dan"}}),
                             (scene.customer, {"id": f"customer:{scene.customer.subject}", "user_info": {"name": "Cleo"}})):
        client = connect()
        said = caller.user_auth(client.socket_id).json()
        assert said.keys() == {"auth", "user_data"}
        assert said["auth"] == FIRST.user_auth(client.socket_id, said["user_data"])
        user = sign_in(client, caller)
        assert expected.items() <= user.items(), user
        assert ("bookings" in user) == (caller is scene.customer)
        assert scene.reference in user.get("bookings", [scene.reference])
    client = connect()
    assert sign_in(client, scene.admin)["id"] == "admin:x"


@pytest.mark.parametrize("body", [b"socket_id=123.456", b'{"socket_id":"123.456"}'], ids=["form", "JSON"])
def test_user_auth_takes_forms_and_JSON(scene, body):
    headers = FORM if body[:1] != b"{" else {"Content-Type": "application/json"}
    said = scene.mine.post("/pusher/user-auth", body, headers=headers).json()
    assert said["auth"] == FIRST.user_auth(SOCKET, said["user_data"])


# Plain names


def test_signed_in_one_may_join_the_plain_names_of_ones_role(scene, connect, api):
    for caller, kinds in ((scene.mine, ALLOWED["mine"]), (scene.customer, ALLOWED["customer"]), (scene.admin, ["dashboard", "driver other", "booking other"])):
        client = connect()
        sign_in(client, caller)
        for kind in sorted(kinds):
            plain = scene.channels()[kind].removeprefix("private-")
            client.subscribe(plain)
            api.publish(plain, "hello", kind)
            client.expect("hello", channel=plain, data=kind)


@pytest.mark.parametrize("who", ["mine", "customer", "ops", None])
def test_and_no_others(scene, connect, api, who):
    client, plain = connect(), []
    if who and who != "ops":
        sign_in(client, getattr(scene, who))
    for kind, channel in scene.channels().items():
        if channel.startswith("private-") and kind not in ALLOWED.get(who, ()) and "unlisted" not in kind and "encrypted" not in kind:
            plain.append(channel.removeprefix("private-"))
            client.ask_for(plain[-1])
            client.expect_refusal(plain[-1])
            # A channel of another kind that no pattern names: for everybody, and no mirror of this one.
            client.subscribe(f"cache-{plain[-1]}")
            client.expect("pusher:cache_miss")
    assert len(plain) >= 6
    for name in plain:
        api.publish([name, f"private-{name}"], "secret")
    hear_nothing(api, client)


def test_what_no_pattern_names_is_for_everybody(connect, api, channel):
    client = connect()
    for name in (channel, "drivers-channel-2", "drivers", "my-driver-42", "admin-channels"):
        client.subscribe(name)
        api.publish(name, "hello")
        client.expect("hello", channel=name)


def test_who_loses_the_job_loses_its_channels(scene, connect, api):
    """Signed in or signed for, by reassignment and by unassignment; others stay."""
    plain, private = connect(), connect()
    customer = scene.fleet.listen(scene.customer, f"tracking-{scene.reference}")
    sign_in(plain, scene.mine)
    plain.subscribe(f"tracking-{scene.reference}")
    plain.subscribe(f"booking-{scene.reference}")
    join(private, scene.mine, f"private-tracking-{scene.reference}")
    scene.admin.assign(scene.job, scene.other.subject)
    for client, names in ((plain, ["booking", "tracking"]), (private, ["private-tracking"])):
        errors = [client.receive() for _ in names]
        assert {message["event"] for message in errors} <= {"pusher:error", "pusher:subscription_error"}, errors
    api.publish([f"tracking-{scene.reference}", f"booking-{scene.reference}"], "position")
    customer.expect("position", channel=f"private-tracking-{scene.reference}")
    hear_nothing(api, plain, private)
    assert scene.mine.channel_auth(SOCKET, f"private-tracking-{scene.reference}").status == 403
    heir = scene.fleet.listen(scene.other, f"tracking-{scene.reference}")
    scene.admin.order(scene.job, "unassign")
    assert heir.receive()["event"] in ("pusher:error", "pusher:subscription_error")
    hear_nothing(api, heir, customer)


@pytest.mark.parametrize("end", ["cancelled", "completed"])
def test_what_has_ended_is_nobodys(scene, connect, api, end):
    """The booking's next order may be another driver's."""
    client, channel = connect(), f"private-booking-{scene.reference}"
    join(client, scene.mine, channel)
    if end == "cancelled":
        scene.admin.order(scene.job, "cancel-enhanced")
    else:
        scene.mine.accept(scene.job)
        for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
            scene.mine.progress(scene.job, step)
    while client.receive()["event"] != "pusher:error":
        pass
    next_order = fresh("J")
    scene.admin.assign(next_order, scene.other.subject, bookingReference=scene.reference)
    scene.other.accept(next_order)
    hear_nothing(api, client)


@pytest.mark.parametrize("end", ["reassigned", "unassigned", "removed", "cancelled", "completed", "renamed"])
def test_an_old_signature_opens_nothing_once_the_right_has_ended(scene, connect, end):
    client, channel = connect(), f"private-tracking-{scene.reference}"
    signed = scene.mine.channel_auth(client.socket_id, channel).json()
    if end == "reassigned":
        scene.admin.assign(scene.job, scene.other.subject)
    elif end == "completed":
        scene.mine.accept(scene.job)
        for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
            scene.mine.progress(scene.job, step)
    elif end == "renamed":
        scene.admin.done("PUT", f"/api/admin/orders/{scene.job}", {"bookingReference": fresh("R")})
    else:
        scene.admin.order(scene.job, {"unassigned": "unassign", "removed": "remove-driver", "cancelled": "cancel-enhanced"}[end])
    client.ask_for(channel, **signed)
    client.expect_refusal(channel)
    assert scene.mine.channel_auth(client.socket_id, channel).status == 403


def test_however_closely_subscription_and_reassignment_meet(scene, connect, api):
    for number in range(40):
        code, client = fresh("J"), connect()
        scene.admin.assign(code, scene.mine.subject)
        channel, signed = f"tracking-{code}", {}
        if number % 2:
            channel, signed = f"private-{channel}", scene.mine.channel_auth(client.socket_id, f"private-{channel}").json()
        else:
            sign_in(client, scene.mine)
        asking = threading.Thread(target=client.ask_for, args=[channel], kwargs=signed)
        asking.start()
        scene.admin.assign(code, scene.other.subject)
        asking.join()
        client.until_pong()
        api.publish(f"tracking-{code}", "position")
        hear_nothing(api, client)


# Tricks


def never_signed(answer: Answer, socket_id: str, channels: list[str]) -> None:
    """The answer is a refusal, and in no case the key to one of these channels."""
    for channel in channels:
        assert FIRST.auth(socket_id, channel).partition(":")[2] not in answer.text, channel
    assert 400 <= answer.status < 500, answer
    assert error_of("/pusher/auth", answer)


def lookalikes(own: str, other: str) -> list[str]:
    """Names that a careless comparison could take for one's own or for nobody's."""
    whole = f"private-driver-{other}"
    return [whole, whole.upper(), f"Private-driver-{other}", f"private-Driver-{other}", f"private-driver-{other} ", f" {whole}", f"{whole}\n", f"{whole}\0",
            f"private-driver-{own},", f"private-driver-{own},{whole}", f"private-driver-{own}, {whole}", f"private-driver-{own}/../driver-{other}",
            f"private-driver-{own}%00", f"private-driver-{own}\0{other}", f"private-driver-{own};{other}", f"private-driver-{own}.", f"private-driver-{own}-",
            f"private-driver-{own}={other}", f"private-driver-{own}@{other}", "private-driver-*", "private-driver-", "private-*", f"private--driver-{other}",
            f"private-private-driver-{other}", f"private-cache-driver-{other}", f"private-encrypted-driver-{other}", f"presence-driver-{other}",
            f"presence-cache-driver-{other}", f"private-encrypted-cache-driver-{other}", f"private-driver%2D{other}", f"private%2Ddriver-{other}",
            f"private-driver-{quote(other)}%20", f"рrivate-driver-{other}", f"private-drіver-{other}", f"private-driver-{own}\u200b",
            f"private-driver-{own[:-1]}", f"private-driver-{own}{own}", f"private-driver-{own.upper() if own != own.upper() else own + 'A'}",
            "".join(chr(0xFEE0 + ord(letter)) if "!" <= letter <= "~" else letter for letter in whole), f"private-driver-{other}\u0301",
            f"#server-to-user-driver:{other}", f"private-#server-to-user-driver:{other}", ":user:", f':user:{{"id":"driver:{other}"}}', "", "private-", "driver",
            "x" * 201, "private-driver-" + "9" * 500]


def test_no_name_looks_enough_like_ones_own(scene, connect, api):
    own, other = scene.mine.subject, scene.other.subject
    client, victim = connect(), scene.fleet.listen(scene.other, f"driver-{other}")
    sign_in(client, scene.mine)
    forbidden = [f"private-driver-{other}", f"driver-{other}"]
    for name in lookalikes(own, other):
        as_form = urlencode({"socket_id": client.socket_id, "channel_name": name}).encode()
        never_signed(scene.mine.post("/pusher/auth", as_form, headers=FORM), client.socket_id, forbidden)
        never_signed(scene.mine.channel_auth(client.socket_id, name), client.socket_id, forbidden)
        client.ask_for(name)
        client.ask_for(name, auth=FIRST.auth(client.socket_id, f"private-driver-{own}"))
    assert all(message["event"] in ("pusher:error", "pusher:subscription_error") or not message["channel"].startswith(("driver-", "private-", "presence-"))
               for message in client.until_pong())
    api.publish([f"driver-{other}"], "secret")
    victim.expect("secret", channel=f"private-driver-{other}")
    hear_nothing(api, client)


@pytest.mark.parametrize("socket_id", ["", "1", "1.", ".1", "1.1.1", "a.b", "1.1 ", " 1.1", "1.1\n", "-1.1", "1,1", "1.1:private-driver-43", "1.1:private-driver-43:",
                                       "1.1::user::{}", "１.１", "1.1\0", "1" * 300 + ".1", 1.1, 11, None, ["1.1"], {"a": "1.1"}, True], ids=repr)
def test_a_socket_id_is_two_numbers(scene, socket_id):
    """What is signed is `SOCKET:CHANNEL`: a socket id with a colon would choose the channel."""
    for path, more in (("/pusher/auth", {"channel_name": "private-drivers-channel"}), ("/pusher/user-auth", {})):
        answer = scene.mine.post(path, {"socket_id": socket_id} | more)
        assert answer.status == 400, answer
        assert "socket_id" in error_of(path, answer)


@pytest.mark.parametrize("channel", [None, 1, [], ["private-drivers-channel"], {}, True], ids=json.dumps)
def test_a_channel_name_is_text(scene, channel):
    answer = scene.mine.post("/pusher/auth", {"socket_id": SOCKET, "channel_name": channel})
    assert answer.status == 400 and "channel_name" in error_of("/pusher/auth", answer)


def test_fields_that_come_twice_do_not_confuse(scene):
    own, other = (f"private-driver-{who.subject}" for who in (scene.mine, scene.other))
    for first, second in ((own, other), (other, own)):
        form = f"socket_id={SOCKET}&channel_name={first}&channel_name={second}".encode()
        twice = f'{{"socket_id":"{SOCKET}","channel_name":"{first}","channel_name":"{second}"}}'.encode()
        for answer in (scene.mine.post("/pusher/auth", form, headers=FORM), scene.mine.post("/pusher/auth", twice),
                       scene.mine.post(f"/pusher/auth?socket_id={SOCKET}&channel_name={other}", f"socket_id={SOCKET}&channel_name={first}".encode(), headers=FORM)):
            assert FIRST.auth(SOCKET, other) not in answer.text
            assert answer.status in (200, 400, 403), answer


def test_what_a_driver_is_signed_opens_nothing_else(scene, connect):
    client, own, other = connect(), f"private-driver-{scene.mine.subject}", f"private-driver-{scene.other.subject}"
    auth = scene.mine.channel_auth(client.socket_id, own).json()["auth"]
    user = scene.mine.user_auth(client.socket_id).json()
    for channel, said in ((other, {"auth": auth}), (other, {"auth": user["auth"]}), (other, {"auth": user["auth"], "channel_data": user["user_data"]}),
                          (":user:", {"auth": user["auth"], "channel_data": user["user_data"]}), (f"presence-driver-{scene.other.subject}", {"auth": auth})):
        client.ask_for(channel, **said)
        client.expect_refusal(channel)
    stranger = connect()
    stranger.ask_for(own, auth=auth)
    stranger.expect_refusal(own)


def test_nobody_is_terminated_into_another_user(scene, connect, api):
    """A second sign-in is refused, so that no connection collects the rights of two."""
    client = connect()
    sign_in(client, scene.mine)
    client.send("pusher:signin", scene.other.user_auth(client.socket_id).json())
    client.expect_error()
    client.ask_for(f"driver-{scene.other.subject}")
    client.expect_refusal(f"driver-{scene.other.subject}")
    client.subscribe(f"driver-{scene.mine.subject}")


# Browsers


@pytest.mark.parametrize("path, method", [("/pusher/auth", "POST"), ("/pusher/user-auth", "POST"), ("/api/admin/orders/X1/assign-driver", "POST"),
                                          ("/api/admin/orders/X1", "PUT"), ("/api/driver/jobs", "GET"), ("/api/ops/stats", "GET")])
def test_pages_of_allowed_origins_may_call(scene, fleet, path, method):
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "authorization,content-type,idempotency-key,if-match,x-correlation-id"}
    guest = fleet.caller()
    answer = guest.call("OPTIONS", path, headers=asked | {"Origin": "https://dash.example"})
    assert answer.status in (200, 204), answer
    assert answer.headers["access-control-allow-origin"] == "https://dash.example"
    assert method in answer.headers["access-control-allow-methods"].split(", ")
    taken = answer.headers["access-control-allow-headers"].lower().split(", ")
    assert {"authorization", "content-type", "idempotency-key", "if-match", "x-correlation-id"} <= set(taken), taken
    for caller in (guest, scene.admin):
        answer = caller.ask(method, path, {} if method != "GET" else None, headers={"Origin": "https://dash.example"})
        assert answer.headers.get("access-control-allow-origin") == "https://dash.example", answer
    exposed = answer.headers.get("access-control-expose-headers", "").lower()
    assert "x-correlation-id" in exposed and "idempotency-replayed" in exposed, exposed
    for origin in ("https://evil.example", "null"):
        answer = guest.call("OPTIONS", path, headers=asked | {"Origin": origin})
        assert "access-control-allow-origin" not in answer.headers
        assert "access-control-allow-origin" not in guest.ask(method, path, headers={"Origin": origin}).headers
