"""What operators see of pushes and how they steer them: lives, figures, lanes, the trial push, new texts, wrong settings."""

import json
import os
import signal

import pytest

from harness.fleet import MOMENT, eventually
from harness.gateway import run, write_config
from harness.push.apns import refusal
from harness.push.conduct import Say
from harness.push.fcm import error, logins, sends
from harness.push.phones import android_token, ios_token


@pytest.fixture
def scene(pushing):
    return pushing()


# The life of a notification


def test_its_pushes_are_steps_of_its_life(scene):
    owner = scene.driver()
    apple, android = scene.ios(owner), scene.android(owner)
    each = scene.announce(owner)
    scene.accepted(each, 2)
    steps = scene.dispatcher.done("GET", f"/api/ops/notifications/{each}")["steps"]
    assert steps[0]["step"] == "created" and [step["step"] for step in steps].count("push_queued") == 2
    assert [step["at"] for step in steps] == sorted(step["at"] for step in steps)
    for step in (step for step in steps if step["step"].startswith("push_")):
        assert MOMENT.fullmatch(step["at"]) and step["subject"] == f"driver:{owner.subject}", step
    accepted = {step["detail"]["provider"]: step["detail"] for step in steps if step["step"] == "push_accepted"}
    assert accepted.keys() == {"apns", "fcm"}
    for phone, detail in ((apple, accepted["apns"]), (android, accepted["fcm"])):
        assert phone.token not in json.dumps(steps) and detail["device"] == f"{phone.token[:4]}…{phone.token[-4:]}" and detail["attempts"] == 1
    assert accepted["apns"]["messageId"].lower() == apple.pushes[0].headers["apns-id"].lower()
    assert accepted["fcm"]["messageId"] == json.loads(android.sent[0].answer)["name"]


def test_a_push_that_waits_shows_as_queued(scene):
    phone = scene.ios()
    scene.apns.script(Say(503), times=1)
    each = scene.announce(phone)
    scene.apns.until(lambda: phone.sent, "the first try")
    assert [step["step"] for step in scene.steps(each)] == ["push_queued"]
    scene.accepted(each)


@pytest.mark.parametrize("outcome, step", [("rejected", "push_failed"), ("cancelled", "push_cancelled"), ("expired", "push_expired"), ("accepted", "push_accepted")])
def test_every_end_is_a_step_and_a_figure(pushing, outcome, step):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "T", "lifetime": "2s"}})
    phone = scene.android()
    if outcome == "rejected":
        scene.fcm.script(error(400, "INVALID_ARGUMENT"), sends)
    elif outcome == "cancelled":
        phone.owner.done("PUT", "/api/driver/preferences", {"types": {"DRIVER_APPROVED": False}})
    elif outcome == "expired":
        scene.fcm.refuse()
    [end] = scene.became(scene.announce(phone), step)
    assert ("reason" in end["detail"]) == (outcome in ("rejected", "cancelled")), end
    scene.reaches("push_total", 1, provider="fcm", outcome=outcome)
    others = {name: scene.figure("push_total", provider="fcm", outcome=name) for name in ("accepted", "rejected", "cancelled", "expired")}
    assert sum(others.values()) == 1


# Figures


def test_figures(scene):
    phones = [scene.ios(), scene.android()]
    figures = scene.figures()
    for family, kind in [("push_total", "counter"), ("push_seconds", "histogram"), ("push_queue_depth", "gauge"), ("push_queue_oldest_seconds", "gauge"),
                         ("push_token_removals_total", "counter"), ("push_credential_renewals_total", "counter")]:
        assert figures.types.get(f"fleetwire_{family}") == kind, family
    for phone in phones:
        scene.warm(phone)
    for provider in ("apns", "fcm"):
        scene.reaches("push_total", 1, provider=provider, outcome="accepted")
        assert scene.figure("push_seconds_count", provider=provider) == 1
        scene.reaches("push_queue_depth", 0, provider=provider)
    scene.apns.refuse()
    for _ in range(7):
        scene.announce(phones[0])
    scene.reaches("push_queue_depth", 7, provider="apns")
    eventually(lambda: scene.figure("push_queue_oldest_seconds", provider="apns") >= 1, "the oldest waits for a second")
    assert scene.figure("push_queue_depth", provider="fcm") == scene.figure("push_queue_oldest_seconds", provider="fcm") == 0
    scene.apns.listen()
    scene.reaches("push_queue_depth", 0, provider="apns", seconds=40)
    scene.reaches("push_queue_oldest_seconds", 0, provider="apns")


