"""Drives Debian's Chromium over its debugging pipe, so that the page is tested where it is read."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
ALL_DRAWN = (
    "[...document.querySelectorAll('.chart')].filter((c) => c.offsetParent).every((c) => c.dataset.drawn === 'true')"
)
TALL = 9000  # a window in which every chart is near the screen

# Every element that shows text of its own, with its colour, and the colour of the nearest background behind it.
CONTRASTS = """
(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const v = c[i] / 255;
    return sum + weight * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body :not(script):not(style):not(svg *)")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${e.tagName}.${e.className}: ${ratio.toFixed(2)}`);
  }
  return found;
})()
"""

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--no-first-run", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
_PATIENCE_S = 60.0  # a machine that runs other tests may take long to start a browser


class Browser:
    """One headless browser with one page; a context manager.

    Attributes:
        console: messages of the page's console and its uncaught errors.
        requests: addresses that the page asked for.
    """

    def __init__(self, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._n = 0
        self._session = ""
        self._events: list[dict[str, Any]] = []
        self.console: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Browser:
        try:
            targets = self._call("Target.getTargets", {})["targetInfos"]
            page = next(one["targetId"] for one in targets if one["type"] == "page")
            self._session = self._call("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        for fd in (self._out, self._in):
            os.close(fd)
        try:
            self._process.wait(10)  # it ends by itself when the pipe closes
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method of the page's debugging protocol."""
        return self._call(method, params, self._session)

    def open(self, file: Path, *, width: int = 1200, height: int = 900) -> None:
        """Load a file in a window of this size, and wait until it was loaded."""
        self.resize(width, height)
        self._events.clear()
        self.call("Page.navigate", url=file.as_uri())
        self._wait_for("Page.loadEventFired")

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        """Ask for a dark or a light page."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def js(self, expression: str) -> Any:
        """Evaluate an expression in the page, waiting for its promise if it gives one."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        waiting = (
            f"new Promise((done) => {{ const look = () => {{ const v = ({expression}); "
            "v ? done(true) : requestAnimationFrame(look); }; look(); })"
        )
        self.js(waiting)

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Return left, top, width and height of the first element that a selector finds."""
        left, top, width, height = self.js(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
            "return [r.x, r.y, r.width, r.height]; })()"
        )
        return left, top, width, height

    def hover_over(self, selector: str, *, right: float = 0.5, down: float = 0.5) -> None:
        """Move the mouse over an element, to shares of its width and height."""
        left, top, width, height = self.box(selector)
        self.hover(left + right * width, top + down * height)

    def hover(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window, in two steps, since a chart looks at movement."""
        for shift in (-3, 0):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + shift, y=y)

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def pdf(self) -> bytes:
        """Print the page."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def _call(self, method: str, params: Mapping[str, object], session: str = "") -> dict[str, Any]:
        self._n += 1
        number = self._n
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def _wait_for(self, event: str) -> None:
        while not any(one["method"] == event for one in self._events):
            self._next()

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError(f"the browser said nothing for {_PATIENCE_S:.0f} s, or ended")
            self._rest += chunk
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        self._events.append(message)
        if method == "Runtime.consoleAPICalled":
            self.console.append(f"{params['type']}: {[a.get('value') for a in params['args']]}")
        elif method == "Runtime.exceptionThrown":
            self.console.append(f"exception: {params['exceptionDetails']}")
        elif method == "Log.entryAdded":
            self.console.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
