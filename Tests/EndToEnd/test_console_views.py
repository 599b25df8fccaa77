"""The lists, the timeline, the live log and the map of the operators' console."""

import base64
import math
from datetime import datetime, timedelta

from harness.api import Api
from harness.client import Client
from harness.console_fixtures import browser, console, dispatcher, open_console, ops  # noqa: F401
from harness.fleet import SECTIONS, Caller, Fleet, report, token, unique_id, wait_until
from harness.raw_client import RawClient
from harness.tiles import TileServer
from harness.trips import DROPOFF, PICKUP, Trip, position
from harness.wire import Wire

SETTINGS = {"sections": SECTIONS}
NEEDS_ADMIN = "This needs an admin's token."


# Connections and channels


def test_connections_of_a_channel_and_of_a_user(ops, fleet, connect, channel):
    driver = fleet.driver()
    of_driver = fleet.signed_in(driver, f"driver-{driver.subject}")
    other = connect()
    other.subscribe(channel)
    ops.go("connections")
    user = f"driver:{driver.subject}"
    for field, value, client in (("Channel", channel, other), ("User", user, of_driver)):
        for each in ("Channel", "User"):
            ops.fill(each, value if each == field else "")
        ops.press("Show")
        [row] = ops.wait_for_rows("Connections",
                                  f"rows.length === 1 && rows[0].Socket === '{client.socket_id}'")
        assert row["App"] == "1001" and row["Queued"] == "0 B", row
    assert row["User"] == user and f"driver-{driver.subject}" in row["Channels"]
    ops.fill("User", "nobody")
    ops.press("Show")
    ops.wait_for_text("No connection matches")


def test_connections_that_do_not_read_come_first(start_gateway, open_console, closing):
    gateway = start_gateway(sections=SECTIONS,
                            limits={"event_bytes": 1_000_000, "outbox_bytes": 1 << 28})
    healthy, later = closing(RawClient(gateway)), closing(RawClient(gateway))
    slow = closing(Wire(gateway, receive_buffer=4096))
    slow.open()
    slow.subscribe("x")
    api = closing(Api(gateway))
    for _ in range(20):
        api.publish("x", "large", "x" * 1_000_000)
    caller = closing(Caller(gateway, "ops", "oz"))

    def is_seen_later() -> bool:
        for client in (later, slow):
            client.send_event("pusher:ping")
        seen = {each["socketId"]: each["lastSeenAt"]
                for each in caller.expect_ok("GET", "/api/ops/connections")["connections"]}
        times = [datetime.fromisoformat(seen[client.socket_id]) for client in (healthy, later)]
        # Their resolution is a second, and each loop reads the clock for its own connections.
        return times[1] - times[0] > timedelta(seconds=0.5)

    wait_until(is_seen_later, "the gateway has heard from two later than from the first")
    ops = open_console(gateway).sign_in(token("ops", "oz")).go("connections")
    rows = ops.wait_for_rows("Connections", "rows.length === 4 && rows[0].Queued.endsWith(' MB')")
    assert rows[0]["Channels"] == "x"
    silent = [row["Socket"] for row in rows[1:]]
    assert silent.index(healthy.socket_id) < silent.index(later.socket_id), "longest silence first"
    ops.fill("Order", "new")
    ops.wait_for_rows("Connections", "rows[0].Channels === 'private-fleetwire-ops'")


def test_older_connections_are_loaded_on_request(start_gateway, open_console, closing):
    gateway = start_gateway(sections=SECTIONS)
    sockets = {closing(RawClient(gateway)).socket_id for _ in range(130)}
    ops = open_console(gateway).sign_in(token("ops", "oz")).go("connections")
    ops.wait_for_rows("Connections", "rows.length === 100")
    ops.press("Load older connections")
    rows = ops.wait_for_rows("Connections", "rows.length === 131")
    assert sockets < {row["Socket"] for row in rows}


def test_channels_by_prefix_with_their_events(ops, connect, api, channel):
    clients = [connect() for _ in range(3)]
    for client in clients:
        client.subscribe(channel)
    clients[0].subscribe(f"{channel}-quiet")
    for _ in range(5):
        api.publish(channel)
    ops.go(f"channels?prefix={channel}")
    rows = ops.wait_for_rows("Channels",
                             "rows.length === 2 && rows[0]['Events, last 5 min'] === '5'")
    assert [(row["Name"], row["Subscriptions"]) for row in rows] == [
        (channel, "3"), (f"{channel}-quiet", "1")]
    ops.press("Connections")
    ops.go(f"connections?channel={channel}")
    ops.wait_for_rows("Connections", "rows.length === 3")


