"""Invalid and hostile requests: rejected with the right status and message, without effect on other
clients.
"""

import contextlib
import json
import random
import unicodedata
from http.client import HTTPConnection

import pytest

from harness.api import Response
from harness.apps import TIMEOUT
from harness.concurrency import run_concurrently
from harness.fleet import SETTINGS as FLEET, Caller, error_message, token, unique_id
from harness.wire import Wire, request

SETTINGS = {"limits": {"fleet_commands_per_second": 0},
            "sections": FLEET["sections"] | {"metrics": {"token": "metrics-token"}}}

TEXT, NAME, NUMBER = "text", "name", "number"
ORDER = {"bookingId": NAME, "bookingReference": NAME, "customerId": NAME, "customerName": TEXT,
         "pickupAddress": TEXT, "dropoffAddress": TEXT, "scheduledAt": "time", "totalGBP": NUMBER}
ROUTE = {"routeNumber": TEXT, "bookingsCount": "count", "dropsCount": "count",
         "earningsAdjustment": NUMBER}
ACTION = {"driverId": NAME, "reason": TEXT, "idempotencyKey": "key"}
REPORT = {"notificationId": NAME, "entityId": NAME, "timestamp": "time", "type": "type",
          "event": "event"}
# Method, path, role, the fields of the body. `{}` is an id.
ENDPOINTS = [
    ("POST", "/api/admin/orders/{}/assign-driver", "admin", ACTION | {"driverName": TEXT} | ORDER),
    ("POST", "/api/admin/orders/{}/unassign", "admin", ACTION | ORDER),
    ("POST", "/api/admin/orders/{}/cancel-enhanced", "admin", ACTION | ORDER),
    ("POST", "/api/admin/orders/{}/remove-driver", "admin", ACTION | ORDER),
    ("PUT", "/api/admin/orders/{}", "admin", ORDER), ("GET", "/api/admin/orders/{}", "admin", None),
    ("POST", "/api/admin/routes/{}/assign-driver", "admin", ACTION | {"driverName": TEXT} | ROUTE),
    ("POST", "/api/admin/routes/{}/unassign", "admin", ACTION | ROUTE),
    ("POST", "/api/admin/routes/{}/cancel", "admin", ACTION | ROUTE),
    ("POST", "/api/admin/routes/{}/drops/D1/remove", "admin", ACTION | ROUTE),
    ("PUT", "/api/admin/routes/{}", "admin", ROUTE), ("GET", "/api/admin/routes/{}", "admin", None),
    ("POST", "/api/admin/notifications", "admin", {"type": "type", "to": "to", "data": "object"}),
    ("POST", "/api/driver/jobs/{}/accept", "driver", {"idempotencyKey": "key"}),
    ("POST", "/api/driver/routes/{}/accept", "driver", {"idempotencyKey": "key"}),
    ("PUT", "/api/driver/jobs/{}/progress", "driver",
     {"step": "step", "notes": TEXT, "latitude": NUMBER, "longitude": NUMBER}),
    ("POST", "/api/driver/notifications/log", "driver", REPORT),
    ("POST", "/api/driver/notifications/read", "driver", {"ids": "ids"}),
    ("GET", "/api/driver/jobs", "driver", None),
    ("GET", "/api/driver/notifications", "driver", None),
    ("POST", "/pusher/auth", "driver", {"socket_id": "socket", "channel_name": "channel"}),
    ("POST", "/pusher/user-auth", "driver", {"socket_id": "socket"}),
    ("GET", "/api/ops/stats", "ops", None), ("GET", "/api/ops/notifications", "ops", None),
    ("GET", "/api/ops/notifications/{}", "ops", None)]
ENDPOINTS_WITH_BODY = [endpoint for endpoint in ENDPOINTS if endpoint[3]]
NOT_NULL = {"driverId", "to", "data", "step", "notificationId", "entityId", "timestamp", "ids",
            "socket_id", "channel_name"}

