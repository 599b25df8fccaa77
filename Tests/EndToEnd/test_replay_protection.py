"""`auth.replay_protection`: a signed request is accepted once."""

import pytest

from harness.api import Api, event_body, signed_target
from harness.apps import FIRST

EVENTS = "/apps/1001/events"


@pytest.fixture
def protected(start_gateway, closing):
    """Returns two API connections, which usually are on different loops."""
    gateway = start_gateway(loops=2, sections={"auth": {"replay_protection": True}})
    return closing(Api(gateway)), closing(Api(gateway))


def test_repeated_request_is_rejected_on_all_loops(protected):
    body = event_body("channel")
    target = signed_target(FIRST, "POST", EVENTS, body)
    assert protected[0].call("POST", target, body).status == 200
    for api in protected:
        response = api.call("POST", target, body)
        assert response.status == 401 and "already accepted" in response.text


def test_different_requests_of_the_same_second_are_accepted(protected):
    for number in range(20):
        assert protected[number % 2].post(event_body("channel", f"event-{number}")).status == 200


def test_rejected_request_may_be_repeated(protected):
    body = event_body("channel")
    target = signed_target(FIRST, "POST", EVENTS, body)
    assert protected[0].call("POST", target, b"other").status == 401
    assert protected[0].call("POST", target, body).status == 200


def test_repeated_request_is_accepted_by_default(start_gateway, closing):
    api, body = closing(Api(start_gateway())), event_body("channel")
    target = signed_target(FIRST, "POST", EVENTS, body)
    assert [api.call("POST", target, body).status for _ in range(2)] == [200, 200]