# Notifications


def test_timeline_of_a_notification(ops, fleet, admin, code):
    driver = fleet.driver()
    fleet.listen(driver, f"driver-{driver.subject}")
    notification = admin.assign(code, driver.subject)["data"]["notificationIds"][0]
    report(driver, notification, "action_view_now")
    ops.go(f"notifications/{notification}")
    ops.wait_for("timeline().length === 4")
    steps = ops.run("timeline()")
    stored = admin.expect_ok("GET", f"/api/ops/notifications/{notification}")["steps"]
    assert [(step["name"], step["at"]) for step in steps] == [
        (step["step"], step["at"]) for step in stored]
    names = {step["name"] for step in steps}
    assert names == {"created", "written", "confirmed", "action_view_now"}
    assert steps[0]["after"] == "0" and all(step["after"].startswith("+") for step in steps[1:])
    assert f"driver:{driver.subject}" in steps[-1]["more"]
    assert ops.text(".view-notifications h2") == "job-assigned"
    assert code in ops.run("document.querySelector('details pre').textContent")


def test_a_timeline_goes_on_while_it_is_shown(ops, fleet, admin, code):
    driver = fleet.driver()
    notification = admin.assign(code, driver.subject)["data"]["notificationIds"][0]
    ops.go(f"notifications/{notification}")
    ops.wait_for("timeline().length === 1")
    report(driver, notification, "received")
    ops.wait_for("timeline().at(-1).name === 'received'")


def test_search_by_order_driver_and_notification(ops, fleet, admin, code):
    driver = unique_id("d")
    ids = admin.assign(code, driver)["data"]["notificationIds"]
    other = unique_id("O")
    admin.assign(other, driver)
    ops.go("notifications")

    def search(kind: str, value: str) -> None:
        ops.fill("Search by", kind)
        ops.fill("Value", value)
        ops.press("Search")

    search("order", code)
    rows = ops.wait_for_rows("Notifications", f"rows.length === {len(ids)}")
    assert {row["Channel"] for row in rows} == {f"driver-{driver}", "admin-channel"}
    search("driver", driver)
    rows = ops.wait_for_rows(
        "Notifications", f"rows.length === 2 && rows[0].Channel === 'driver-{driver}'")
    assert {row["Event"] for row in rows} == {"job-assigned"}
    ops.press("job-assigned")
    ops.wait_for("part('.timeline li')")
    search("id", ids[0])
    ops.wait_for(f"part('.facts').innerText.includes('{ids[0]}')")
    search("driver", "nobody")
    ops.wait_for_text("No notification matches")
    search("order", "no-such-order")
    ops.wait_for("part('.refused')?.textContent === 'Order no-such-order not found'")


# The live log


def test_the_log_shows_a_fleet_channel_as_it_happens(dispatcher, admin, code):
    dispatcher.go("log/admin-channel")
    dispatcher.wait_for_text("Follows admin-channel")
    admin.assign(code, "42")
    dispatcher.wait_for(f"part('.log')?.innerText.includes('{code}')")
    names = dispatcher.run("visible('.log strong').map((name) => name.textContent)")
    assert {"order-assigned", "job-assigned"} <= set(names)
    dispatcher.fill("Only events with", "order-assigned")
    shown = "[...document.querySelectorAll('.log li')].filter((row) => !row.hidden)"
    assert dispatcher.run(f"{shown}.every((row) => row.innerText.includes('order-assigned'))")
    assert dispatcher.run(f"{shown}.length") == 1


