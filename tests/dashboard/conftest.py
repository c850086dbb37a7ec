"""A server for each group of tests, in a process of its own, and Debian's Chromium to look at it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("nicegui", reason="the web interface needs nicegui: pip install 'ramify[web]'")

# A chess engine that always answers f3 and g4 with the quickest mate there is.
ENGINE = """
import sys
answer = ""
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print("id name fool", "uciok", sep="\\n", flush=True)
    elif words[:1] == ["isready"]:
        print("readyok", flush=True)
    elif words[:1] == ["position"]:
        white = "w" in words if "moves" not in words else (len(words) - words.index("moves")) % 2 == 1
        answer = "e2e4" if white else "d8h4" if "6P1" in line or "g2g4" in words else "e7e5"
    elif words[:1] == ["go"]:
        print("bestmove", answer, flush=True)
    elif words[:1] == ["quit"]:
        break
"""
OWN_GAME = '''
import ramify as rf


@rf.register("pile")
class Pile(rf.PythonGame):
    """Take one to three; who takes the last wins."""

    num_actions = 3
    observation_shape = (2,)
    zero_sum, returns_range = True, (-1, 1)

    def start(self, rng):
        return 6, 0

    def acting(self, position):
        return (position[1],) if position[0] else ()

    def legal_actions(self, position, player):
        return range(min(position[0], 3))

    def apply(self, position, action):
        left, player = position[0] - action - 1, position[1]
        win = 0 if left else 1 - 2 * player
        return (left, 1 - player), (win, -win)

    def observation(self, position, player):
        return position[0], position[1] == player

    def action_name(self, position, player, action):
        return f"take<{action + 1}>"

    def text(self, position):
        return f"{position[0]} left <script>alert(1)</script>"
'''


@dataclass
class Server:
    """A running ``ramify web``."""

    process: subprocess.Popen[str]
    link: str
    folder: Path

    @property
    def base(self) -> str:
        return self.link.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(urlsplit(self.link).port or 0)

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.link).query)["token"][0]

    def memory(self) -> float:
        """Resident memory in MB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def start_server(folder: Path, *arguments: str) -> Server:
    """Start the server in a folder; it ends with ``stop_server``."""
    command = [sys.executable, "-m", "ramify", "web", "--port", "0", "--json", "--no-open", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAMIFY_CACHE": str(folder / "cache")}
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
    assert process.stdout is not None
    text = ""
    while "}" not in text:
        line = process.stdout.readline()
        if not line:
            process.stdout.close()
            process.wait()
            raise AssertionError((folder / "errors.txt").read_text())
        text += line
    return Server(process, json.loads(text)["link"], folder)


def stop_server(server: Server) -> None:
    server.process.terminate()
    try:
        server.process.wait(10)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
    if server.process.stdout is not None:
        server.process.stdout.close()


def fill(folder: Path) -> None:
    """What the server of the tests shows: an engine, a game of the user's own."""
    (folder / "engine.py").write_text(textwrap.dedent(ENGINE))
    (folder / "pile.py").write_text(OWN_GAME)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("web")
    fill(folder)
    engine = f"uci:command={sys.executable} {folder / 'engine.py'},depth=1"
    found = start_server(folder, "--player", engine, "--import", "pile.py")
    yield found
    stop_server(found)


def chromium() -> str | None:
    """The browser, where there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name)) is not None), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window. In CI it has to be there; elsewhere tests are skipped without it."""
    path = chromium()
    if path is None:
        missing = "the tests of the web interface need Chromium: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    api = pytest.importorskip("playwright.sync_api", reason="the tests of the web interface need playwright")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


class Tab:
    """A page in the browser that remembers every error."""

    def __init__(self, context: Any, server: Server) -> None:
        self.page, self.server = context.new_page(), server
        self.errors: list[str] = []
        self.page.set_default_timeout(20_000)
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._own)

    def _own(self, request: Any) -> None:
        """Nothing is loaded from anywhere else."""
        if urlsplit(request.url).scheme in ("http", "https", "ws") and not request.url.startswith(
            (self.server.base, self.server.base.replace("http", "ws"))
        ):
            self.errors.append(f"loads {request.url}")

    def open(self, path: str) -> Any:
        self.page.goto(self.server.base + path)
        return self.page

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def wait(self, what: Callable[[], Any], seconds: float = 20.0) -> Any:
        """Wait until something is true, and return it."""
        end = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < end, f"not within {seconds} seconds; errors: {self.errors}"
            self.page.wait_for_timeout(40)
        return found

    def soon(self, what: Callable[[], Any], seconds: float = 4.0) -> bool:
        """Whether something becomes true in a few seconds."""
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end:
                return False
            self.page.wait_for_timeout(40)
        return True


@pytest.fixture
def tab(browser: Any, server: Server) -> Iterator[Tab]:
    """A tab that is logged in; a test fails where the page had errors."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    found = Tab(context, server)
    found.page.goto(server.link)
    yield found
    context.close()
    assert found.errors == []
