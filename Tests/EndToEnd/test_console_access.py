"""The operators' console for everybody: hostile texts, colours, small screens, the keyboard."""

import json

import pytest

from harness.console import VIEWS
from harness.console_fixtures import browser, console, dispatcher, open_console, ops  # noqa: F401
from harness.fleet import SECTIONS, token, unique_id
from harness.trips import Trip, position

SETTINGS = {"sections": SECTIONS}
HOSTILE = "<img src=x onerror=globalThis.hit=1><script>globalThis.hit=1</script>&amp;"
# Every text that is shown, with its contrast to what is behind it (WCAG 2.1).
CONTRASTS = """(() => {
  const parse = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((part) =>
      part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
    if (!text || !parent.checkVisibility() || parent.closest("script, option, :disabled")) continue;
    const colour = parse(getComputedStyle(parent).color).slice(0, 3);
    const [a, b] = [colour, behind(parent)].map(luminance);
    found.push({ text, contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) });
  }
  return found;
})()"""


@pytest.fixture
def filled(dispatcher, fleet, admin):
    """A console whose views have something to show, with texts that try to be more."""
    hostile = fleet.admin(subject=HOSTILE[:60])
    code = unique_id("O")
    assigned = hostile.assign(code, "42", customerName=HOSTILE, pickupAddress=HOSTILE,
                              bookingReference="r" * 60)
    trip = Trip(fleet, admin, driver=fleet.driver("long-" + "d" * 60)).go_to("en_route")
    trip.locate(position(2_000))
    dispatcher.code, dispatcher.notification = code, assigned["data"]["notificationIds"][0]
    return dispatcher


def open_all(console, api) -> None:
    """Visits every view, with its figures."""
    for route in [*VIEWS, "notifications?state=all", f"notifications?order={console.code}",
                  "log/my-channel"]:
        console.go(route)
        if route == "log/my-channel":
            console.wait_for_text("Follows my-channel")
            api.publish("my-channel", HOSTILE, json.dumps({"name": HOSTILE}))
            console.wait_for("part('.log li')")
        elif route.startswith("notifications?"):
            console.wait_for_rows("Notifications", "rows.length > 0")
        elif route == "map":
            console.wait_for_rows("Drivers on a trip", "rows.length > 0")
        elif route in ("connections", "channels"):
            console.wait_for_rows(route.capitalize(), "rows.length > 0")
        yield route


def test_hostile_texts_are_texts(filled, api):
    shown = ""
    for route in open_all(filled, api):
        shown += filled.run("document.body.innerText")
        assert filled.run("document.querySelectorAll('img, body script').length") == 0, route
    assert HOSTILE in shown, "the event's name"
    filled.go(f"notifications?order={filled.code}")
    filled.wait_for_rows("Notifications", "rows.length > 0")
    assert f"admin:{HOSTILE[:60]}" in filled.run("document.body.innerText")
    filled.go(f"notifications/{filled.notification}")
    filled.wait_for("document.querySelector('details pre').textContent.includes('onerror')")
    filled.go(f"log/{'%3Cimg%20src%3Dx%3E'}")
    filled.wait_for("part('.view-log')")
    assert filled.run("document.querySelectorAll('img, body script').length") == 0
    assert filled.run("globalThis.hit") is None