def test_the_log_is_paused_and_bounded(ops, api, channel):
    ops.go(f"log/{channel}")
    ops.wait_for_text(f"Follows {channel}")
    api.publish(channel, "first")
    ops.wait_for("document.querySelectorAll('.log li').length === 1")
    ops.press("Pause")
    for number in range(3):
        api.publish(channel, f"event-{number}")
    ops.wait_for_text("4 events, 3 wait")
    assert ops.run("document.querySelectorAll('.log li').length") == 1
    ops.press("Go on")
    ops.wait_for("part('.log li strong')?.textContent === 'event-2'", "the newest first")
    for number in range(320):
        api.publish(channel, f"more-{number}")
    ops.wait_for("part('.log li strong').textContent === 'more-319'")
    ops.wait_for_text("324 events")
    assert ops.run("document.querySelectorAll('.log li').length") == 300


def test_the_log_tells_ops_that_fleet_channels_need_an_admin(ops):
    ops.go("log/admin-channel")
    ops.wait_for_text(NEEDS_ADMIN)
    assert ops.text("#live") == "Live"


def test_the_log_changes_its_channel(ops, api, channel):
    for name in (f"{channel}-a", f"{channel}-b"):
        ops.go("log")
        ops.fill("Channel", name)
        ops.press("Follow")
        ops.wait_for_text(f"Follows {name}")
        api.publish([f"{channel}-a", f"{channel}-b"], "tick", name)
        ops.wait_for(f"part('.log li')?.innerText.includes('{name}')")
        assert ops.run("document.querySelectorAll('.log li').length") == 1


# The map


def picture_of(console) -> str:
    return console.run("part('canvas').toDataURL()")


def wait_for_change(console, before: str) -> str:
    """Waits until the map looks different."""
    console.run(f"globalThis.before = {before!r}, null")
    console.wait_for("part('canvas').toDataURL() !== before", "the map changes")
    return picture_of(console)


def test_drivers_move_on_the_map_and_in_the_list(dispatcher, fleet, admin):
    trip = Trip(fleet, admin).go_to("en_route")
    trip.locate(position(3_000, heading=90))
    dispatcher.go("map")
    driver = trip.driver.subject
    rows = dispatcher.wait_for_rows("Drivers on a trip",
                                    f"rows.some((row) => row.Driver === '{driver}')")
    [row] = [row for row in rows if row["Driver"] == driver]
    assert (row["Booking"], row["Status"]) == (trip.reference, "en_route")
    assert row["ETA"].endswith(" min")
    latitude = position(3_000)["latitude"]
    assert row["Position"] == f"{latitude:.4f}, {PICKUP[1]:.4f}"
    # From now on the page learns of positions by events only.
    dispatcher.tab.command("Network.enable")
    dispatcher.tab.command("Network.setBlockedURLs", urls=["*/api/admin/drivers/positions"])
    dispatcher.press(driver)
    before = picture_of(dispatcher)
    trip.locate(position(2_000))
    moved = f"{position(2_000)['latitude']:.4f}, {PICKUP[1]:.4f}"
    dispatcher.wait_for_rows("Drivers on a trip", f"rows.some((row) => row.Position === '{moved}')")
    wait_for_change(dispatcher, before)
    dispatcher.press("Notifications")
    dispatcher.wait_for(f"location.hash === '#notifications?driver={driver}'")


def test_an_orders_places_are_shown(dispatcher, fleet, admin):
    trip = Trip(fleet, admin).go_to("en_route")
    trip.locate(position(3_000))
    dispatcher.go("map")
    driver = trip.driver.subject
    dispatcher.wait_for_rows("Drivers on a trip", f"rows.some((row) => row.Driver === '{driver}')")
    before = picture_of(dispatcher)
    dispatcher.fill("Follow order", trip.code)
    dispatcher.press("Show")
    dispatcher.wait_for_text(f"Driver {driver}, booking {trip.reference}")
    wait_for_change(dispatcher, before)
    dispatcher.fill("Follow order", "no-such-order")
    dispatcher.press("Show")
    dispatcher.wait_for("part('.view-map .refused')?.textContent")


