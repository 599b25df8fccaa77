"""The operators' view of push: notification history, metrics, lanes, push-test, catalogue reload,
invalid settings.
"""

import json
import os
import signal

import pytest

from harness.fleet import TIMESTAMP, wait_until
from harness.gateway import run, write_config
from harness.push.apns import refusal
from harness.push.behavior import Respond
from harness.push.devices import android_token, ios_token
from harness.push.fcm import error, is_send_request, is_token_request


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


# Notification history


def test_history_lists_the_pushes(fleet):
    owner = fleet.driver()
    apple, android = fleet.ios(owner), fleet.android(owner)
    notification = fleet.announce(owner)
    fleet.wait_for_accepted(notification, 2)
    steps = fleet.dispatcher.expect_ok("GET", f"/api/ops/notifications/{notification}")["steps"]
    assert (steps[0]["step"] == "created"
            and [step["step"] for step in steps].count("push_queued") == 2)
    assert [step["at"] for step in steps] == sorted(step["at"] for step in steps)
    for step in (step for step in steps if step["step"].startswith("push_")):
        assert (TIMESTAMP.fullmatch(step["at"])
                and step["by"] == f"driver:{owner.subject}"), step
    accepted = {step["detail"]["provider"]: step["detail"] for step in steps
                if step["step"] == "push_accepted"}
    assert accepted.keys() == {"apns", "fcm"}
    for device, detail in ((apple, accepted["apns"]), (android, accepted["fcm"])):
        assert (device.token not in json.dumps(steps)
                and detail["device"] == f"{device.token[:4]}…{device.token[-4:]}"
                and detail["attempts"] == 1)
    assert accepted["apns"]["messageId"].lower() == apple.pushes[0].headers["apns-id"].lower()
    assert accepted["fcm"]["messageId"] == android.message_ids()[0]


def test_push_awaiting_retry_is_queued(fleet):
    device = fleet.ios()
    fleet.apns.script(Respond(503), times=1)
    notification = fleet.announce(device)
    fleet.apns.wait_until(lambda: device.sent, "the first attempt")
    assert [step["step"] for step in fleet.steps(notification)] == ["push_queued"]
    fleet.wait_for_accepted(notification)


@pytest.mark.parametrize("outcome, step",
                         [("rejected", "push_failed"), ("cancelled", "push_cancelled"),
                          ("expired", "push_expired"), ("accepted", "push_accepted")])
def test_each_outcome_is_a_step_and_a_metric(start_push_fleet, outcome, step):
    fleet = start_push_fleet(catalogue={"DRIVER_APPROVED": {"title": "T", "lifetime": "2s"}})
    device = fleet.android()
    if outcome == "rejected":
        fleet.fcm.script(error(400, "INVALID_ARGUMENT"), is_send_request)
    elif outcome == "cancelled":
        device.owner.expect_ok("PUT", "/api/driver/preferences",
                               {"types": {"DRIVER_APPROVED": False}})
    elif outcome == "expired":
        fleet.fcm.stop_listening()
    [end] = fleet.wait_for_step(fleet.announce(device), step)
    assert ("reason" in end["detail"]) == (outcome in ("rejected", "cancelled")), end
    fleet.wait_for_metric("push_total", 1, provider="fcm", outcome=outcome)
    others = {name: fleet.metric("push_total", provider="fcm", outcome=name)
              for name in ("accepted", "rejected", "cancelled", "expired")}
    assert sum(others.values()) == 1


# Metrics


