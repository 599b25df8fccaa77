"""Token verification: valid tokens are accepted, all others are rejected."""

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import FIRST
from harness.fleet import Caller, error_message, wait_until
from harness.gateway import Gateway, check_log, expect_invalid_config, run, write_config
from harness.jwks import KeyServer, key_set
from harness.tokens import (ES256, HS256, RS256, SECRET, Unsigned, base64url, claims, encode,
                            firebase_claims)
from harness.wire import Wire, request

ISSUER, OTHER_ISSUER = "https://one.example", "https://two.example"
RSA, OTHER_RSA, EC = RS256(), RS256(), ES256()


def status(gateway, token: str) -> int:
    """Returns the status that a driver with this token gets; rejections must use their group's
    envelope.
    """
    caller = Caller(gateway, bearer=token)
    try:
        response = caller.request("GET", "/api/driver/jobs")
    finally:
        caller.close()
    if response.status != 200:
        assert error_message("/api/driver/jobs", response)
    return response.status


def configured(*jwt: dict, **auth) -> dict:
    """Returns a gateway's settings; several issuers are a list, one is a map."""
    return {"sections": {"auth": {"jwt": jwt[0] if len(jwt) == 1 else list(jwt)} | auth}}


@pytest.fixture
def keys(closing):
    """Starts key servers: `keys(jwks=…)` serves the document at /jwks."""
    return lambda **documents: closing(KeyServer(**documents))


# Each algorithm


@pytest.mark.parametrize("signer", [HS256(), RSA, EC], ids=["HS256", "RS256", "ES256"])
def test_configured_key_verifies_tokens(start_gateway, signer):
    entry = {"algorithm": signer.algorithm} | ({"secret": SECRET} if signer.algorithm == "HS256"
                                               else {"public_key": signer.pem})
    gateway = start_gateway(**configured(entry))
    assert status(gateway, signer.token(claims())) == 200
    assert status(gateway, signer.token(claims(), kid="any")) == 200
    assert status(gateway,
                  type(signer)().token(claims()) if signer.algorithm != "HS256"
                  else HS256(SECRET + "x").token(claims())) == 401


@pytest.mark.parametrize("signer", [RSA, EC], ids=["RS256", "ES256"])
def test_key_from_file_verifies_tokens(start_gateway, tmp_path, signer):
    (tmp_path / "key.pem").write_text(signer.pem)
    gateway = start_gateway(
        **configured({"algorithm": signer.algorithm, "public_key": f"file:{tmp_path / 'key.pem'}"}))
    assert status(gateway, signer.token(claims())) == 200


@pytest.mark.parametrize("signer", [RSA, EC], ids=["RS256", "ES256"])
def test_key_from_jwks_url_verifies_tokens(start_gateway, keys, signer):
    """The key set also contains keys for other purposes and of unknown types."""
    strange = [{"kty": "OKP", "crv": "Ed25519", "kid": "e", "x": "AA"},
               {"kty": "oct", "kid": "k", "k": base64url(SECRET.encode())}, {"kid": 7}]
    server = keys(jwks=key_set(*strange, OTHER_RSA.jwk("other"), signer.jwk("k1")))
    gateway = start_gateway(
        **configured(
            {"algorithm": signer.algorithm, "jwks_url": f"{server.url}/jwks", "issuer": ISSUER}))
    assert status(gateway, signer.token(claims(iss=ISSUER), kid="k1")) == 200
    for wrong in (signer.token(claims(iss=ISSUER), kid="other"),
                  signer.token(claims(iss=ISSUER), kid="K1"), signer.token(claims(), kid="k1"),
                  HS256().token(claims(iss=ISSUER), kid="k"),
                  HS256().token(claims(iss=ISSUER), kid="k1"),
                  HS256(signer.pem).token(claims(iss=ISSUER), kid="k1")):
        # 503 for the second unknown kid: no fetch has shown yet that it does not exist.
        assert status(gateway, wrong) in (401, 503)