def test_the_map_is_moved_by_buttons_keys_wheel_and_dragging(start_gateway, open_console):
    # Nobody drives: nothing else changes the map.
    dispatcher = open_console(start_gateway(**SETTINGS)).sign_in(token("admin", "ada")).go("map")
    dispatcher.wait_for_text("on a trip")
    tab = dispatcher.tab
    dispatcher.run("part('canvas').focus()")
    seen = picture_of(dispatcher)
    x, y = dispatcher.run("((box) => [box.x + box.width / 3, box.y + box.height / 2])"
                          "(part('canvas').getBoundingClientRect())")

    def mouse(kind: str, x: float, y: float, **more) -> None:
        tab.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1,
                    clickCount=1, **more)

    def drag() -> None:
        mouse("mousePressed", x, y)
        mouse("mouseMoved", x + 60, y + 40)
        mouse("mouseReleased", x + 60, y + 40)

    def pinch() -> None:
        for kind, distance in (("touchStart", 40), ("touchMove", 90), ("touchEnd", 0)):
            fingers = [{"x": x + sign * distance, "y": y, "id": sign} for sign in (1, -1)]
            tab.command("Input.dispatchTouchEvent", type=kind,
                        touchPoints=fingers if distance else [])

    for act in (lambda: dispatcher.press("Zoom in"), lambda: dispatcher.press("Zoom out"),
                lambda: tab.press("+"), lambda: tab.press("-"), lambda: tab.press("ArrowLeft"),
                lambda: tab.press("ArrowUp"), drag, pinch,
                lambda: mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)):
        act()
        seen = wait_for_change(dispatcher, seen)


def test_the_map_tells_ops_that_it_needs_an_admin(ops):
    ops.go("map")
    ops.wait_for(f"part('.view-map .refused')?.textContent.startsWith(\"{NEEDS_ADMIN}\")")


def tile_of(latitude: float, longitude: float, zoom: int) -> tuple[int, int]:
    """The tile at a place: x grows to the east, y to the south (OpenStreetMap's numbering)."""
    angle = math.radians(latitude)
    return (int((longitude + 180) / 360 * 2 ** zoom),
            int((1 - math.asinh(math.tan(angle)) / math.pi) / 2 * 2 ** zoom))


def test_an_operators_tiles_are_below_the_map(start_gateway, open_console, closing):
    tiles = closing(TileServer(250, 200, 10))
    gateway = start_gateway(sections=SECTIONS | {"console": {"tile_url": tiles.template}})
    fleet = Fleet(gateway, closing)
    trip = Trip(fleet, fleet.admin()).go_to("en_route")
    trip.locate(position(3_000))
    console = open_console(gateway)
    console.tab.command("Network.enable")
    console.sign_in(token("admin", "ada")).go("map")
    console.wait_for_rows("Drivers on a trip", "rows.length === 1")
    console.fill("Follow order", trip.code)
    console.press("Show")
    console.wait_for_text(f"Driver {trip.driver.subject}")
    center = ((position(3_000)["latitude"] + DROPOFF[0]) / 2, PICKUP[1])
    wait_until(lambda: any((x, y) == tile_of(*center, zoom) for zoom, x, y in tiles.requested),
               f"the tile in the middle is asked for: {tiles.requested}")
    wait_until(lambda: colour_share(console, (250, 200, 10)) > 0.5, "the tiles are drawn", 30)
    urls = [event["request"]["url"] for event in console.tab.events("Network.requestWillBeSent")]
    hosts = {url.split("/")[2] for url in urls if url.startswith("http")}
    assert hosts <= {f"127.0.0.1:{gateway.port}", tiles.origin.removeprefix("http://")}


def colour_share(console, colour: tuple[int, int, int]) -> float:
    """The share of the map's pixels with this colour. The page cannot read a canvas with tiles of
    another origin, so another page looks at a picture of it.
    """
    box = console.run("((box) => ({x: box.x, y: box.y, width: box.width, height: box.height}))"
                      "(part('canvas').getBoundingClientRect())")
    picture = base64.b64encode(console.tab.picture(clip=box | {"scale": 1})).decode()
    blank = console.tab.browser.open("about:blank")
    try:
        return blank.run(
            "(async () => { const image = await createImageBitmap(await (await fetch("
            f"'data:image/png;base64,{picture}')).blob());"
            "const canvas = new OffscreenCanvas(image.width, image.height);"
            "const context = canvas.getContext('2d');"
            "context.drawImage(image, 0, 0);"
            "const { data } = context.getImageData(0, 0, image.width, image.height); let found = 0;"
            f"for (let index = 0; index < data.length; index += 4) if ({list(colour)}.every("
            "(part, offset) => Math.abs(data[index + offset] - part) < 3)) found += 1;"
            "return found * 4 / data.length; })()")
    finally:
        blank.close()
