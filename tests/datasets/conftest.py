"""Fixtures: an isolated environment, a local web server, and a small data set of its own."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from admmbench.datasets import _fetch

Answer = Callable[[BaseHTTPRequestHandler], None]

# Read before `isolated` hides it from the code under test.
MIRROR = os.environ.get("ADMMBENCH_MIRROR")


@pytest.fixture(scope="session")
def real_mirror() -> Path:
    """Return the folder with the real source files, or skip."""
    if not MIRROR:
        pytest.skip("ADMMBENCH_MIRROR is not set: no source files")
    return Path(MIRROR)


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """Keep tests off the user's cache, off proxies, and quick to give up."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "default-cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_fetch, "ATTEMPTS", 2)
    monkeypatch.delenv("ADMMBENCH_MIRROR", raising=False)


class Server:
    """Serves what `answers` says for a path, and counts the requests."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, Answer] = {}
        self.requests: Counter[str] = Counter()

    def serve(self, path: str, content: bytes, *, announced: int | None = None) -> str:
        """Serve a content; cut short if more bytes are announced than there are."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(announced or len(content)))
            handler.end_headers()
            handler.wfile.write(content)

        self.answers[path] = answer
        return self.url + path


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests[self.path] += 1
            if self.path in state.answers:
                state.answers[self.path](self)
            else:
                self.send_error(404)

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Server(f"http://127.0.0.1:{httpd.server_port}")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()