def test_role_names_ignore_case(start_gateway):
    gateway = start_gateway(**configured({"algorithm": "HS256", "secret": SECRET}))
    for role in ("driver", "Driver", "DRIVER"):
        assert status(gateway, HS256().token(claims(role))) == 200
    for role in ("admin", "CUSTOMER", "ops"):
        assert status(gateway, HS256().token(claims(role))) == 403


# Issuers


def test_each_issuer_has_separate_keys(start_gateway, keys):
    """The same kid at two issuers means two different keys."""
    third = "https://three.example"
    servers = keys(jwks=key_set(RSA.jwk("k1"))), keys(jwks=key_set(OTHER_RSA.jwk("k1")))
    gateway = start_gateway(**configured(
        {"algorithm": "HS256", "secret": SECRET, "issuer": third},
        {"algorithm": "RS256", "jwks_url": f"{servers[0].url}/jwks", "issuer": ISSUER,
         "audience": "fleet"},
        {"algorithm": "RS256", "jwks_url": f"{servers[1].url}/jwks", "issuer": OTHER_ISSUER}))
    assert status(gateway, HS256().token(claims(iss=third))) == 200
    assert status(gateway, RSA.token(claims(iss=ISSUER, aud="fleet"), kid="k1")) == 200
    assert status(gateway, OTHER_RSA.token(claims(iss=OTHER_ISSUER), kid="k1")) == 200
    for wrong in (RSA.token(claims(iss=OTHER_ISSUER), kid="k1"),
                  OTHER_RSA.token(claims(iss=ISSUER, aud="fleet"), kid="k1"),
                  HS256().token(claims(iss=ISSUER, aud="fleet"), kid="k1"),
                  RSA.token(claims(iss=third), kid="k1"), RSA.token(claims(), kid="k1"),
                  HS256(RSA.pem).token(claims(iss=ISSUER, aud="fleet"), kid="k1"),
                  RSA.token(claims(iss=ISSUER), kid="k1"),
                  RSA.token(claims(iss=[ISSUER], aud="fleet"), kid="k1"),
                  RSA.token(claims(iss=ISSUER + "/", aud="fleet"), kid="k1"),
                  RSA.token(claims(iss=ISSUER.upper(), aud="fleet"), kid="k1")):
        assert status(gateway, wrong) == 401


# Fetching keys


def test_unknown_kid_refetches_at_a_limited_rate(start_gateway, keys):
    """The first fetch shows that the key does not exist. Without another one, that is not known
    of the next keys, so their tokens are not rejected yet.
    """
    server = keys(jwks=key_set(RSA.jwk("first")))
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    assert status(gateway, RSA.token(claims(), kid="first")) == 200
    fetched = server.requests["/jwks"]
    assert fetched == 1
    assert status(gateway, RSA.token(claims(), kid="unknown")) == 401
    for number in range(30):
        with contextlib.closing(Caller(gateway, bearer=RSA.token(
                claims(), kid=f"unknown-{number}"))) as caller:
            response = caller.request("GET", "/api/driver/jobs")
        assert response.status == 503, response
        assert 1 <= int(response.headers["retry-after"]) <= 60, response
        assert status(gateway, RSA.token(claims(), kid="first")) == 200
    # A token without a kid causes no fetch either.
    status(gateway, RSA.token(claims()))
    assert server.requests["/jwks"] == fetched + 1


def test_new_key_is_accepted_at_once(start_gateway, keys):
    """Fetches that bring a new key do not count against the limit: an issuer may change its keys
    twice in a minute.
    """
    server = keys(jwks=key_set(RSA.jwk("k1")))
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    assert status(gateway, RSA.token(claims(), kid="k1")) == 200
    for kid in ("k2", "k3"):
        server.documents["/jwks"] = key_set(OTHER_RSA.jwk(kid))
        assert status(gateway, OTHER_RSA.token(claims(), kid=kid)) == 200
    for kid in ("k1", "k2"):  # The document does not contain them any more.
        assert status(gateway, RSA.token(claims(), kid=kid)) in (401, 503)


def test_keys_stay_valid_during_an_outage(start_gateway, keys):
    server = keys(jwks=key_set(RSA.jwk("k1")))
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    assert status(gateway, RSA.token(claims(), kid="k1")) == 200
    server.close()
    assert status(gateway, RSA.token(claims(), kid="unknown")) == 503
    assert status(gateway, RSA.token(claims(), kid="k1")) == 200