def test_lanes(scene):
    phone = scene.ios()
    lanes = scene.dispatcher.done("GET", "/api/ops/push")["lanes"]
    assert [lane["lane"] for lane in lanes] == ["apns", "apns-sandbox", "fcm"]
    for lane in lanes:
        # FCM's waits for its credential first.
        lane = scene.lane_is(lane["lane"], "running")
        assert lane["depth"] == lane["inFlight"] == 0 and lane["lastError"] is None, lane
    scene.warm(phone)
    eventually(lambda: scene.lane("apns")["lastAcceptedAt"] is not None, "the lane knows when")
    scene.apns.script(refusal(400, "BadDeviceToken"), times=1)
    scene.became(scene.announce(phone), "push_failed")
    eventually(lambda: scene.lane("apns")["lastError"] is not None, "the lane knows what went wrong")
    failure = scene.lane("apns")["lastError"]
    assert "BadDeviceToken" in failure["reason"] and MOMENT.fullmatch(failure["at"])
    assert phone.token not in json.dumps(scene.dispatcher.done("GET", "/api/ops/push"))


def test_lanes_that_are_not_enabled(pushing):
    assert pushing(fcm={"enabled": False}).lane("fcm")["state"] == "disabled"


def test_who_may_see_the_lanes(pushing):
    scene = pushing(metrics={"token": "metrics-token"})
    for caller in (scene.admin(), scene.ops(), scene.caller(bearer="metrics-token")):
        assert caller.done("GET", "/api/ops/push")
    for caller in (scene.driver(), scene.customer()):
        caller.refused(403, "GET", "/api/ops/push")
    scene.caller().refused(401, "GET", "/api/ops/push")
    scene.admin().refused(405, "POST", "/api/ops/push", {})


# A push to see whether it works


def trial(scene, *arguments: str):
    return run("push-test", "--config", scene.gateway.config, *arguments)


def test_a_trial_push(scene):
    for provider, token, fake in [("apns", ios_token(), scene.apns), ("fcm", android_token(), scene.fcm)]:
        done = trial(scene, "--provider", provider, "--token", token)
        assert done.returncode == 0, done
        assert [request.status for request in fake.sent_to(token)] == [200]
        assert token not in done.stdout + done.stderr


@pytest.mark.parametrize("provider, answer, word", [
    ("apns", refusal(400, "BadDeviceToken"), "BadDeviceToken"), ("apns", refusal(403, "InvalidProviderToken"), "InvalidProviderToken"),
    ("apns", refusal(503, "ServiceUnavailable"), "ServiceUnavailable"), ("fcm", error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED"),
    ("fcm", error(403, "PERMISSION_DENIED"), "PERMISSION_DENIED")], ids=lambda value: str(value)[:60])
def test_a_trial_push_that_is_refused(scene, provider, answer, word):
    fake, token = (scene.apns, ios_token()) if provider == "apns" else (scene.fcm, android_token())
    fake.script(answer, None if provider == "apns" else sends)
    done = trial(scene, "--provider", provider, "--token", token)
    assert done.returncode == 1 and word in done.stdout + done.stderr, done


def test_a_trial_push_that_does_not_get_through(scene):
    scene.apns.refuse()
    done = trial(scene, "--provider", "apns", "--token", ios_token())
    assert done.returncode == 1 and done.stderr, done
    scene.fcm.script(Say(400, {"error": "invalid_grant"}), logins)
    done = trial(scene, "--provider", "fcm", "--token", android_token())
    assert done.returncode == 1 and "invalid_grant" in done.stderr, done


@pytest.mark.parametrize("arguments", [["--provider", "apns"], ["--token", "ab" * 32], ["--provider", "mail", "--token", "x"], ["--provider", "apns", "--token", "zz"]], ids=str)
def test_misuse_is_64(scene, arguments):
    assert trial(scene, *arguments).returncode == 64


# New texts


def test_SIGHUP_reads_the_texts_again(pushing, providers):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "Old words", "body": "{name|driver}"}})
    phone = scene.ios()
    assert phone.next(scene.announce(phone, name="Dan")).title == "Old words"
    providers.write_texts({"DRIVER_APPROVED": {"title": "New words", "body": "{name|you}", "lifetime": "10m"}})
    scene.gateway.process.send_signal(signal.SIGHUP)

    def says(title: str) -> bool:
        return phone.next(scene.announce(phone)).title == title

    eventually(lambda: says("New words"), "the new words are used")
    path = providers.write_texts({"DRIVER_APPROVED": {"title": "Bad words", "body": "{unclosed"}})
    scene.gateway.process.send_signal(signal.SIGHUP)
    assert path.name in scene.until_logged("reload_failed", "error")["reason"]
    assert says("New words"), "what cannot be read changes nothing"
    path.unlink()
    scene.gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: len(scene.logged("reload_failed", "error")) == 2, "a missing file is an error as well")
    assert says("New words")
    push = phone.next(scene.announce(phone))
    life = scene.dispatcher.done("GET", f"/api/ops/notifications/{push.notification}")["notification"]
    assert life["expiresAt"] != life["createdAt"] and push.text == "you"
    providers.write_texts({"DRIVER_APPROVED": {"title": "Newest words"}})
    scene.gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: says("Newest words"), "what is right again is used again")


