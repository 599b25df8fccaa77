"""The operators' console with the largest fleet, and with what clients may send: what it builds is
bounded.
"""

import json

import pytest

from harness.api import Api
from harness.client import Client
from harness.console_fixtures import browser, console, dispatcher, open_console, ops  # noqa: F401
from harness.fleet import SECTIONS, Fleet, token
from harness.raw_client import RawClient

SETTINGS = {"sections": SECTIONS}
ROWS, TEXT, KEPT = 200, 1 << 16, 1 << 20
DRIVERS = 20_000
POSITIONS = "/api/admin/drivers/positions"

# Answers some paths in the gateway's place, each once: a second request has no answer. `answers` are
# functions by path.
SUBSTITUTE = """(() => {
  globalThis.answers = {};
  const fetched = globalThis.fetch;
  globalThis.fetch = (url, options) => {
    const path = String(url).split("?")[0];
    if (!(path in answers)) return fetched(url, options);
    const make = answers[path];
    answers[path] = null;
    return make ? Promise.resolve(new Response(JSON.stringify(make()))) : new Promise(() => {});
  };
})()"""
# Counts the rows that are built, and how often a canvas is drawn.
COUNT = """(() => {
  globalThis.built = globalThis.drawn = 0;
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes) if (node.tagName === "TR" || node.tagName === "LI") built += 1;
  }).observe(document.body, { subtree: true, childList: true });
  const { setTransform } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.setTransform = function (...matrix) {
    drawn += 1;
    return setTransform.apply(this, matrix);
  };
})()"""
# So many drivers on a square of half a degree.
FLEET = f"""answers["{POSITIONS}"] = () => ({{ success: true, data: {{
  positions: Array.from({{ length: {DRIVERS} }}, (_, index) => ({{
    driverId: `d-${{String(index).padStart(5, "0")}}`, bookingReference: `r-${{index}}`, heading: index % 360,
    latitude: 51 + Math.floor(index / 200) / 200, longitude: index % 200 / 400, status: "en_route",
    estimated_arrival_minutes: 5, last_updated: new Date().toISOString() }})) }} }})"""


@pytest.fixture
def gateway(start_gateway):
    return start_gateway(**SETTINGS, first={"client_events": True}, limits={"client_events_per_second": 1_000})


@pytest.fixture
def fleet(gateway, closing):
    return Fleet(gateway, closing)


@pytest.fixture
def api(gateway, closing):
    return closing(Api(gateway))


# The map


@pytest.fixture
def crowded_map(dispatcher):
    """The map with the largest fleet. Later positions come by events only."""
    dispatcher.run(SUBSTITUTE)
    dispatcher.run(COUNT)
    dispatcher.run(f"{FLEET}, null")
    dispatcher.go("map")
    dispatcher.wait_for_text(f"{ROWS} of 20,000 drivers on a trip, of 20,000 that are in sight")
    dispatcher.wait_for("drawn > 0", "the map is drawn")
    return dispatcher


def test_the_largest_fleet_has_a_bounded_list(crowded_map):
    assert crowded_map.run("part('table').tBodies[0].rows.length") == ROWS
    assert crowded_map.run("document.querySelectorAll('tr').length") <= 2 * ROWS
    assert crowded_map.run("built") <= 2 * ROWS, "the map is fitted after the first list"


def test_nothing_is_drawn_or_built_while_nothing_changes(crowded_map):
    # The map is drawn anew when it is fitted.
    crowded_map.wait_for("(await new Promise((done) => requestAnimationFrame(() => done(drawn)))) === drawn")
    age = "part('tbody td:last-child').textContent"
    for _ in range(2):
        seen = crowded_map.run(f"built = drawn = 0, {age}")
        crowded_map.wait_for(f"{age} !== {json.dumps(seen)}", "the age has grown")
        assert crowded_map.run("[built, drawn]") == [0, 0]