SQL = ["'; DROP TABLE orders; --", "\" OR \"\"=\"", "1); DELETE FROM notifications; --",
       "' UNION SELECT name FROM sqlite_master --", "%' ESCAPE '\\", "x'00'"]
STRANGE = ["\0", "a\0b", "🚚" * 50, "\u202e\u200b", "\x7f\x1b[2J", "e\u0301" * 40, "{{}}${HOME}",
           "<script>", "../../etc/passwd", "%00%2e%2e", "x" * 5_000, "\r\nX-Evil: 1", "null",
           "\ufeff"]


class Bodies:
    """Draws random bodies, with the expected outcome of each."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)

    def valid(self, kind: str):
        dice = self.dice
        return {
            TEXT: "t", NAME: f"n{dice.randrange(30)}", NUMBER: dice.choice([0, 1, -2.5]),
            "count": dice.randrange(9), "time": "2026-01-01T00:00:00Z", "key": f"k{dice.random()}",
            "type": "DRIVER_APPROVED", "event": "received", "to": {"driver": "n1"},
            "object": {"a": 1}, "step": "en_route", "ids": ["x"],
            "socket": "1.2", "channel": "private-drivers-channel"}[kind]

    def invalid(self, kind: str, name: str):
        """Returns a value of another type. Some backends have whole numbers as ids of drivers."""
        if name == "driverId":
            return self.dice.choice([-1, 1.5, True, False, [], ["x"], {}])
        values = {"text": ["x"], "number": [7, -1, 1.5, 10**30],
                  "other": [True, False, [], [[]], ["x"], {}, {"a": {"b": []}}]}
        if kind in (NUMBER, "count"):
            return self.dice.choice(values["text"] + values["other"])
        if kind in ("to", "object"):
            return self.dice.choice(values["text"] + values["number"] + [True, [], [[]]])
        if kind == "ids":
            return self.dice.choice(
                values["text"] + values["number"] + [True, {}, [1], [None], [[]]])
        return self.dice.choice(values["number"] + values["other"])

    def draw(self, fields: dict) -> tuple[bytes, str | None]:
        """Returns a body, and the field that a 400 must name; "" for a 400 that names none, None if
        both 200 and 400 are correct.
        """
        dice = self.dice
        body = {name: self.valid(kind) for name, kind in fields.items() if dice.random() < 0.8
                or name in NOT_NULL | {"type", "event"}}
        name = dice.choice(list(fields))
        draw = dice.randrange(10)
        if draw <= 2:
            # Only one error, so that it is clear which field must be named.
            return json.dumps(body | {name: self.invalid(fields[name], name)}).encode(), name
        if draw == 3:
            return dice.choice(
                [b"[]", b"null", b"1", b'"x"', b"true", b"[{}]", b"1e999", b"-", b"{}{}", b"{} x",
                 b"\xff\xfe{}", b"{'a':1}", b'{"a"}', b'{"a":}', b"{", b" ", b'{"a":01}',
                 b'{"a":"\\x"}', b"[" * 3000, b'{"a":' * 3000]), ""
        whole = json.dumps(body, ensure_ascii=dice.random() < 0.5).encode()
        comma = b"," if body else b""
        if draw == 9:
            return whole, None
        if draw == 4:
            whole = whole if len(whole) > 2 else b'{"a":1}'
            return whole[:dice.randrange(1, len(whole) - 1)], ""
        if draw == 5:
            return json.dumps(body
                              | {each: dice.choice(SQL) for each in fields
                                 if dice.random() < 0.7}).encode(), None
        if draw == 6:
            return json.dumps(body
                              | {name: dice.choice(STRANGE),
                                 dice.choice(STRANGE): dice.choice(STRANGE)}).encode(
                "utf-8", "surrogatepass"), None
        if draw == 7:
            return whole[:-1] + b'%s"%s":%s}' % (comma, name.encode(),
                                                 json.dumps(
                self.invalid(fields[name], name)).encode()), None
        number = dice.choice(
            [b"1e999", b"-1e999", b"1" * 400, b"1e-999", b"0." + b"9" * 500, b"-0",
             b"9223372036854775808", b"1E400"])
        deep = b"[" * 200 + b"]" * 200
        return whole[:-1] + b'%s"%s":%s,"unknown":%s}' % (comma, name.encode(), number, deep), None


def check(path: str, response: Response, named: str | None, body: bytes) -> None:
    description = f"{path} {body[:300]!r}: {response}"
    assert response.status == 200 or 400 <= response.status < 500, description
    if response.status != 200:
        error = error_message(path, response)
        if named is not None:
            assert response.status == 400, description
            assert named in error, description
        for word in ("sqlite", "SQL", "syntax error", "Swift", "fatal", "Optional("):
            assert word not in error or word in body.decode(errors="replace"), description
    else:
        assert named is None, description
        response.json()


def test_ten_thousand_random_bodies(gateway, fleet, control_client):
    """Seeded; a failure prints the request. Each of four workers uses separate connections."""
    def work(seed: int) -> None:
        bodies, callers = (Bodies(seed),
                           {role: Caller(gateway, role, "n1") for role in ("admin", "driver")})
        try:
            for _ in range(2500):
                method, path, role, fields = bodies.dice.choice(ENDPOINTS_WITH_BODY)
                path = path.replace("{}", f"n{bodies.dice.randrange(30)}")
                body, named = bodies.draw(fields)
                check(path, callers[role].request(method, path, body), named, body)
        finally:
            for caller in callers.values():
                caller.close()

    run_concurrently(work, range(4))
    admin = fleet.admin()
    admin.assign(unique_id("after"), "n1")
    assert admin.expect_ok("GET", "/api/ops/notifications?limit=1")["notifications"]


@pytest.mark.parametrize("sql", SQL)
def test_sql_is_stored_as_text(fleet, sql):
    """Either stored and sent unchanged, or rejected as an invalid id."""
    admin, code, driver = fleet.admin(), unique_id("O"), unique_id("d")
    texts = dict.fromkeys(["customerName", "pickupAddress", "dropoffAddress", "driverName"], sql)
    order = admin.assign(code, driver, **texts)["data"]["order"]
    assert {name: order[name] for name in texts} == texts and admin.get_order(code) == order
    admin.order(code, "unassign", reason=sql)
    found = fleet.driver(driver).expect_ok("GET",
                                           "/api/driver/notifications")["data"]["notifications"]
    assert found[1]["data"]["reason"] == sql
    for field in ("driverId", "bookingId", "bookingReference", "customerId"):
        assert field in admin.expect_error(400, "POST", f"/api/admin/orders/{code}/assign-driver",
                                           {"driverId": "d"} | {field: sql})
    body = {"idempotencyKey": sql, "customerName": "Ann"}
    assert admin.put(f"/api/admin/orders/{code}", body).status == 200
    again = admin.put(f"/api/admin/orders/{code}", body)
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("text", [text for text in STRANGE if "\0" not in text],
                         ids=lambda text: ascii(text[:12]))
def test_text_is_returned_unchanged(fleet, text):
    admin, code = fleet.admin(), unique_id("O")
    client = fleet.listen(admin, f"driver-{code}")
    hidden = {"Cc", "Cf", "Zl", "Zp"} & {unicodedata.category(each) for each in text if each not in "\u200c\u200d"}
    if hidden:
        assert "customerName" in admin.expect_error(400, "POST", f"/api/admin/orders/{code}/assign-driver",
                                                    {"driverId": code, "customerName": text}), "no name"
    field = "pickupAddress" if hidden else "customerName"
    admin.assign(code, code, **{field: text})
    assert admin.get_order(code)[field] == text == client.expect_data("job-assigned")[field]


# The order of checks


def raw(gateway, closing, method: str, path: str, body: bytes, bearer: str | None) -> Response:
    """Sends a request on a new connection, which the gateway may close before everything is sent.
    """
    peer = closing(Wire(gateway))
    headers = ["Content-Type: application/json",
               *([] if body or method == "POST" else ["Content-Length: 0"])] + (
        [f"Authorization: Bearer {bearer}"] if bearer else [])
    peer.send_ignoring_reset(request(method, path, body, headers))
    response = peer.read_response()
    assert response, f"no response to {method} {path}"
    return response


TOO_LONG = b'{"x":"' + b"x" * 5_000_000
METHODS = {"GET", "POST", "PUT", "DELETE", "PATCH"}


def others(role: str, path: str) -> list[str]:
    """Returns the roles that are not authorized."""
    if path.startswith("/pusher/"):
        return []
    return {"admin": ["driver", "customer", "ops"], "driver": ["admin", "customer", "ops"],
            "ops": ["driver", "customer"]}[role]


@pytest.mark.parametrize("method, path, role, fields", ENDPOINTS,
                         ids=lambda value: value if isinstance(value, str) else "")
def test_order_of_checks_is_401_403_405_413_400(gateway, fleet, closing, method, path, role,
                                                fields):
    """Each request contains all errors that are checked after the one it is rejected for."""
    path, bad_path = path.replace("{}", unique_id("unknown")), path.replace("{}", "not%20a%20name")
    authorized, anonymous = fleet.caller(role, "n1"), fleet.caller()
    allowed = {each[0] for each in ENDPOINTS if each[1].count("/") == path.count("/")
               and matches(each[1], path)}
    wrong_method = sorted(METHODS - allowed)[0]
    for each in (method, wrong_method):
        response = raw(gateway, closing, each, bad_path,
                       TOO_LONG if fields and each == "POST" else b"", None)
        assert (response.status, bool(error_message(path, response))) == (401, True), response
    for other in others(role, path):
        response = raw(gateway, closing, wrong_method, bad_path, b"",
                       fleet.caller(other, "n1").bearer)
        assert (response.status, bool(error_message(path, response))) == (403, True), response
    for each in sorted(METHODS - allowed):
        response = authorized.request(each, path)
        assert response.status == 405 and error_message(path, response), response
        assert {name.strip()
                for name in response.headers["allow"].split(",")} - {
            "OPTIONS", "HEAD"} == allowed, response
    if fields:
        response = raw(gateway, closing, method, bad_path, TOO_LONG + b'"}', authorized.bearer)
        assert response.status == 413 and error_message(path, response), response
        for body in (b"{", b"[]", b"null"):
            assert authorized.expect_error(400, method, path, body)
    if bad_path != path and method != "GET":
        assert authorized.request(method, bad_path, b"{}").status in (400, 404)
    anonymous.expect_error(401, method, path)


def matches(pattern: str, path: str) -> bool:
    return all(one in ("{}", other) for one, other in zip(pattern.split("/"), path.split("/")))


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/api/admin/orders/{}", None), ("GET", "/api/admin/routes/{}", None),
    ("POST", "/api/driver/jobs/{}/accept", {}), ("POST", "/api/driver/routes/{}/accept", {}),
    ("PUT", "/api/driver/jobs/{}/progress", {"step": "en_route"}),
    ("GET", "/api/ops/notifications/{}", None)])
def test_404_for_unknown_ids_comes_after_400(fleet, method, path, body):
    caller = fleet.caller("driver" if "driver" in path else "admin", "n1")
    path = path.replace("{}", unique_id("unknown"))
    if body is not None:
        caller.expect_error(400, method, path, b"{")
    caller.expect_error(404, method, path, body)


@pytest.mark.parametrize("group",
                         ["/api/admin/", "/api/driver/", "/api/ops/", "/pusher/", "/api/auth/",
                          "/app-", "/api/delivery/"])
def test_404_for_unknown_paths_comes_after_401_and_403(fleet, group):
    path, authorized = f"{group}nowhere", {"/api/driver/": "driver"}.get(group, "admin")
    for method in ("GET", "POST"):
        response = fleet.caller(authorized, "n1").request(method, path)
        assert response.status == 404, response
        if group != "/api/delivery/":
            assert error_message(path, response)
        if group in ("/api/admin/", "/api/driver/", "/api/ops/", "/pusher/"):
            fleet.caller().expect_error(401, method, path)
        if group in ("/api/admin/", "/api/driver/", "/api/ops/"):
            fleet.caller("customer", "n1").expect_error(403, method, path)


@pytest.mark.parametrize("path", [
    "/api/admin/orders", "/api/admin/orders/", "/api/admin/orders/X/", "/api/admin/orders/X/assign",
    "/api/admin/orders/X/assign-driver/", "/api/admin/orders/X/Unassign",
    "/api/admin/orders//unassign", "/api/Admin/orders/X/unassign",
    "/api/admin/routes/X/drops//remove", "/api/admin/routes/X/drops/D/removed",
    "/api/admin/routes/X/remove-driver", "/api/admin/routes/X/cancel-enhanced",
    "/api/admin/orders/X/cancel", "/api/admin/orders/X/unassign/extra"])
def test_similar_paths_are_rejected(fleet, path):
    assert fleet.admin().post(path, {"driverId": "d"}).status in (400, 404, 405)


@pytest.mark.parametrize("content_type",
                         ["text/plain", "application/xml", "multipart/form-data; boundary=x",
                          "application/x-www-form-urlencoded", "",
                          "application/json; charset=utf-16"])
def test_other_content_types_are_read_as_json_or_rejected(fleet, control_client, content_type):
    response = fleet.admin().post(f"/api/admin/orders/{unique_id('O')}/assign-driver",
                                  {"driverId": "d1"}, headers={"Content-Type": content_type})
    assert response.status in (200, 400, 415), response
    response = fleet.admin().post("/api/admin/orders/X/assign-driver", b"driverId=d1",
                                  headers={"Content-Type": content_type})
    assert response.status in (400, 415), response


def test_query_parameters_are_no_body_fields(fleet):
    path = f"/api/admin/orders/{unique_id('O')}/assign-driver?driverId=d1"
    assert "driverId" in fleet.admin().expect_error(400, "POST", path, {})


# Framing


def send_post(gateway, *headers: tuple[str, str], body: bytes = b"") -> tuple[int, dict]:
    """Sends a POST with only these headers. Returns its status and body."""
    with contextlib.closing(
            HTTPConnection(gateway.host, gateway.port, timeout=TIMEOUT)) as connection:
        connection.putrequest("POST", "/api/admin/orders/NoSuch/unassign",
                              skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        assert response.getheader("X-Correlation-ID")
        return response.status, json.loads(response.read())


def test_absent_body_is_an_empty_object(gateway):
    """curl -X POST sends no Content-Length."""
    bearer = ("Authorization", "Bearer " + token("admin", "ada"))
    assert send_post(gateway, bearer) == (409,
                                          {"success": False, "error": "Order NoSuch has no driver"})
    assert send_post(gateway)[0] == 401


def test_unreadable_requests_are_rejected_in_the_envelope(gateway):
    status, response = send_post(gateway, ("Transfer-Encoding", "gzip"))
    assert status == 501 and response.keys() == {"success", "error"}
    status, response = send_post(gateway, ("Content-Length", "nine"))
    assert status == 400 and "Content-Length" in response["error"]
    status, response = send_post(gateway, ("Authorization", "Bearer " + "x" * 17_000),
                                 ("Content-Length", "0"))
    assert status == 431 and response["success"] is False
