"""A dashboard with nothing but the encrypted session cookie of its users."""

import time

import pytest

from harness.fleet import JWT, Caller, unique_id
from harness.sessions import CBC, GCM, session_claims, session_cookie

SECRET, OLD = "the-secret-of-the-dashboard-32-bytes", "the-secret-before-it-was-changed-32b"
NAME = "next-auth.session-token"
V5_NAMES = ["authjs.session-token", "__Secure-authjs.session-token"]
SETTINGS = {"sections": {"auth": {"jwt": JWT, "session": {
    "secrets": [SECRET, OLD], "roles": {"ops": ["Support"]}}}}}
INVALID = "The session cookie is invalid"


@pytest.fixture(scope="module")
def v5(tmp_path_factory):
    from harness.gateway import Gateway
    gateway = Gateway(tmp_path_factory.mktemp("v5"), sections={"auth": {"jwt": JWT, "session": {
        "cookies": V5_NAMES, "secret": SECRET, "scheme": "v5"}}})
    yield gateway
    gateway.stop()


@pytest.fixture
def order(fleet, admin):
    """The code of an order with a driver."""
    code = unique_id("O")
    admin.assign(code, fleet.driver().subject)
    return code


def v4_cookie(claims=None, secret=SECRET, **more) -> str:
    return session_cookie(claims or session_claims(), "v4", secret, NAME, **more)


def unassign(fleet, code: str, cookies: str, **headers) -> int:
    response = fleet.caller().post(f"/api/admin/orders/{code}/unassign", {},
                                   headers={"Cookie": cookies} | headers)
    return response.status


def test_the_dashboard_unassigns_with_its_cookie_only(fleet, admin, order):
    assert unassign(fleet, order, f"theme=dark; {NAME}={v4_cookie()}; x=y") == 200
    assert admin.get_order(order)["status"] == "available"
    actors = fleet.gateway.query(
        "SELECT actor FROM audit WHERE order_code = ? AND action = 'unassign'", order)
    assert actors == [("admin:u7",)]


@pytest.mark.parametrize("name, secret", [(NAME, OLD), (f"__Secure-{NAME}", SECRET)])
def test_both_names_and_both_secrets_are_accepted(fleet, order, name, secret):
    assert unassign(fleet, order, f"{name}={v4_cookie(secret=secret)}") == 200


@pytest.mark.parametrize("name", V5_NAMES)
@pytest.mark.parametrize("cipher", [GCM, CBC])
def test_auth_js_5(v5, closing, name, cipher):
    from harness.fleet import Fleet
    fleet = Fleet(v5, closing)
    cookie = session_cookie(session_claims(), "v5", SECRET, name, cipher, {"kid": "thumbprint"})
    caller = fleet.caller()
    path = "/api/admin/orders/none"
    assert caller.request("GET", path, headers={"Cookie": f"{name}={cookie}"}).status == 404
    other = next(each for each in V5_NAMES if each != name)
    caller.expect_error(401, "GET", path, headers={"Cookie": f"{other}={cookie}"})
    caller.expect_error(401, "GET", path, headers={"Cookie": f"{NAME}={v4_cookie()}"})


def test_chunks_are_joined_in_order(fleet, order):
    cookie = v4_cookie(session_claims(picture="x" * 3_000))
    chunks = [cookie[index:index + 500] for index in range(0, len(cookie), 500)]
    assert 8 <= len(chunks) <= 10
    pairs = [f"{NAME}.{number}={chunk}" for number, chunk in enumerate(chunks)]
    assert unassign(fleet, order, "; ".join(pairs[:3] + pairs[4:])) == 401
    assert unassign(fleet, order, "; ".join(reversed(pairs))) == 200
    size = len(cookie) // 10
    many = [cookie[index:index + size] for index in range(0, len(cookie), size)]
    assert len(many) == 11
    assert unassign(fleet, order, "; ".join(
        f"{NAME}.{number}={chunk}" for number, chunk in enumerate(many))) == 401