def test_slow_issuer_does_not_delay_others(start_gateway, keys):
    slow, other = keys(jwks=key_set(RSA.jwk("k1"))), keys(jwks=key_set(OTHER_RSA.jwk("k1")))
    slow.may_respond.clear()
    gateway = start_gateway(**configured(
        {"algorithm": "RS256", "jwks_url": f"{slow.url}/jwks", "issuer": ISSUER},
        {"algorithm": "RS256", "jwks_url": f"{other.url}/jwks", "issuer": OTHER_ISSUER}))
    with ThreadPoolExecutor(1) as pool:
        try:
            waiting = pool.submit(status, gateway, RSA.token(claims(iss=ISSUER), kid="k1"))
            assert slow.requested.wait(15), "the gateway did not fetch the key"
            assert status(gateway, OTHER_RSA.token(claims(iss=OTHER_ISSUER), kid="k1")) == 200
            assert not waiting.done()
        finally:
            slow.may_respond.set()
        assert waiting.result() == 200


def test_unreachable_issuer_is_503(start_gateway, keys):
    """Apps treat 401 as logged out."""
    server = keys(jwks=key_set(RSA.jwk("k1")))
    server.status, server.documents["/jwks"] = 500, b"no"
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    for _ in range(3):
        assert status(gateway, RSA.token(claims(), kid="k1")) == 503


def test_issuer_that_is_back_is_asked_again_soon(start_gateway, keys):
    server = keys(jwks=key_set(RSA.jwk("k1")))
    server.status = 500
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    assert status(gateway, RSA.token(claims(), kid="k1")) == 503
    server.status = 200
    wait_until(lambda: status(gateway, RSA.token(claims(), kid="k1")) == 200, "the keys are fetched again")


