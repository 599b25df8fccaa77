"""A headless Chromium, controlled only through its DevTools protocol, and the page that it opens.
"""

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from websockets.sync.client import connect

from .apps import TIMEOUT, App
from .gateway import environment

PAGE = Path(__file__).with_name("page.html").read_bytes()


class PageServer:
    """Serves the page on a separate origin, and signs subscriptions like an application's backend.
    """

    def __init__(self, app: App):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.respond(
                    *((200, "text/html", PAGE) if self.path == "/"
                      else (404, "text/plain", b"not here")))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                data = form.get("channel_data")
                signed = {"auth": app.auth(form["socket_id"], form["channel_name"], data)} | (
                    {"channel_data": data} if data else {})
                self.respond(200, "application/json", json.dumps(signed).encode())

            def respond(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Browser:
    """`switches` are further ones of Chromium's command line."""

    def __init__(self, directory: Path, *switches: str):
        program = shutil.which("chromium")
        assert program, "no chromium: these tests need the Debian package of that name"
        directory.mkdir(parents=True, exist_ok=True)
        self.log_path = directory / "chromium.log"
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        variables = {name: value for name, value in environment(HOME=str(directory)).items()
                     if name not in names}
        with self.log_path.open("wb") as log:
            # A separate process group, so that all of Chromium's processes can be killed together.
            self.process = subprocess.Popen(
                [program, *switches, "--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-extensions", "--remote-debugging-port=0",
                 f"--user-data-dir={directory / 'profile'}", "about:blank"],
                env=variables, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        try:
            port, path = self._address(directory / "profile/DevToolsActivePort")
            self.stack = ExitStack()
            self.socket = self.stack.enter_context(
                connect(f"ws://127.0.0.1:{port}{path}", proxy=None, max_size=None,
                        open_timeout=TIMEOUT))
        except BaseException:
            self._kill()
            raise
        self.numbers = itertools.count(1)
        # What Chromium reported besides responses: of the domains that a tab has enabled.
        self.events: list[dict] = []

    def _address(self, path: Path) -> list[str]:
        """Waits for the port file: Chromium writes port and path, one per line, once it listens."""
        deadline = time.monotonic() + 2 * TIMEOUT
        while not (path.exists() and len(lines := path.read_text().split()) == 2):
            assert self.process.poll() is None and time.monotonic() < deadline, (
                f"chromium does not start:\n{self.log_path.read_text()[-2000:]}")
            time.sleep(0.02)
        return lines

    def command(self, method: str, session: str | None = None, **params) -> dict:
        number = next(self.numbers)
        self.socket.send(
            json.dumps({"id": number, "method": method, "params": params}
                       | ({"sessionId": session} if session else {})))
        deadline = time.monotonic() + TIMEOUT
        while True:
            response = json.loads(self.socket.recv(timeout=max(0, deadline - time.monotonic())))
            if response.get("id") == number:
                assert "error" not in response, response["error"]
                return response["result"]
            self.events.append(response)

    def open(self, url: str) -> "Tab":
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        tab = Tab(
            self, self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"],
            target)
        tab.navigate(url)
        return tab

    def _kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def close(self) -> None:
        self.stack.close()
        self._kill()


class Tab:
    def __init__(self, browser: Browser, session: str, target: str):
        self.browser, self.session, self.target, self.closed = browser, session, target, False

    def navigate(self, url: str) -> None:
        """Loads the URL. Returns when the page's script has run."""
        self.browser.command("Page.navigate", self.session, url=url)
        deadline = time.monotonic() + TIMEOUT
        while self.run(f"location.href.startsWith({json.dumps(url)}) && document.readyState") != "complete":
            assert time.monotonic() < deadline, f"{url} does not load"
            time.sleep(0.02)

    def run(self, script: str):
        """Evaluates an expression and returns its value; awaits a promise."""
        result = self.browser.command("Runtime.evaluate", self.session,
                                      expression=f"(async () => ({script}))()", awaitPromise=True,
                                      returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def command(self, method: str, **params) -> dict:
        return self.browser.command(method, self.session, **params)

    def events(self, *methods: str) -> list[dict]:
        """The parameters of the events of these kinds so far. Their domain must be enabled."""
        self.run("null")  # reads what has arrived
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event.get("method") in methods]

    def wait_for(self, condition: str, what: str | None = None) -> None:
        """Waits until an expression of the page is true."""
        deadline = time.monotonic() + 2 * TIMEOUT
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, (
                f"not in the page: {what or condition}\n{self.run('document.body.innerText')}")
            time.sleep(0.05)

    def press(self, key: str, text: str | None = None, modifiers: int = 0) -> None:
        """Presses a key as a person does: the page and the browser react. 8 is Shift."""
        if text is None:
            text = {"Enter": "\r", "Space": " "}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "Space": 32, "ArrowLeft": 37, "ArrowUp": 38,
                "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)
        params = {"key": " " if key == "Space" else key, "windowsVirtualKeyCode": code,
                  "modifiers": modifiers} | ({"text": text} if text else {})
        self.command("Input.dispatchKeyEvent", type="keyDown", **params)
        self.command("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text: str) -> None:
        """Types into the field that has the focus."""
        self.command("Input.insertText", text=text)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=scale, mobile=width < 500)

    def prefer(self, **features: str) -> None:
        """Sets what the person prefers: `prefer(color_scheme="dark", reduced_motion="reduce")`."""
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": f"prefers-{name.replace('_', '-')}", "value": value}
                               for name, value in features.items()])

    def picture(self, **more) -> bytes:
        """A PNG of what is visible."""
        return base64.b64decode(self.command("Page.captureScreenshot", **more)["data"])

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.browser.command("Target.closeTarget", targetId=self.target)