def test_events_are_drawn_together(crowded_map, api):
    started = crowded_map.run("built = drawn = 0, performance.now()")
    for number in range(500):
        data = {"driverId": f"d-{number:05}", "bookingReference": f"r-{number}", "latitude": 51.2,
                "longitude": 0.1 + number / 10_000, "status": "arrived", "last_updated": "2026-03-01T09:30:00Z"}
        api.publish("private-admin-channel", "driver-location", json.dumps(data))
    crowded_map.fill("Only drivers with", "d-00499")
    crowded_map.wait_for_rows("Drivers on a trip", "rows[0].Status === 'arrived'")
    crowded_map.wait_for("drawn > 0", "the map is drawn")
    drawn, seconds = crowded_map.run(f"[drawn, (performance.now() - {started}) / 1000]")
    assert drawn <= seconds + 2, "once a second"


def test_a_search_finds_any_driver(crowded_map):
    crowded_map.fill("Only drivers with", "D-1999")
    rows = crowded_map.wait_for_rows("Drivers on a trip", "rows.length === 10")
    assert [row["Driver"] for row in rows] == [f"d-1999{digit}" for digit in range(10)]
    crowded_map.wait_for_text("10 of 20,000 drivers on a trip")
    crowded_map.fill("Only drivers with", "r-19999")
    crowded_map.wait_for_rows("Drivers on a trip", "rows.length === 1 && rows[0].Driver === 'd-19999'")
    crowded_map.fill("Only drivers with", "nobody")
    crowded_map.wait_for_text("No driver matches")
    crowded_map.fill("Only drivers with", "")
    crowded_map.wait_for_rows("Drivers on a trip", f"rows.length === {ROWS}")


def test_the_list_has_the_drivers_in_sight(crowded_map):
    for _ in range(6):
        crowded_map.press("Zoom in")
    # The last step's 16, not what a step before it had: the list follows the map at its own pace.
    rows = crowded_map.wait_for_rows("Drivers on a trip", "rows.length === 16")
    places = [tuple(map(float, row["Position"].split(", "))) for row in rows]
    # The middle of the fleet.
    assert all(abs(north - 51.25) < 0.02 and abs(east - 0.25) < 0.02 for north, east in places), places
    crowded_map.wait_for_text("16 of 20,000 drivers on a trip")
    driver = rows[0]["Driver"]
    crowded_map.press(driver)
    crowded_map.wait_for_text(f"Driver {driver}, booking r-{int(driver[2:])}")


# The live log


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def hostile_events(name: str) -> list[str]:
    """Thirty messages of a client, all within its limits."""
    texts = [json.dumps({"event": f"client-{depth}", "channel": name, "data": nested(depth)})
             for depth in (2_000, 3_500, 4_900) for _ in range(8)]
    objects = [f'{{"event":"client-object-{depth}","channel":"{name}","data":{nested(depth)}}}'
               for depth in (20, 60) for _ in range(3)]
    return texts + objects


def test_deeply_nested_events_are_formatted_only_when_opened(dispatcher, fleet):
    driver = fleet.driver()
    name = f"private-driver-{driver.subject}"
    client = fleet.listen(driver, f"driver-{driver.subject}")
    dispatcher.go(f"log/{name}")
    dispatcher.wait_for_text(f"Follows {name}")
    events = hostile_events(name)
    for text in events:
        client.send_text(text)
    dispatcher.wait_for_text(f"{len(events)} events")
    dispatcher.wait_for(f"document.querySelectorAll('.log li').length === {len(events)}")
    assert dispatcher.run("part('.log').textContent.length") < len(events) * 400
    data = "document.querySelectorAll('.log pre')"
    assert dispatcher.run(f"[...{data}].every((data) => data.textContent === '')")
    details = "[...document.querySelectorAll('.log details')]"
    dispatcher.run(f"{details}.forEach((details) => {{ details.open = true; }})")
    dispatcher.wait_for(f"[...{data}].every((data) => data.textContent !== '')", "all are formatted")
    lengths = dispatcher.run(f"[...{data}].map((data) => data.textContent.length)")
    assert max(lengths) == TEXT + 1 and sum(lengths) < len(events) * (TEXT + 2)
    dispatcher.run(f"{details}.forEach((details) => {{ details.open = false; }})")
    dispatcher.wait_for(f"[...{data}].every((data) => data.textContent === '')", "all are closed")
    dispatcher.fill("Only events with", "client-4900")
    shown = "[...document.querySelectorAll('.log li')].filter((row) => !row.hidden)"
    assert dispatcher.run(f"{shown}.length") == 8