def test_characters_that_reorder_texts_are_shown_as_escapes(dispatcher, fleet, api):
    """Each is shown as the command line writes it, and the actor and the action in elements of their own."""
    trickster = fleet.admin(subject="ann\u202e\u200f")
    code = unique_id("O")
    trickster.assign(code, "42")
    told = trickster.post("/api/admin/notifications", {"type": "DRIVER_REJECTED", "to": {"driver": "42"},
                                                       "data": {"note": "first\n2nd \u2067line"}})
    dispatcher.go(f"notifications?order={code}")
    rows = dispatcher.wait_for_rows("Notifications", "rows.length > 0")
    assert {row["Caused by"] for row in rows} == {"admin:ann\\u{202e}\\u{200f}: assign"}
    assert dispatcher.run("[...part('td[data-title=\"Caused by\"]').querySelectorAll('bdi')].map((part) => part.textContent)") == [
        "admin:ann\\u{202e}\\u{200f}", "assign"]
    dispatcher.press("job-assigned")
    dispatcher.wait_for("part('.facts bdi')")
    assert dispatcher.run("[...visible('.facts bdi')].map((part) => part.textContent)") == [
        "admin:ann\\u{202e}\\u{200f}", "assign"]
    dispatcher.go(f"notifications/{told.json()['data']['notificationIds'][0]}")
    dispatcher.wait_for("document.querySelector('details pre').textContent.includes('first')")
    data = dispatcher.run("document.querySelector('details pre').textContent")
    assert "first\\n2nd \\u{2067}line" in data and data.count("\n") > 2
    dispatcher.go("log/my-channel")
    dispatcher.wait_for_text("Follows my-channel")
    api.publish("my-channel", "e\u2028v", json.dumps("a\u202eb\u200b"))
    dispatcher.wait_for("part('.log li')")
    shown = dispatcher.run("part('.log').innerText")
    assert "e\\u{2028}v" in shown and "\u202e" not in shown and "\u200b" not in shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_in_both_schemes(filled, api, scheme):
    filled.tab.prefer(color_scheme=scheme, reduced_motion="reduce")
    is_dark = filled.run("matchMedia('(prefers-color-scheme: dark)').matches")
    assert is_dark == (scheme == "dark")
    background = filled.run(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
    assert max(background) < 60 if is_dark else min(background) > 200
    for route in open_all(filled, api):
        texts = filled.run(CONTRASTS)
        assert len(texts) > 15
        faint = [text for text in texts if text["contrast"] < 4.5]
        assert not faint, (route, faint)


def test_nothing_moves_for_those_who_prefer_it(ops):
    moving = ("visible('*').map((node) => getComputedStyle(node)).filter((style) => "
              "parseFloat(style.transitionDuration) > 0 || style.animationName !== 'none').length")
    ops.tab.prefer(reduced_motion="no-preference")
    assert ops.run(moving) > 0
    ops.tab.prefer(reduced_motion="reduce")
    assert ops.run(moving) == 0


@pytest.mark.parametrize("width", [360, 768])
def test_every_view_fits_a_small_screen(filled, api, width):
    filled.tab.resize(width, 740)
    for route in open_all(filled, api):
        assert filled.run("document.documentElement.scrollWidth") <= width, route
        if width == 360:
            assert filled.run("visible('.table').filter((table) => "
                              "table.scrollWidth > table.clientWidth).length") == 0, route
    filled.run("part('#sign-out').click()")
    filled.wait_for("part('#token')")
    assert filled.run("document.documentElement.scrollWidth") <= width


def test_the_keyboard_is_enough(console):
    tab = console.tab
    assert console.run("document.activeElement.id") == "token"
    tab.type(token("admin", "ada"))
    tab.press("Enter")
    console.wait_for("part('#live')?.textContent === 'Live'")
    for number, view in enumerate(VIEWS, 1):
        tab.press(str(number))
        console.wait_for(f"part('.view-{view} h1')")
        if number > 1:
            assert console.run("document.activeElement.tagName") == "H1", "reading goes on there"
    tab.press("4")
    console.wait_for("part('.view-notifications h1')")
    tab.press("/")
    console.wait_for("document.activeElement.closest('.view-notifications form') !== null")
    tab.type("O-1")
    tab.press("1", "1")
    assert console.run("part('.view-notifications') !== undefined"), "digits in a field are text"
    tab.press("Enter")
    console.wait_for("location.hash === '#notifications?order=O-11'")
    tab.press("Tab")
    style, width = console.run("(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])"
                               "(getComputedStyle(document.activeElement))")
    assert style != "none" and width != "0px", "the focus is visible"


def test_the_keys_are_shown_and_can_be_switched_off(ops):
    ops.run("document.querySelector('h1').focus()")
    ops.tab.press("?", modifiers=8)
    ops.wait_for("document.getElementById('keys').open")
    ops.tab.press("2")
    ops.tab.press("Escape")
    ops.wait_for("!document.getElementById('keys').open")
    assert ops.run("part('.view-overview') !== undefined"), "no key acts behind the dialog"
    ops.run("document.getElementById('keys-on').click()")
    ops.tab.press("2")
    ops.go("overview")
    assert ops.run("document.querySelector('.view-connections')") is None


def test_the_skip_link_leads_to_the_content(ops):
    ops.tab.command("Page.bringToFront")
    ops.run("document.activeElement.blur()")
    ops.run("part('.skip').focus()")
    ops.tab.press("Enter")
    ops.wait_for("document.activeElement.tagName === 'H1'")
    assert ops.run("location.hash") in ("", "#overview")


def test_views_and_fields_have_names(filled, api):
    for route in open_all(filled, api):
        nameless = filled.run(
            "visible('button, a, input, select, canvas, svg, table').filter((node) => "
            "!(node.getAttribute('aria-label') || node.closest('label')?.textContent.trim()"
            " || node.labels?.length || node.caption?.textContent || node.textContent.trim()))"
            ".map((node) => node.outerHTML)")
        assert nameless == [], route
        assert filled.run("visible('h1').length") == 1