def test_push_metrics_count_outcomes_and_queued_pushes(fleet):
    devices = [fleet.ios(), fleet.android()]
    metrics = fleet.metrics()
    for family, kind in [("push_total", "counter"), ("push_seconds", "histogram"),
                         ("push_queue_depth", "gauge"), ("push_queue_oldest_seconds", "gauge"),
                         ("push_token_removals_total", "counter"),
                         ("push_credential_renewals_total", "counter")]:
        assert metrics.types.get(f"fleetwire_{family}") == kind, family
    for device in devices:
        fleet.warm_up(device)
    for provider in ("apns", "fcm"):
        fleet.wait_for_metric("push_total", 1, provider=provider, outcome="accepted")
        assert fleet.metric("push_seconds_count", provider=provider) == 1
        fleet.wait_for_metric("push_queue_depth", 0, provider=provider)
    fleet.apns.stop_listening()
    for _ in range(7):
        fleet.announce(devices[0])
    fleet.wait_for_metric("push_queue_depth", 7, provider="apns")
    wait_until(lambda: fleet.metric("push_queue_oldest_seconds", provider="apns") >= 1,
               "the oldest push has waited for a second")
    assert fleet.metric("push_queue_depth",
                        provider="fcm") == fleet.metric(
        "push_queue_oldest_seconds", provider="fcm") == 0
    fleet.apns.listen()
    fleet.wait_for_metric("push_queue_depth", 0, provider="apns", seconds=40)
    fleet.wait_for_metric("push_queue_oldest_seconds", 0, provider="apns")


def test_lanes_report_state_last_success_and_last_error(fleet):
    device = fleet.ios()
    lanes = fleet.dispatcher.expect_ok("GET", "/api/ops/push")["lanes"]
    assert [lane["lane"] for lane in lanes] == ["apns", "apns-sandbox", "fcm"]
    for lane in lanes:
        # FCM's lane obtains its credential first.
        lane = fleet.wait_for_lane_state(lane["lane"], "running")
        assert lane["depth"] == lane["inFlight"] == 0 and lane["lastError"] is None, lane
    fleet.warm_up(device)
    wait_until(lambda: fleet.lane("apns")["lastAcceptedAt"] is not None,
               "the lane has a last accepted time")
    fleet.apns.script(refusal(400, "BadDeviceToken"), times=1)
    fleet.wait_for_step(fleet.announce(device), "push_failed")
    wait_until(lambda: fleet.lane("apns")["lastError"] is not None, "the lane has a last error")
    failure = fleet.lane("apns")["lastError"]
    assert "BadDeviceToken" in failure["reason"] and TIMESTAMP.fullmatch(failure["at"])
    assert device.token not in json.dumps(fleet.dispatcher.expect_ok("GET", "/api/ops/push"))


def test_disabled_provider_has_a_disabled_lane(start_push_fleet):
    assert start_push_fleet(fcm={"enabled": False}).lane("fcm")["state"] == "disabled"


def test_lanes_require_admin_ops_or_metrics_token(start_push_fleet):
    fleet = start_push_fleet(metrics={"token": "metrics-token"})
    for caller in (fleet.admin(), fleet.ops(), fleet.caller(bearer="metrics-token")):
        assert caller.expect_ok("GET", "/api/ops/push")
    for caller in (fleet.driver(), fleet.customer()):
        caller.expect_error(403, "GET", "/api/ops/push")
    fleet.caller().expect_error(401, "GET", "/api/ops/push")
    fleet.admin().expect_error(405, "POST", "/api/ops/push", {})


# push-test


HOSTILE = "Bad\x1b[2J\n\u202eToken"


def push_test(fleet, *arguments: str):
    return run("push-test", "--config", fleet.gateway.config, *arguments)


def test_push_test_sends_one_push(fleet):
    for provider, token, fake in [("apns", ios_token(), fleet.apns),
                                  ("fcm", android_token(), fleet.fcm)]:
        result = push_test(fleet, "--provider", provider, "--token", token)
        assert result.returncode == 0, result
        assert [request.status for request in fake.sent_to(token)] == [200]
        assert token not in result.stdout + result.stderr


