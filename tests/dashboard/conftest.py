"""A server for each group of tests, in a process of its own, and Debian's Chromium to look at it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.pile import PILE_RULES

pytest.importorskip("nicegui", reason="the web interface needs nicegui: pip install 'ramify[web]'")

T = TypeVar("T")

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
OWN_GAME = (
    '''
import ramify as rf


@rf.register("pile")
class Pile(rf.PythonGame):
    """Take one to three; who takes the last wins."""

    num_actions = 3
    observation_shape = (2,)
    zero_sum, returns_range = True, (-1, 1)

    def start(self, rng):
        return 6, 0

'''
    + PILE_RULES
    + """\

    def action_name(self, position, player, action):
        return f"take<{action + 1}>"

    def text(self, position):
        return f"{position[0]} left <script>alert(1)</script>"
"""
)


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

    def processor_seconds(self) -> float:
        """Processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory in MB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own: playwright's loop may be running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


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


SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def write_run(folder: Path, name: str, iterations: int = 3, **config: Any) -> Path:
    """A run as its folder shows it, without networks and games."""
    place = folder / "runs" / name
    (place / "checkpoints" / "000000").mkdir(parents=True)
    (place / "checkpoints" / "000000" / "network.safetensors").write_bytes(b"weights")
    whole = {"game": "tictactoe", "loop": {"iterations": iterations, "games": 8}, "seed": 1, **config}
    (place / "ramify-run.json").write_text(json.dumps({"config": whole}))
    lines = []
    for number in range(1, iterations + 1):
        lines += [{"kind": "step", "step": number, "total": 2.0 / number}]
        numbers = {"new_policy": 1.5 / number, "new_value": 0.5 / number, "new_entropy": 1.0, "game_length": 7.5}
        lines += [{"kind": "iteration", "iteration": number, "step": number, "seconds": 60.0 * number, **numbers}]
    (place / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


def write_games(file: Path, count: int) -> None:
    """A store with tic-tac-toe games of three players, one of which has a script for a name."""
    from ramify.arena import Fixture, Opening, Played
    from ramify.store import Store
    from ramify.store.results import values_of

    labels = {"a" * 16: "random", "b" * 16: f"search:network={SCRIPT}", "c" * 16: "alphabeta:depth=2"}
    players = [
        {"identity": one, "kind": "random", "label": label, "content": {}, "versions": {}}
        for one, label in labels.items()
    ]
    pairs = [(one, two) for one in labels for two in labels if one != two]
    games = [((0,), (3,), (1,), (4,), (2,)), ((0,), (3,), (1,), (4,), (8,), (5,))]
    records = []
    for number in range(count):
        actions = games[number % 2]
        fixture = Fixture("tictactoe", {}, pairs[number % len(pairs)], Opening((), 0), number)
        first = 1.0 if number % 2 == 0 else -1.0
        played = Played(fixture, actions, (first, -first), number % 2)  # type: ignore[arg-type]
        records.append({"players": players if number == 0 else [], "game": values_of(played)})
    with Store(file) as store:
        store._take(records)
        store.start_run(f"/somewhere/{SCRIPT}", {"game": SCRIPT})


def fill(folder: Path) -> None:
    """What the server of the tests shows: an engine, a game of the user's own, runs and games."""
    (folder / "engine.py").write_text(textwrap.dedent(ENGINE))
    (folder / "pile.py").write_text(OWN_GAME)
    write_run(folder, "first")
    write_run(folder, "second", seed=2, start=SCRIPT)
    write_games(folder / "ramify.db", 60)


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

    def enter(self) -> None:
        """Get the cookie, without a page."""
        self.page.context.request.get(self.server.link, max_redirects=0)

    def open(self, path: str) -> Any:
        self.page.goto(self.server.base + path)
        return self.page

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def wait(self, what: Callable[[], Any], seconds: float = 60.0) -> Any:
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
    found.enter()
    yield found
    context.close()
    assert found.errors == []