def test_a_reload_also_changes_what_is_pushed_at_all(pushing, providers):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "T"}})
    phone = scene.ios()
    scene.warm(phone)
    providers.write_texts({"DRIVER_APPROVED": {"title": "T", "push": "off"}})
    scene.gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: not [step for step in scene.steps(scene.announce(phone)) if step["step"] != "push_cancelled"], "it is off")


def test_a_reload_does_not_wait_for_a_FIFO(pushing, providers):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "T"}})
    (providers.folder / "notifications.yaml").unlink()
    os.mkfifo(providers.folder / "notifications.yaml")
    scene.gateway.process.send_signal(signal.SIGHUP)
    assert "FIFO" in scene.until_logged("reload_failed")["reason"]
    phone = scene.ios()
    scene.announce(phone)
    assert phone.next().title == "T", "the old texts stay in use"


# Settings


BAD = {
    "an unknown key": ({"apns": {"hots": "x"}}, ["hots", "host"]), "a team of nine": ({"apns": {"team_id": "TEAM12345"}}, ["team_id"]),
    "a missing team": ({"apns": {"team_id": ""}}, ["team_id"]), "a missing key id": ({"apns": {"key_id": ""}}, ["key_id"]),
    "a missing topic": ({"apns": {"topic": ""}}, ["topic"]), "a key file that is not there": ({"apns": {"key_file": "nowhere.p8"}}, ["key_file"]),
    "a missing key file": ({"apns": {"key_file": ""}}, ["key_file"]), "a port of text": ({"apns": {"port": "many"}}, ["port"]),
    "a port too high": ({"apns": {"port": 65_536}}, ["port"]), "a CA file that is not there": ({"apns": {"ca_file": "nowhere.pem"}}, ["ca_file"]),
    "an account that is not there": ({"fcm": {"service_account_file": "nowhere.json"}}, ["service_account_file"]),
    "a missing account": ({"fcm": {"service_account_file": ""}}, ["service_account_file"]), "a base over http": ({"fcm": {"base_url": "http://127.0.0.1:1"}}, ["base_url"]),
    "a mode nobody knows": ({"mode": "sometimes"}, ["mode", "sometimes"])}


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("changes, words", BAD.values(), ids=BAD)
def test_wrong_settings_are_78(providers, tmp_path, command, changes, words):
    done = run(command, "--config", configured(providers, tmp_path, **changes))
    assert done.returncode == 78, done
    assert all(word in done.stderr for word in words), done.stderr
    assert "listening" not in done.stdout


def configured(providers, tmp_path, **changes):
    sections = providers.sections(**changes)
    return write_config(tmp_path / "test.yaml", server={"host": "127.0.0.1", "port": 0}, apps=[{"id": "1001", "key": "key1", "secret": "secret1"}], **sections)


@pytest.mark.parametrize("content, word", [("", "service_account_file"), ("{", "service_account_file"), ("[]", "service_account_file"), ("{}", "client_email")], ids=str)
def test_an_account_that_is_none_is_78(providers, tmp_path, content, word):
    (tmp_path / "bad.json").write_text(content)
    done = run("serve", "--config", configured(providers, tmp_path, fcm={"service_account_file": "bad.json"}))
    assert done.returncode == 78 and word in done.stderr, done