@pytest.mark.parametrize("provider, response, word", [
    ("apns", refusal(400, "BadDeviceToken"), "BadDeviceToken"),
    ("apns", refusal(403, "InvalidProviderToken"), "InvalidProviderToken"),
    ("apns", refusal(503, "ServiceUnavailable"), "ServiceUnavailable"),
    ("fcm", error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED"),
    ("fcm", error(403, "PERMISSION_DENIED"), "PERMISSION_DENIED")],
                         ids=lambda value: str(value)[:60])
def test_push_test_prints_the_rejection(fleet, provider, response, word):
    fake, token = (fleet.apns, ios_token()) if provider == "apns" else (fleet.fcm, android_token())
    fake.script(response, None if provider == "apns" else is_send_request)
    result = push_test(fleet, "--provider", provider, "--token", token)
    assert result.returncode == 1 and word in result.stdout + result.stderr, result


@pytest.mark.parametrize("provider, response, concerned", [
    ("apns", refusal(400, HOSTILE), None), ("fcm", error(400, HOSTILE, HOSTILE), is_send_request),
    ("fcm", Respond(400, {"error": HOSTILE, "error_description": HOSTILE}), is_token_request),
    ("fcm", Respond(200, {"access_token": HOSTILE, "expires_in": 3600}), is_token_request)])
def test_push_test_shows_no_control_characters_of_a_provider(fleet, provider, response, concerned):
    fake, token = (fleet.apns, ios_token()) if provider == "apns" else (fleet.fcm, android_token())
    fake.script(response, concerned)
    result = push_test(fleet, "--provider", provider, "--token", token)
    shown = result.stdout + result.stderr
    assert result.returncode == 1 and len(shown.splitlines()) == 1 and shown.removesuffix("\n").isprintable(), result


def test_push_test_prints_connection_and_credential_errors(fleet):
    fleet.apns.stop_listening()
    result = push_test(fleet, "--provider", "apns", "--token", ios_token())
    assert result.returncode == 1 and result.stderr, result
    fleet.fcm.script(Respond(400, {"error": "invalid_grant"}), is_token_request)
    result = push_test(fleet, "--provider", "fcm", "--token", android_token())
    assert result.returncode == 1 and "invalid_grant" in result.stderr, result


@pytest.mark.parametrize("arguments",
                         [["--provider", "apns"], ["--token", "ab" * 32],
                          ["--provider", "mail", "--token", "x"],
                          ["--provider", "apns", "--token", "zz"]],
                         ids=str)
def test_invalid_push_test_arguments_exit_64(fleet, arguments):
    assert push_test(fleet, *arguments).returncode == 64


# Catalogue reload


def test_sighup_reloads_the_catalogue(start_push_fleet, providers):
    fleet = start_push_fleet(
        catalogue={"DRIVER_APPROVED": {"title": "Old words", "body": "{name|driver}"}})
    device = fleet.ios()
    assert device.next(fleet.announce(device, name="Dan")).title == "Old words"
    providers.write_catalogue(
        {"DRIVER_APPROVED": {"title": "New words", "body": "{name|you}", "lifetime": "10m"}})
    fleet.gateway.process.send_signal(signal.SIGHUP)

    def has_title(title: str) -> bool:
        return device.next(fleet.announce(device)).title == title

    wait_until(lambda: has_title("New words"), "the new texts are used")
    path = providers.write_catalogue(
        {"DRIVER_APPROVED": {"title": "Bad words", "body": "{unclosed"}})
    fleet.gateway.process.send_signal(signal.SIGHUP)
    assert path.name in fleet.wait_for_log_entry("reload_failed", "error")["reason"]
    assert has_title("New words"), "an invalid file must not change the texts"
    path.unlink()
    fleet.gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(fleet.log_entries("reload_failed", "error")) == 2,
               "a missing file is also an error")
    assert has_title("New words")
    push = device.next(fleet.announce(device))
    path_of_history = f"/api/ops/notifications/{push.notification}"
    notification = fleet.dispatcher.expect_ok("GET", path_of_history)["notification"]
    assert notification["expiresAt"] != notification["createdAt"] and push.text == "you"
    providers.write_catalogue({"DRIVER_APPROVED": {"title": "Newest words"}})
    fleet.gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: has_title("Newest words"), "the corrected file is used")