def test_data_is_formatted_with_a_line_per_member(dispatcher, api, channel):
    dispatcher.go(f"log/{channel}")
    dispatcher.wait_for_text(f"Follows {channel}")
    value = {"a": [1, {"b": "x, [y]: \\\""}], "c": {}, "d": [], "e": None}
    for data in (json.dumps(value), "no JSON, [at] all"):
        api.publish(channel, "tick", data)
    dispatcher.wait_for("document.querySelectorAll('.log li').length === 2")
    dispatcher.run("document.querySelectorAll('.log details').forEach((each) => { each.open = true; })")
    dispatcher.wait_for("[...document.querySelectorAll('.log pre')].every((data) => data.textContent !== '')")
    texts = dispatcher.run("[...document.querySelectorAll('.log pre')].map((data) => data.textContent)")
    assert texts == ["no JSON, [at] all", json.dumps(value, indent=2)]


def test_the_log_keeps_a_megabyte(dispatcher, api, channel):
    dispatcher.go(f"log/{channel}")
    dispatcher.wait_for_text(f"Follows {channel}")
    # In two parts, each of which the log has room for, so that it skips none.
    for newest in (74, 149):
        for number in range(newest - 74, newest + 1):
            api.publish(channel, f"large-{number}", "x" * 10_000)
        dispatcher.wait_for(f"part('.log li strong')?.textContent === 'large-{newest}'", "the newest")
    assert dispatcher.run("document.querySelectorAll('.log li').length") == KEPT // 10_000
    dispatcher.press("Pause")
    for number in range(150, 300):
        api.publish(channel, f"large-{number}", "x" * 10_000)
    kept = KEPT // 10_000
    dispatcher.wait_for_text(f"300 events, {kept} wait, {150 - kept} came too fast to show")
    dispatcher.press("Go on")
    dispatcher.wait_for("part('.log li strong').textContent === 'large-299'")
    assert dispatcher.run("document.querySelectorAll('.log li').length") == kept


# Lists


def test_older_connections_take_the_place_of_newer_ones(ops, gateway, closing):
    clients = [closing(RawClient(gateway)) for _ in range(330)]
    long = closing(Client.connect(gateway))
    for number in range(60):
        long.subscribe(f"{number:03}-" + "x" * 150)
    ops.run(COUNT)
    ops.go("connections")
    ops.wait_for_rows("Connections", "rows.length === 100")
    titles = ops.run("[...document.querySelectorAll('td[title]')].map((cell) => cell.title.length)")
    assert max(titles) <= 2_001, "names are cut in hints"
    ops.fill("Order", "new")
    oldest = ops.rows("Connections")[-1]["Socket"]
    for page in (2, 3, 4):
        ops.press("Load older connections")
        rows = ops.wait_for_rows("Connections", f"rows.at(-1).Socket !== '{oldest}'")
        oldest = rows[-1]["Socket"]
        assert len(rows) == ROWS, page
    assert clients[0].socket_id in {row["Socket"] for row in rows}
    assert not ops.run("visible('button').some(({ textContent }) => textContent === 'Load older connections')")
    ops.wait_for_text("200 connections, older ones")
    assert ops.run("document.querySelectorAll('tr').length") <= 2 * ROWS
    ops.press("Show")
    ops.wait_for_text("100 connections, the newest ones")


def test_a_long_timeline_is_cut(ops):
    """A notification for all drivers has a step for each push and device."""
    ops.run(SUBSTITUTE)
    ops.run("""answers["/api/ops/notifications/N-1"] = () => ({
      notification: { id: "N-1", event: "x", channel: "drivers-channel", state: "created", sequence: 1,
        createdAt: "2026-03-01T09:30:00.000Z", expiresAt: "2026-03-01T09:30:00.000Z",
        data: { text: "y".repeat(200_000) } },
      steps: Array.from({ length: 5_000 }, (_, index) => ({ step: "push_accepted", by: `driver:${index}`,
        at: "2026-03-01T09:30:00.000Z", detail: { note: "z".repeat(10_000) } })) }), null""")
    ops.go("notifications/N-1")
    ops.wait_for_text(f"The first {ROWS} of 5,000 steps")
    assert ops.run("timeline().length") == ROWS
    assert max(ops.run("timeline().map(({ more }) => more.length)")) <= 2_001
    assert ops.run("document.querySelector('details pre').textContent.length") <= TEXT + 1
