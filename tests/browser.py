"""A small client of Chromium's DevTools protocol, over a pipe: no library, no port, no network.

https://chromedevtools.github.io/devtools-protocol/ describes the messages: JSON, each ended by a NUL byte.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 60.0
"""Seconds that anything may take, on a machine that does much else."""


class Browser:
    """A headless Chromium with a profile of its own."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        # It reads from file descriptor 3 and writes to 4.
        pipes = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        options = [
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"),
            f"--user-data-dir={profile}",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", pipes, "bash", CHROMIUM, *options],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """End the browser."""
        try:
            self.send("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer; events on the way are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "Chromium does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "Chromium has ended"
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    @contextmanager
    def tab(self, downloads: Path, **device: Any) -> Iterator[Tab]:
        """Open an empty tab; ``device`` is what `Tab.__init__` takes."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self.events.clear()
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        try:
            yield Tab(self, attached["sessionId"], downloads, **device)
        finally:
            self.send("Target.closeTarget", targetId=target)


class Tab:
    """A page: what a reader does with it, and what the reader sees.

    Parameters
    ----------
    width, height
        Size of the window in pixels.
    dark
        Whether the reader prefers dark pages.
    scripts
        Whether JavaScript is on.
    """

    def __init__(
        self,
        browser: Browser,
        session: str,
        downloads: Path,
        *,
        width: int = 1200,
        height: int = 900,
        dark: bool = False,
        scripts: bool = True,
    ) -> None:
        self._browser, self._session, self.downloads = browser, session, downloads
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.send("Emulation.setDeviceMetricsOverride", mobile=width < 500, **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the tab for something."""
        return self._browser.send(method, self._session, **params)

    def open(self, address: str) -> None:
        """Load an address and wait until it is there."""
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, expression: str) -> Any:
        """Value of an expression, a promise waited for."""
        found = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> Any:
        """Wait until an expression is true, and give its value."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(condition)):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.05)
        return found

    def place(self, selector: str) -> tuple[float, float]:
        """Middle of an element, which is scrolled into view, when it has come to rest there."""
        find = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        x, y = self.run(find)
        while True:
            time.sleep(0.05)
            before, (x, y) = (x, y), self.run(find)
            if before == (x, y):
                return x, y

    def move(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, x: float, y: float, kind: str = "mousePressed", clicks: int = 1) -> None:
        """Press the left button, or release it."""
        where = {"x": x, "y": y, "button": "left", "clickCount": clicks}
        self.send("Input.dispatchMouseEvent", type=kind, **where)

    def click(self, selector: str, times: int = 1) -> None:
        """Click into the middle of an element."""
        x, y = self.place(selector)
        for clicks in range(1, times + 1):
            self.press(x, y, clicks=clicks)
            self.press(x, y, "mouseReleased", clicks=clicks)

    def key(self, name: str) -> None:
        """Press a key, such as ``ArrowLeft`` or ``+``."""
        text = {"text": name} if len(name) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=name)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            "e.dispatchEvent(new Event('change')); })()"
        )

    def content(self, name: str) -> bytes:
        """Bytes of a file that the page saved."""
        path, end = self.downloads / name, time.monotonic() + PATIENCE
        while not path.exists() or list(self.downloads.glob("*.crdownload")):
            assert time.monotonic() < end, f"{name} never came; {list(self.downloads.iterdir())}"
            time.sleep(0.05)
        return path.read_bytes()

    def downloaded(self, name: str) -> str:
        """Text of a file that the page saved."""
        return self.content(name).decode("utf-8")

    def pdf(self) -> bytes:
        """What printing gives."""
        return base64.b64decode(self.send("Page.printToPDF")["data"])

    def complaints(self) -> list[str]:
        """Errors and warnings of the page so far."""
        self.run("1")  # what was said before has come by then
        found = []
        for event in self._browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(str(params["entry"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        self.run("1")
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