def test_reload_applies_push_modes(start_push_fleet, providers):
    fleet = start_push_fleet(catalogue={"DRIVER_APPROVED": {"title": "T"}})
    device = fleet.ios()
    fleet.warm_up(device)
    providers.write_catalogue({"DRIVER_APPROVED": {"title": "T", "push": "off"}})
    fleet.gateway.process.send_signal(signal.SIGHUP)
    wait_until(
        lambda: not [step for step in fleet.steps(fleet.announce(device))
                     if step["step"] != "push_cancelled"],
        "the type is no longer pushed")


def test_reload_does_not_block_on_a_fifo(start_push_fleet, providers):
    fleet = start_push_fleet(catalogue={"DRIVER_APPROVED": {"title": "T"}})
    (providers.folder / "notifications.yaml").unlink()
    os.mkfifo(providers.folder / "notifications.yaml")
    fleet.gateway.process.send_signal(signal.SIGHUP)
    assert "FIFO" in fleet.wait_for_log_entry("reload_failed")["reason"]
    device = fleet.ios()
    fleet.announce(device)
    assert device.next().title == "T", "the old texts stay in use"


# Settings


BAD = {
    "an unknown key": ({"apns": {"hots": "x"}}, ["hots", "host"]),
    "port: string": ({"apns": {"port": "many"}}, ["port"]),
    "a key file that does not exist": ({"apns": {"key_file": "nowhere.p8"}}, ["key_file"]),
}


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("changes, words", BAD.values(), ids=BAD)
def test_invalid_settings_exit_78(providers, tmp_path, command, changes, words):
    result = run(command, "--config", configured(providers, tmp_path, **changes))
    assert result.returncode == 78, result
    assert all(word in result.stderr for word in words), result.stderr
    assert "listening" not in result.stdout


def configured(providers, tmp_path, **changes):
    sections = providers.sections(**changes)
    return write_config(tmp_path / "test.yaml", server={"host": "127.0.0.1", "port": 0},
                        apps=[{"id": "1001", "key": "key1", "secret": "secret1"}], **sections)


@pytest.mark.parametrize("content, word",
                         [("", "service_account_file"), ("{", "service_account_file"),
                          ("[]", "service_account_file"), ("{}", "client_email")],
                         ids=str)
def test_invalid_account_exits_78(providers, tmp_path, content, word):
    (tmp_path / "bad.json").write_text(content)
    result = run("serve", "--config",
                 configured(providers, tmp_path, fcm={"service_account_file": "bad.json"}))
    assert result.returncode == 78 and word in result.stderr, result


@pytest.mark.parametrize("member",
                         ["client_email", "private_key", "private_key_id", "project_id",
                          "token_uri"])
def test_incomplete_account_exits_78(providers, tmp_path, member):
    path = providers.fcm.write_account(tmp_path / "bad.json", **{member: None})
    result = run("serve", "--config",
                 configured(providers, tmp_path, fcm={"service_account_file": str(path)}))
    assert result.returncode == 78 and member in result.stderr, result


@pytest.mark.parametrize("content",
                         ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
                          "not a key"],
                         ids=ascii)
def test_invalid_key_exits_78_and_is_not_printed(providers, tmp_path, content):
    (tmp_path / "bad.p8").write_text(content)
    result = run("serve", "--config", configured(providers, tmp_path, apns={"key_file": "bad.p8"}))
    assert (result.returncode == 78 and "key_file" in result.stderr
            and "AAAA" not in result.stderr), result