@pytest.mark.parametrize("claims, status", [
    ({"role": "support"}, 403), ({"role": "USER"}, 403), ({"role": "DRIVER"}, 403), ({"role": None}, 403),
    ({"role": ["USER", "admin"]}, 200), ({"role": ["USER"]}, 403), ({"role": {"name": "ADMIN"}}, 403),
    ({"nbf": int(time.time()) + 3_600}, 401), ({"nbf": int(time.time()) - 10}, 200), ({"nbf": "now"}, 401),
    ({"sub": 7}, 200), ({"sub": None}, 200), ({"sub": "", "email": None}, 401),
    ({"exp": None}, 401), ({"exp": "soon"}, 401), ({"sub": "x" * 1_000}, 401),
])
def test_claims(fleet, order, claims, status):
    assert unassign(fleet, order, f"{NAME}={v4_cookie(session_claims(**claims))}") == status


@pytest.mark.parametrize("claim, seconds, status", [
    ("exp", -120, 401), ("exp", -30, 200), ("nbf", 120, 401), ("nbf", 30, 200)])
def test_clocks_may_differ_by_a_minute(fleet, order, claim, seconds, status):
    claims = session_claims(**{claim: int(time.time()) + seconds})
    assert unassign(fleet, order, f"{NAME}={v4_cookie(claims)}") == status


def test_ops_users_see_the_statistics(fleet):
    cookie = {"Cookie": f"{NAME}={v4_cookie(session_claims('SUPPORT'))}"}
    assert fleet.caller().request("GET", "/api/ops/stats", headers=cookie).status == 200


@pytest.mark.parametrize("make", [
    lambda: v4_cookie(secret="another-secret-of-more-than-32-bytes"),
    lambda: v4_cookie(header={"zip": "DEF"}), lambda: v4_cookie(header={"crit": ["b64"]}),
    lambda: v4_cookie(header={"alg": "A256KW"}), lambda: v4_cookie(header={"enc": "A128GCM"}),
    lambda: v4_cookie(header={"enc": CBC}),
    lambda: session_cookie(session_claims(), "v4", SECRET, NAME, CBC),
    lambda: v4_cookie()[:-1], lambda: v4_cookie() + "A", lambda: v4_cookie() + ".",
    lambda: "a.b.c.d.e", lambda: "....", lambda: ".",
    lambda: ".".join(reversed(v4_cookie().split("."))),
])
def test_other_cookies_are_invalid(fleet, order, make):
    response = fleet.caller().post(f"/api/admin/orders/{order}/unassign", {},
                                   headers={"Cookie": f"{NAME}={make()}"})
    assert response.status == 401 and response.json()["error"] == INVALID


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b"\x00\xff", b'{"sub":"1","sub":"2"}'])
def test_genuine_cookies_with_other_content_are_refused(fleet, order, content):
    assert unassign(fleet, order, f"{NAME}={v4_cookie(content) if content else v4_cookie(b' ')}") == 401


def test_a_present_authorization_header_decides_alone(fleet, order):
    cookie = f"{NAME}={v4_cookie()}"
    assert unassign(fleet, order, cookie, Authorization="Bearer a.b.c") == 401
    assert unassign(fleet, order, cookie, Authorization=f"Bearer {fleet.driver().bearer}") == 403


def test_pages_of_other_sites_cannot_use_the_cookie(fleet, order):
    cookie = f"{NAME}={v4_cookie()}"
    assert unassign(fleet, order, cookie, Origin="https://evil.example") == 401
    assert unassign(fleet, order, cookie, **{"Sec-Fetch-Site": "cross-site"}) == 401
    assert unassign(fleet, order, cookie, **{"Sec-Fetch-Site": "same-origin"}) == 200


def test_a_planted_cookie_does_not_replace_a_guarded_one(fleet, order):
    """A neighbouring host, or who controls the network, can set only the plain name."""
    guarded = f"__Secure-{NAME}={v4_cookie()}"
    planted = f"{NAME}={v4_cookie(session_claims('SUPPORT', sub='mallory'))}"
    assert unassign(fleet, order, planted) == 403
    for cookies in (f"{guarded}; {planted}", f"{planted}; {guarded}"):
        assert fleet.caller().request("GET", f"/api/admin/orders/{order}", headers={"Cookie": cookies}).status == 200
    # A genuine session without a role is not replaced by another user's, either.
    powerless = f"__Secure-{NAME}={v4_cookie(session_claims('USER'))}"
    assert unassign(fleet, order, f"{NAME}={v4_cookie()}; {powerless}") == 403
    stale = f"__Secure-{NAME}={v4_cookie(session_claims(exp=1))}"
    assert unassign(fleet, order, f"{NAME}={v4_cookie()}; {stale}") == 200


