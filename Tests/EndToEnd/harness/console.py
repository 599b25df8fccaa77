"""The operators' console in a browser's tab, as a person uses it."""

import json

from .browser import Browser, Tab
from .gateway import Gateway

# Defined in the page. `part` is the first visible element of a selector, `visible` are all; `fill` acts
# like typing; `rows` reads a table as it is shown, by its titles.
SCRIPT = """
globalThis.visible = (selector) =>
  [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility());
globalThis.part = (selector) => visible(selector)[0];
globalThis.fill = (label, value) => {
  const name = [...document.querySelectorAll("label.field span")]
    .find((span) => span.textContent === label && span.checkVisibility());
  const field = name.parentNode.querySelector("input, select");
  field.value = value;
  for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, {bubbles: true}));
};
globalThis.rows = (caption) => {
  const table = [...document.querySelectorAll("table")].find((table) =>
    table.caption.textContent === caption && table.checkVisibility());
  return [...table?.tBodies[0].rows ?? []].map((row) =>
    Object.fromEntries([...row.cells].map((cell) => [cell.dataset.title, cell.textContent])));
};
globalThis.chart = (title) => [...document.querySelectorAll(".chart")].find((chart) =>
  chart.querySelector("h3").textContent === title).querySelector("svg").getAttribute("aria-label");
globalThis.timeline = () => [...document.querySelectorAll(".timeline li")].map((step) => ({
  name: step.querySelector("strong").textContent, at: step.querySelector("time").dateTime,
  after: step.querySelector(".after").textContent, more: step.querySelector(".note").textContent,
}));
globalThis.press = (text) => visible("button, a").find((node) =>
  node.textContent === text || node.getAttribute("aria-label") === text).click();
null
"""


class Console:
    def __init__(self, browser: Browser, gateway: Gateway):
        self.tab: Tab = browser.open(f"{gateway.url}/console")
        self.run = self.tab.run
        self.prepare()

    def prepare(self) -> None:
        """Defines the functions of the page; anew after it was loaded again."""
        self.tab.command("Runtime.evaluate", expression=SCRIPT)

    def sign_in(self, token: str) -> "Console":
        """Signs in, and waits for the first figures of the live feed."""
        self.submit_token(token)
        self.wait_for("part('#sign-out')", "signed in")
        self.wait_for("part('#live')?.textContent === 'Live'", "live")
        return self

    def submit_token(self, token: str) -> None:
        self.run(f"document.getElementById('token').value = {json.dumps(token)}")
        self.run("part('#sign-in button').click()")

    def go(self, route: str) -> "Console":
        """Opens a view by its route, without the `#`."""
        name = route.replace("?", "/").split("/")[0]
        self.run(f"location.hash = {json.dumps(route)}")
        self.wait_for(f"part('.view-{name} h1')", name)
        return self

    def wait_for(self, condition: str, what: str | None = None) -> None:
        self.tab.wait_for(condition, what)

    def wait_for_text(self, text: str) -> None:
        self.wait_for(f"document.body.innerText.includes({json.dumps(text)})", text)

    def fill(self, label: str, value: str) -> None:
        self.run(f"fill({json.dumps(label)}, {json.dumps(value)})")

    def press(self, text: str) -> None:
        """Clicks the button or link with this text."""
        self.run(f"press({json.dumps(text)})")

    def rows(self, caption: str) -> list[dict[str, str]]:
        return self.run(f"rows({json.dumps(caption)})")

    def wait_for_rows(self, caption: str, condition: str) -> list[dict[str, str]]:
        """Waits until a condition holds for the `rows` of a table, and returns them."""
        self.wait_for(f"((rows) => {condition})(rows({json.dumps(caption)}))",
                      f"{caption}: {condition}")
        return self.rows(caption)

    def text(self, selector: str) -> str:
        return self.run(f"part({json.dumps(selector)})?.textContent")

    def close(self) -> None:
        self.tab.close()


VIEWS = ["overview", "connections", "channels", "notifications", "log", "map"]