def test_key_of_wrong_type_exits_78(providers, tmp_path):
    account = json.loads(providers.account_file.read_text())
    (tmp_path / "rsa.p8").write_text(account["private_key"])
    result = run("serve", "--config", configured(providers, tmp_path, apns={"key_file": "rsa.p8"}))
    assert result.returncode == 78 and "key_file" in result.stderr, result


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("section", ["apns", "fcm"])
@pytest.mark.parametrize("content",
                         ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
                         ids=ascii)
def test_invalid_ca_file_exits_78(providers, tmp_path, command, section, content):
    (tmp_path / "ca.pem").write_text(content)
    result = run(command, "--config",
                 configured(providers, tmp_path, **{section: {"ca_file": "ca.pem"}}))
    assert result.returncode == 78 and f"push.{section}.ca_file" in result.stderr, result


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("section, key",
                         [("apns", "key_file"), ("apns", "ca_file"),
                          ("fcm", "service_account_file")])
def test_fifo_exits_78_without_blocking(providers, tmp_path, command, section, key):
    os.mkfifo(tmp_path / "fifo")
    result = run(command, "--config", configured(providers, tmp_path, **{section: {key: "fifo"}}))
    assert (result.returncode == 78 and f"push.{section}.{key}" in result.stderr
            and "FIFO" in result.stderr), result


@pytest.mark.parametrize("member, text",
                         [("client_email", "a\0b"), ("private_key_id", "a\r\nb"),
                          ("private_key_id", "a b")],
                         ids=ascii)
def test_spaces_and_control_characters_in_account_exit_78(providers, tmp_path, member, text):
    path = providers.fcm.write_account(tmp_path / "bad.json", **{member: text})
    result = run("serve", "--config",
                 configured(providers, tmp_path, fcm={"service_account_file": str(path)}))
    assert result.returncode == 78 and member in result.stderr, result


@pytest.mark.parametrize("keys, word", [
    ([{"id": "a", "key": "c2hvcnQ="}], "key"), ([{"id": "", "key": "A" * 43 + "="}], "id"),
    ([{"id": "a", "key": "A" * 43 + "="}] * 2, "a"), ([{"id": "a"}], "key")],
                         ids=str)
def test_invalid_encryption_keys_exit_78(providers, tmp_path, keys, word):
    result = run("check-config", "--config",
                 configured(providers, tmp_path, store={"encryption_keys": keys}))
    assert (result.returncode == 78 and "encryption_keys" in result.stderr
            and word in result.stderr), result
    assert "c2hvcnQ" not in result.stderr


def test_check_config_prints_the_catalogue(providers, tmp_path):
    result = run("check-config", "--config", configured(providers, tmp_path, catalogue={
        "job-assigned": {"title": "Go to {pickupAddress|work}", "body": "{nonsense|x}"}}))
    assert result.returncode == 0, result
    assert "job-available-again: off, 24h\n  recipients: none\n" in result.stdout
    assert ("job-assigned" in result.stdout and "Go to work" in result.stdout
            and "nonsense" in result.stdout + result.stderr)
    assert "PRIVATE KEY" not in result.stdout and "secret1" not in result.stdout


@pytest.mark.parametrize("name", ["type", "google_id", "from"])
def test_catalogue_data_with_a_taken_name_exits_78(providers, tmp_path, name):
    result = run("check-config", "--config", configured(providers, tmp_path, catalogue={
        "DRIVER_APPROVED": {"data": {name: "x"}}}))
    assert result.returncode == 78 and f"DRIVER_APPROVED.data.{name}" in result.stderr, result


def test_relative_paths_are_relative_to_the_configuration(
        start_gateway, providers, closing, tmp_path):
    (tmp_path / "kept").mkdir()
    for path in (providers.key_file, providers.account_file):
        (tmp_path / "kept" / path.name).write_bytes(path.read_bytes())
    sections = providers.sections(apns={"key_file": providers.key_file.name},
                                  fcm={"service_account_file": providers.account_file.name})
    assert start_gateway("kept", sections=sections)