def test_each_cookie_of_a_name_is_tried(fleet, order):
    """A browser sends several if they were set for different paths or domains."""
    good, stale = v4_cookie(), v4_cookie(session_claims(exp=1))
    for values in ([stale, good], [good, stale], ["x", stale, "y", good]):
        cookies = "; ".join(f"{NAME}={value}" for value in values)
        assert fleet.caller().request("GET", f"/api/admin/orders/{order}", headers={"Cookie": cookies}).status == 200
    half = len(good) // 2
    chunks = [(0, stale[:half]), (0, good[:half]), (1, stale[half:]), (1, good[half:])]
    cookies = "; ".join(f"{NAME}.{number}={chunk}" for number, chunk in chunks)
    assert fleet.caller().request("GET", f"/api/admin/orders/{order}", headers={"Cookie": cookies}).status == 200
    assert unassign(fleet, order, "; ".join([f"{NAME}=x"] * 4 + [f"{NAME}={good}"])) == 401, "four are tried"


def test_requests_with_tls_accept_cookies_of_secure_pages_only(start_gateway, closing):
    """Behind a proxy that terminates TLS. Who controls the network can serve http:// pages of the host."""
    gateway = start_gateway(server={"behind_proxy": True, "trusted_proxies": ["127.0.0.1"]}, **SETTINGS)
    caller = closing(Caller(gateway))
    for scheme, origin, status in [("https", "http://fleet.example.com", 401), ("https", "https://fleet.example.com", 404),
                                   ("https", "https://fleet.example.com:443", 404), ("http", "http://fleet.example.com", 404),
                                   ("https", "http://fleet.example.com:443", 401)]:
        response = caller.request("GET", "/api/admin/orders/none", headers={
            "Cookie": f"{NAME}={v4_cookie()}", "Origin": origin, "Host": "fleet.example.com", "X-Forwarded-Proto": scheme})
        assert response.status == status, (scheme, origin, response)


def test_a_stale_cookie_of_the_other_name_does_not_hide_the_good_one(fleet, order):
    assert unassign(fleet, order, f"{NAME}=stale; __Secure-{NAME}={v4_cookie()}") == 200


def test_without_a_secret_the_cookie_is_not_read(start_gateway, closing):
    from harness.fleet import SECTIONS, Fleet
    fleet = Fleet(start_gateway(sections=SECTIONS), closing)
    error = fleet.caller().expect_error(401, "GET", "/api/ops/stats",
                                        headers={"Cookie": f"{NAME}={v4_cookie()}"})
    assert error == "Session cookies are off: set auth.session.secret, or send Authorization: Bearer and a JWT"


def test_the_secret_is_in_no_log_line_and_no_report(fleet, order):
    unassign(fleet, order, f"{NAME}={v4_cookie()}")
    assert SECRET not in fleet.gateway.log() and OLD not in fleet.gateway.log()


def test_metrics_are_open_to_the_same_cookies_as_the_operators_endpoints(start_gateway, closing):
    gateway = start_gateway(sections=SETTINGS["sections"] | {"metrics": {"token": "the-token"}})
    caller = closing(Caller(gateway))
    for claims, status in ((session_claims(), 200), (session_claims(role="Support"), 200), (session_claims(role="USER"), 403)):
        headers = {"Cookie": f"{NAME}={v4_cookie(claims)}"}
        for path in ("/metrics", "/api/ops/stats"):
            assert caller.request("GET", path, headers=headers).status == status, (claims, path)
    crossing = {"Cookie": f"{NAME}={v4_cookie()}", "Origin": "https://evil.example"}
    for path in ("/metrics", "/api/ops/stats"):
        assert caller.request("GET", path, headers=crossing).status == 401
        assert caller.request("GET", path, headers={"Cookie": f"{NAME}=x"}).status == 401