def test_issuer_that_does_not_respond_does_not_delay_the_stop(start_gateway, keys):
    server = keys(jwks=key_set(RSA.jwk("k1")))
    server.may_respond.clear()
    gateway = start_gateway(server={"drain_seconds": 0}, **configured(
        {"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    try:
        assert server.requested.wait(15), "the gateway did not fetch the key"
        gateway.stop()
        assert "token_keys_not_fetched" not in gateway.log(), "the fetch was cancelled, it did not time out"
    finally:
        server.may_respond.set()


def test_each_request_with_an_unknown_key_is_answered(start_gateway, keys):
    server = keys(jwks=key_set(RSA.jwk("k1")))
    sections = configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"})["sections"]
    gateway = start_gateway(sections=sections | {"metrics": {"token": "scrape"}})
    outsider = RSA.token(claims("ops", "o"), kid="unknown")
    for path in ("/metrics", "/api/ops/stats", "/api/driver/jobs", "/pusher/auth"):
        with contextlib.closing(Caller(gateway, bearer=outsider)) as caller:
            assert caller.request("GET", path).status in (401, 503), path
    with contextlib.closing(
            Caller(gateway, bearer=RSA.token(claims("ops", "o"), kid="k1"))) as caller:
        assert caller.request("GET", "/metrics").status == 200


@pytest.mark.parametrize("response",
                         [(500, b"no"), (200, b"no JSON"), (200, b"{}"), (200, b'{"keys":{}}'),
                          (200, b'{"keys":[]}'), (200, b"x" * 5_000_000), (404, b""), (302, b"")],
                         ids=lambda response: f"{response[0]}-{response[1][:12].decode()}")
def test_invalid_key_responses_keep_the_old_keys(start_gateway, keys, response):
    server = keys(jwks=key_set(RSA.jwk("k1")), elsewhere=key_set(OTHER_RSA.jwk("k2")))
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    assert status(gateway, RSA.token(claims(), kid="k1")) == 200
    server.status, server.documents["/jwks"] = response
    if server.status == 302:
        server.headers = {"Location": "http://169.254.169.254/"}
    assert status(gateway, OTHER_RSA.token(claims(), kid="k2")) in (401, 503)
    assert status(gateway, RSA.token(claims(), kid="k1")) == 200
    gateway.assert_alive()


def test_requests_are_served_while_keys_are_fetched(start_gateway, keys, closing):
    server = keys(jwks=key_set(RSA.jwk("k1")))
    server.may_respond.clear()
    gateway = start_gateway(loops=1, **configured(
        {"algorithm": "RS256", "jwks_url": f"{server.url}/jwks", "issuer": ISSUER},
        {"algorithm": "HS256", "secret": SECRET, "issuer": OTHER_ISSUER}))
    with ThreadPoolExecutor(5) as pool:
        try:
            waiting = [pool.submit(status, gateway, RSA.token(claims(iss=ISSUER), kid="k1"))
                       for _ in range(5)]
            assert server.requested.wait(15), "the gateway did not fetch the key"
            for _ in range(5):
                assert status(gateway, HS256().token(claims(iss=OTHER_ISSUER))) == 200
            assert not any(each.done() for each in waiting)
        finally:
            server.may_respond.set()
    assert [each.result() for each in waiting] == [200] * 5 and server.requests["/jwks"] == 1


def test_key_urls_in_tokens_are_ignored(start_gateway, keys):
    """`jku`, `x5u`, `jwk` and `x5c` are ignored, and a kid is not used as a path."""
    server = keys(jwks=key_set(RSA.jwk("k1")), evil=key_set(OTHER_RSA.jwk("k1")))
    gateway = start_gateway(**configured({"algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}))
    evil = f"{server.url}/evil"
    for header in ({"jku": evil}, {"x5u": evil}, {"jwk": OTHER_RSA.jwk("k1")},
                   {"x5c": [OTHER_RSA.certificate()]}, {"kid": evil}, {"kid": "../evil"},
                   {"kid": "k1", "jku": evil}):
        # 503 for the second unknown kid: no fetch has shown yet that it does not exist.
        assert status(gateway,
                      OTHER_RSA.token(claims(iss=evil),
                                      header=header | {"kid": header.get("kid", "k1")})) in (401, 503)
    assert status(gateway, RSA.token(claims(), kid="k1", header={"jku": evil})) in (200, 401)
    assert server.requests["/evil"] == 0 and set(server.requests) <= {"/jwks"}


# Firebase


PROJECT = "fleet-test"


@pytest.fixture
def firebase(start_gateway, keys):
    server = keys(certificates={"f1": RSA.certificate(), "f2": OTHER_RSA.certificate()})
    return start_gateway(**configured({"algorithm": "HS256", "secret": SECRET}, firebase={
        "project_id": PROJECT, "certificates_url": f"{server.url}/certificates", "role": "driver"}))


def test_firebase_token_determines_role_and_id(firebase, closing):
    """The role comes from the configuration unless the token has a role claim; the id from
    `driver_id`, else the uid.
    """
    assert status(firebase, RSA.token(firebase_claims(PROJECT), kid="f1")) == 200
    assert status(firebase, OTHER_RSA.token(firebase_claims(PROJECT), kid="f2")) == 200
    assert status(firebase, RSA.token(firebase_claims(PROJECT, role="admin"), kid="f1")) == 403
    assert status(firebase, HS256().token(claims())) == 200
    for more, channel in (({}, "private-driver-uid-1"), ({"driver_id": "42"}, "private-driver-42")):
        caller = closing(
            Caller(firebase, bearer=RSA.token(firebase_claims(PROJECT, **more), kid="f1")))
        assert caller.channel_auth("1.1", channel).status == 200
        assert caller.channel_auth("1.1", "private-driver-43").status == 403


@pytest.mark.parametrize("change", [
    {"aud": "other-project"}, {"aud": None},
    {"iss": "https://securetoken.google.com/other-project"}, {"iss": None},
    {"exp": 1_700_000_000},  # a constant: the test id must be equal in all workers
    {"sub": ""}, {"sub": None, "user_id": None},
    {"iss": f"https://securetoken.google.com.evil.example/{PROJECT}"}, {"role": "king"}],
                         ids=json.dumps)
def test_invalid_firebase_tokens_are_rejected(firebase, change):
    assert status(firebase, RSA.token(firebase_claims(PROJECT, **change), kid="f1")) == 401


def test_firebase_keys_verify_firebase_tokens_only(firebase):
    assert status(firebase, OTHER_RSA.token(firebase_claims(PROJECT), kid="f1")) == 401
    assert status(firebase, RSA.token(claims(), kid="f1")) == 401
    assert status(firebase, HS256().token(firebase_claims(PROJECT))) == 401
    assert status(firebase, HS256(RSA.pem).token(firebase_claims(PROJECT), kid="f1")) == 401


def test_a_forgotten_firebase_project_is_the_operators_fault(start_gateway):
    """Apps take a 401 for a logout; the log names the key that is missing."""
    gateway = start_gateway(**configured({"algorithm": "HS256", "secret": SECRET}))
    token = RSA.token(firebase_claims(PROJECT), kid="f1")
    assert status(gateway, token) == 503
    assert status(gateway, HS256().token(claims())) == 200
    assert status(gateway, RSA.token(claims(), kid="f1")) == 401
    for _ in range(30):
        assert status(gateway, token) == 503

    def lines() -> list[dict]:
        return [entry for entry in check_log(gateway.log()) if entry["event"] == "setting_missing"]

    wait_until(lambda: sum(line.get("omitted", 1) for line in lines()) == 31, "all are counted")
    assert lines()[0]["setting"] == "auth.firebase.project_id" and lines()[0]["level"] == "error"


# Hostile tokens


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """RS256 and HS256, each with an issuer and an audience. Operators need a token even on the
    loopback.
    """
    settings = configured(
        {"algorithm": "HS256", "secret": SECRET, "issuer": ISSUER, "audience": "fleet"},
        {"algorithm": "RS256", "public_key": RSA.pem, "issuer": OTHER_ISSUER, "audience": "fleet"})
    settings["sections"]["metrics"] = {"token": "metrics-token"}
    gateway = Gateway(tmp_path_factory.mktemp("strict"), **settings)
    yield gateway
    gateway.stop()


def valid_claims(**more) -> dict:
    return claims(**({"iss": ISSUER, "aud": "fleet"} | more))


NOW = int(time.time())
ACCEPTED = {
    "valid": valid_claims(), "audiences": valid_claims(aud=["other", "fleet"]),
    "expired within the skew": valid_claims(exp=NOW - 5),
    "nbf within the skew": valid_claims(nbf=NOW + 30),
    "nbf long ago": valid_claims(nbf=NOW - 1000),
    "more claims": valid_claims(more={"a": [1]}, jti="x", scope="all"),
    "an id with all allowed characters": valid_claims(sub="a_-=@,.;B1"),
    "a name": valid_claims(name="Ünal 🚚"), "the longest id": valid_claims(sub="i" * 150),
    "no name": valid_claims(name=None)}
REJECTED = {
    "expired": valid_claims(exp=NOW - 120), "nbf in the future": valid_claims(nbf=NOW + 600),
    "unknown role": valid_claims(role="king"), "another audience": valid_claims(aud="other"),
    "another issuer": valid_claims(iss="https://evil.example"),
    "sub twice": json.dumps(valid_claims())[:-1] + ',"sub":"43"}'}


def as_of_now(payload):
    """Shifts times to now: the tables were built at collection, possibly a quarter of an hour ago.
    """
    delay = int(time.time()) - NOW
    if not isinstance(payload, dict):
        return payload
    return {name: value + delay if name in ("exp", "nbf") and type(value) is int
            and abs(value - NOW) < 86_400 else value for name, value in payload.items()}


@pytest.mark.parametrize("payload", ACCEPTED.values(), ids=ACCEPTED)
def test_valid_claims_are_accepted(strict, payload):
    assert status(strict, HS256().token(as_of_now(payload))) == 200


@pytest.mark.parametrize("payload", REJECTED.values(), ids=REJECTED)
def test_invalid_claims_are_rejected(strict, payload):
    assert status(strict, HS256().token(as_of_now(payload))) == 401


def forged() -> dict[str, str]:
    valid = HS256().token(valid_claims())
    header, body, signature = valid.split(".")
    rs = {"iss": OTHER_ISSUER}
    tokens = {
        "none": Unsigned().token(valid_claims()),
        "None": Unsigned().token(valid_claims(), header={"alg": "None"}),
        "NONE": Unsigned().token(valid_claims(), header={"alg": "NONE"}),
        "none with a signature": HS256().token(valid_claims(), header={"alg": "none"}),
        "no alg": HS256().token(valid_claims(), header={"alg": None}),
        "alg: number": HS256().token(valid_claims(), header={"alg": 1}),
        "alg: list": HS256().token(valid_claims(), header={"alg": ["HS256"]}),
        "hs256": HS256().token(valid_claims(), header={"alg": "hs256"}),
        "HS512 in name": HS256().token(valid_claims(), header={"alg": "HS512"}),
        "RS256 in name": HS256().token(valid_claims(), header={"alg": "RS256"}),
        "the PEM as secret": HS256(RSA.pem).token(valid_claims(**rs)),
        "the PEM without its end": HS256(RSA.pem.strip()).token(valid_claims(**rs)),
        "RS256 for an HS256 issuer": RSA.token(valid_claims()),
        "unknown RSA key": OTHER_RSA.token(valid_claims(**rs)),
        "ES256": EC.token(valid_claims(**rs)), "an empty secret": HS256("").token(valid_claims()),
        "alg twice": HS256().token(valid_claims(), header='{"alg":"none","alg":"HS256"}'),
        "alg twice, the other way": HS256().token(valid_claims(),
                                                  header='{"alg":"HS256","alg":"none"}'),
        "crit": HS256().token(valid_claims(), header={"crit": ["exp"]}),
        "b64": HS256().token(valid_claims(), header={"b64": False, "crit": ["b64"]}),
        "kid: object": HS256().token(valid_claims(), header={"kid": {"a": 1}}),
        "no object": HS256().token(valid_claims(), header="[]"),
        "no JSON": HS256().token(valid_claims(), header="{"),
        "no signature": f"{header}.{body}.", "two parts": f"{header}.{body}",
        "four parts": f"{valid}.x", "five": f"{header}.{body}.{signature}.a.b", "one": header,
        "nothing": "", "dots": "..", "a space": f"{header}. {body}.{signature}",
        "padded": f"{header}.{body}=.{signature}=", "a cut signature": valid[:-4],
        "a longer signature": valid + "AAAA",
        "a changed body": f"{header}.{encode(valid_claims(sub='43'))}.{signature}",
        "one long part": "x" * 200, "plain base64": f"{header}.{body}.{signature[:-2]}+/",
        "the last letter's spare bits": valid[:-1] + chr(ord(valid[-1]) + 1),
        "bytes": "\xff\xfe.\xff.\xff"}
    return tokens


@pytest.mark.parametrize("token", forged().values(), ids=forged())
def test_forged_tokens_are_rejected(strict, token):
    assert status(strict, token) == 401


def test_es256_signatures_are_64_bytes(start_gateway):
    """Rejects DER signatures (OpenSSL's format) and zeros."""
    gateway = start_gateway(**configured({"algorithm": "ES256", "public_key": EC.pem}))
    text = f"{encode({'alg': 'ES256'})}.{encode(claims())}"
    assert status(gateway, f"{text}.{base64url(EC.sign(text.encode()))}") == 200
    for signature in (EC.der(text.encode()), bytes(64), b"\xff" * 64, EC.sign(text.encode())[:63],
                      EC.sign(text.encode()) + b"\0", b""):
        assert status(gateway, f"{text}.{base64url(signature)}") == 401


@pytest.mark.parametrize("size", [13_000, 50_000, 1_000_000])
def test_huge_tokens_are_rejected(strict, closing, size):
    for header in ("Authorization: Bearer {}", "Cookie: session={}"):
        peer = closing(Wire(strict))
        token = HS256().token(valid_claims(more="x" * size))
        peer.send_ignoring_reset(
            request("GET", "/api/driver/jobs", headers=[header.format(token)]))
        assert peer.read_response().status == 431
    assert status(strict, HS256().token(valid_claims())) == 200


@pytest.mark.parametrize("value",
                         ["Bearer", "Bearer ", "Basic {}", "{}", "Bearer  {} x", "Bearer {},{}",
                          "Token {}", "Bearer\t"],
                         ids=repr)
def test_invalid_authorization_headers_are_401(strict, closing, value):
    caller = closing(Caller(strict))
    token = HS256().token(valid_claims())
    assert caller.request("GET", "/api/driver/jobs",
                          headers={"Authorization": value.replace("{}", token)}).status == 401
    assert caller.request("GET", "/api/driver/jobs",
                          headers={"Authorization": f"bearer {token}"}).status == 200


@pytest.mark.parametrize("method, path", [
    ("POST", "/api/admin/orders/X/assign-driver"), ("GET", "/api/admin/orders/X"),
    ("POST", "/api/admin/notifications"), ("GET", "/api/driver/jobs"),
    ("POST", "/api/driver/notifications/log"), ("POST", "/pusher/auth"),
    ("POST", "/pusher/user-auth"), ("GET", "/api/ops/stats"), ("GET", "/api/ops/notifications/X")])
def test_401_uses_the_envelope_of_its_group(strict, closing, method, path):
    for caller in (closing(Caller(strict)),
                   closing(Caller(strict, bearer=HS256().token(valid_claims(exp=1))))):
        caller.expect_error(401, method, path)


# The token command


def test_minted_tokens_are_accepted(start_gateway, closing):
    gateway = start_gateway(
        **configured(
            {"algorithm": "HS256", "secret": SECRET, "issuer": ISSUER, "audience": "fleet"}))
    result = run("token", "--config", gateway.config, "--role", "driver", "--subject", "42",
                 "--ttl", "1h")
    assert result.returncode == 0, result.stderr
    token = result.stdout.strip()
    assert token.count(".") == 2 and "\n" not in token
    assert status(gateway, token) == 200
    caller = closing(Caller(gateway, bearer=token))
    assert caller.channel_auth("1.1", "private-driver-42").status == 200
    assert caller.channel_auth("1.1", "private-driver-43").status == 403
    for role in ("admin", "customer", "ops"):
        assert status(gateway,
                      run("token", "--config", gateway.config, "--role", role, "--subject", "1",
                          "--ttl", "30m").stdout.strip()) == 403


@pytest.mark.parametrize("arguments",
                         [["--role", "king"], ["--ttl", "soon"], ["--ttl", "0"], ["--ttl", "-1h"],
                          ["--subject", ""], ["--nonsense", "x"]],
                         ids=" ".join)
def test_invalid_token_arguments_exit_64(start_gateway, arguments):
    gateway = start_gateway(**configured({"algorithm": "HS256", "secret": SECRET}))
    given = {"--role": "driver", "--subject": "42", "--ttl": "1h"} | {arguments[0]: arguments[1]}
    result = run("token", "--config", gateway.config,
                 *[word for pair in given.items() for word in pair])
    assert result.returncode == 64 and result.stdout == "" and result.stderr, result


def test_token_command_requires_a_secret(start_gateway):
    gateway = start_gateway(**configured({"algorithm": "RS256", "public_key": RSA.pem}))
    result = run("token", "--config", gateway.config, "--role", "driver", "--subject", "42",
                 "--ttl", "1h")
    assert result.returncode != 0 and result.stdout == "" and "secret" in result.stderr, result


BAD = {
    "an unknown algorithm": ({"jwt": {"algorithm": "HS512", "secret": SECRET}},
                             ["algorithm", "HS512"]),
    "a key of another kind": ({"jwt": {"algorithm": "RS256", "public_key": EC.pem}},
                              ["auth.jwt", "ES256", "RS256"]),
    "remote certificates over http": (
        {"firebase": {"project_id": "x", "certificates_url": "http://keys.example/c"}},
        ["certificates_url"]),
}


@pytest.mark.parametrize("auth, words", BAD.values(), ids=BAD)
def test_invalid_auth_settings_exit_78_and_name_the_key(tmp_path, auth, words):
    config = write_config(tmp_path / "test.yaml", apps=[FIRST.entry()], auth=auth)
    expect_invalid_config("check-config", config, *words)
