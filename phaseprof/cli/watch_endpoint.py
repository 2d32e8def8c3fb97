"""A page of figures for a scraper, on this machine only: where the run stands when it is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from phaseprof.cli.following import RunFollower
from phaseprof.cli.watch_choice import Choice
from phaseprof.errors import UsageError
from phaseprof.report.export.openmetrics import openmetrics_text

_HOST = "127.0.0.1"
_PATH = "/metrics"
_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_MOST_PORT = 65_535
_POLL_S = 0.1  # how soon it sees that it shall end
_PATIENCE_S = 10.0  # with a client that says nothing


@contextmanager
def serving(recording: Path, port: int, choice: Choice) -> Iterator[str]:
    """Answer ``GET /metrics`` on the loopback interface, in a thread of its own; yield the address.

    Args:
        recording: the run's folder, or one of its files.
        port: which; 0: any that is free.
        choice: whose ``ranks`` are shown.

    Raises:
        UsageError: the port is none, or is taken.
    Cost: a request reads what was recorded since the last, at 2 µs a record.
    """
    if not 0 <= port <= _MOST_PORT:
        raise UsageError(f"--port must be 0 to {_MOST_PORT} (got {port})")
    try:
        server = ThreadingHTTPServer((_HOST, port), _handler_for(RunFollower(recording), choice))
    except OSError as error:
        raise UsageError(f"cannot listen on port {port}: {error.strerror}; give another with --port") from error
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), name="phaseprof metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{_HOST}:{server.server_port}{_PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler_for(follower: RunFollower, choice: Choice) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()  # two scrapers may ask at once

    def text() -> str:
        with lock:
            follower.poll()
            return openmetrics_text(filter(choice.takes, follower.run().processes))[0]

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_S

        def do_GET(self) -> None:
            """Answer a scrape; a page of another site that was led here by its name gets nothing."""
            name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
            if name not in (_HOST, "localhost"):
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path.partition("?")[0] != _PATH:
                self.send_error(HTTPStatus.NOT_FOUND, f"metrics are at {_PATH}")
            else:
                body = text().encode("utf-8", "replace")
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", _TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the base class
            """Say nothing: the view is on the terminal."""

    return Handler