@pytest.mark.parametrize("member", ["client_email", "private_key", "private_key_id", "project_id", "token_uri"])
def test_an_account_that_lacks_something_is_78(providers, tmp_path, member):
    path = providers.fcm.write_account(tmp_path / "bad.json", **{member: None})
    done = run("serve", "--config", configured(providers, tmp_path, fcm={"service_account_file": str(path)}))
    assert done.returncode == 78 and member in done.stderr, done


@pytest.mark.parametrize("content", ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a key"], ids=ascii)
def test_a_key_that_is_none_is_78_and_not_quoted(providers, tmp_path, content):
    (tmp_path / "bad.p8").write_text(content)
    done = run("serve", "--config", configured(providers, tmp_path, apns={"key_file": "bad.p8"}))
    assert done.returncode == 78 and "key_file" in done.stderr and "AAAA" not in done.stderr, done


def test_a_key_of_another_kind_is_78(providers, tmp_path):
    account = json.loads(providers.account_file.read_text())
    (tmp_path / "rsa.p8").write_text(account["private_key"])
    done = run("serve", "--config", configured(providers, tmp_path, apns={"key_file": "rsa.p8"}))
    assert done.returncode == 78 and "key_file" in done.stderr, done


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("section", ["apns", "fcm"])
@pytest.mark.parametrize("content", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "a private key"], ids=ascii)
def test_authorities_that_are_none_are_78(providers, tmp_path, command, section, content):
    (tmp_path / "ca.pem").write_text(providers.key_file.read_text() if content == "a private key" else content)
    done = run(command, "--config", configured(providers, tmp_path, **{section: {"ca_file": "ca.pem"}}))
    assert done.returncode == 78 and f"push.{section}.ca_file" in done.stderr, done


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("section, key", [("apns", "key_file"), ("apns", "ca_file"), ("fcm", "service_account_file")])
def test_a_FIFO_is_78_and_not_waited_for(providers, tmp_path, command, section, key):
    os.mkfifo(tmp_path / "fifo")
    done = run(command, "--config", configured(providers, tmp_path, **{section: {key: "fifo"}}))
    assert done.returncode == 78 and f"push.{section}.{key}" in done.stderr and "FIFO" in done.stderr, done


@pytest.mark.parametrize("member, text", [("client_email", "a\0b"), ("private_key_id", "a\r\nb"), ("private_key_id", "a b")], ids=ascii)
def test_an_account_of_odd_texts_is_78(providers, tmp_path, member, text):
    path = providers.fcm.write_account(tmp_path / "bad.json", **{member: text})
    done = run("serve", "--config", configured(providers, tmp_path, fcm={"service_account_file": str(path)}))
    assert done.returncode == 78 and member in done.stderr, done


@pytest.mark.parametrize("keys, word", [
    ([{"id": "a", "key": "c2hvcnQ="}], "key"), ([{"id": "", "key": "A" * 43 + "="}], "id"), ([{"id": "a", "key": "A" * 43 + "="}] * 2, "a"), ([{"id": "a"}], "key")], ids=str)
def test_wrong_encryption_keys_are_78(providers, tmp_path, keys, word):
    done = run("check-config", "--config", configured(providers, tmp_path, store={"encryption_keys": keys}))
    assert done.returncode == 78 and "encryption_keys" in done.stderr + word and word in done.stderr, done
    assert "c2hvcnQ" not in done.stderr


def test_check_config_shows_what_phones_will_show(providers, tmp_path):
    done = run("check-config", "--config", configured(providers, tmp_path, texts={"job-assigned": {"title": "Go to {pickupAddress|work}", "body": "{nonsense|x}"}}))
    assert done.returncode == 0, done
    assert "job-assigned" in done.stdout and "Go to work" in done.stdout and "nonsense" in done.stdout + done.stderr
    assert "PRIVATE KEY" not in done.stdout and "secret1" not in done.stdout


def test_files_are_found_beside_the_configuration(start_gateway, providers, closing, tmp_path):
    """Relative paths are relative to it."""
    (tmp_path / "kept").mkdir()
    for path in (providers.key_file, providers.account_file):
        (tmp_path / "kept" / path.name).write_bytes(path.read_bytes())
    sections = providers.sections(apns={"key_file": providers.key_file.name}, fcm={"service_account_file": providers.account_file.name})
    assert start_gateway("kept", sections=sections)
