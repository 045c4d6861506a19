"""A web server of the test's own, and an empty cache."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives `content` in the way that the first part of the path names."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        way, _, name = self.path.strip("/").partition("/")
        content = self.server.files.get(name)
        if content is None or way == "missing":
            self.send_error(404)
            return
        if way == "broken":
            self.send_error(503)
            return
        if way == "silent":
            self.server.over.wait(20)
            return
        self.send_response(200)
        half = content[: len(content) // 2]
        body = {"wrong": b"x" * len(content), "short": half, "huge": content + b"x" * (2 << 20)}.get(
            way, content
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(half if way in ("dropped", "stalled") else body)
        self.wfile.flush()
        if way == "stalled":
            self.server.over.wait(20)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.over = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """A client may hang up."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Serves ``files[name]`` at ``/right/name``, and in other ways at ``/wrong/name`` and so on."""
    monkeypatch.setenv("NO_PROXY", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, not made yet; no mirror."""
    monkeypatch.setenv("GIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GIA_DATA_MIRROR", raising=False)
    return tmp_path / "cache"
