"""Load on ``ramify web``: many clients at once, each of which plays Hex in a tab of its own.

The clients speak the protocol of the pages (NiceGUI's messages over a web socket) without drawing them, so that the
server is what is measured. Prints how long moves took, the memory of the server over time, and how many searches and
tabs are left after the clients have gone.

    python -m tools.web_load --clients 25 --seconds 600 --simulations 100 --size 7
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import numpy as np
import socketio

LEGAL = re.compile(r'data-place="([a-z]\d+)" class="legal')
PAGE = re.compile(r"parseElements\(String\.raw`(.*?)`\)", re.DOTALL)


@dataclass
class Findings:
    """What the clients have seen."""

    seconds: list[float] = field(default_factory=list)  # of each answered move
    games: int = 0
    errors: list[str] = field(default_factory=list)


class LoadClient:
    """A tab that plays Hex at random."""

    def __init__(self, base: str, cookie: str, path: str, findings: Findings, rng: random.Random) -> None:
        self.base, self.cookie, self.path, self.findings, self.rng = base, cookie, path, findings, rng
        self.elements: dict[str, Any] = {}
        self.changed = asyncio.Event()

    async def run(self, until: float) -> None:
        """Play games until this time."""
        headers = {"Cookie": self.cookie, "Origin": self.base}
        async with aiohttp.ClientSession(headers=headers) as session, session.get(self.base + self.path) as answer:
            page = await answer.text()
        found, client = PAGE.search(page), re.search(r"'client_id': '([^']+)'", page)
        assert found is not None
        assert client is not None
        self.elements, self.client = json.loads(_unescaped(found[1])), client[1]
        self.socket = socketio.AsyncClient(reconnection=False)
        self.socket.on("update", self.update)
        ours = {"client_id": self.client, "document_id": str(uuid.uuid4()), "tab_id": str(uuid.uuid4())}
        query = urlencode({**ours, "next_message_id": 0, "implicit_handshake": "true"})
        await self.socket.connect(
            f"{self.base}?{query}", headers=headers, socketio_path="/_nicegui_ws/socket.io", transports=["websocket"]
        )
        try:
            while time.monotonic() < until:
                await self.play(until)
        finally:
            await self.socket.disconnect()

    async def update(self, changes: dict[str, Any]) -> None:
        for number, element in changes.items():
            if element is not None and number != "_id":
                self.elements[number] = element
        self.changed.set()

    def find(self, kind: str) -> tuple[str, Any]:
        return next((number, one) for number, one in self.elements.items() if kind in one.get("class", []))

    def content(self, kind: str) -> str:
        return str(self.find(kind)[1].get("props", {}).get("innerHTML", ""))

    async def send(self, number: str, element: Any, kind: str, args: Any) -> None:
        listener = next(event["listener_id"] for event in element["events"] if event["type"] == kind)
        await self.socket.emit(
            "event",
            {
                "id": int(number),
                "client_id": self.client,
                "listener_id": listener,
                "args": [json.dumps(one) for one in args],
            },
        )

    async def wait(self, what: Any, patience: float = 60.0) -> None:
        end = time.monotonic() + patience
        while not what():
            self.changed.clear()
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer within {patience} seconds: {self.content('status')[:80]}")
            try:
                await asyncio.wait_for(self.changed.wait(), left)
            except TimeoutError:
                continue

    async def play(self, until: float) -> None:
        """One game, or what there is time for."""
        await self.wait(lambda: "Your move" in self.content("status"))
        while time.monotonic() < until:
            number, board = self.find("board")
            await self.wait(lambda: LEGAL.search(self.content("board")))
            legal = LEGAL.findall(self.content("board"))
            begun = time.monotonic()
            before = self.content("moves").count("data-turn")
            await self.send(number, board, "click", [self.rng.choice(legal)])
            await self.wait(lambda before=before: self.content("moves").count("data-turn") > before)
            await self.wait(lambda: re.search("Your move|You win|You lose", self.content("status")))
            self.findings.seconds.append(time.monotonic() - begun)
            if "Your move" not in self.content("status"):
                self.findings.games += 1
                number, button = next(
                    (n, one) for n, one in self.elements.items() if one.get("props", {}).get("label") == "Start"
                )
                await self.send(number, button, "click", [])
                await self.wait(lambda: self.content("moves").count("data-turn") == 0)
                return
            await asyncio.sleep(self.rng.uniform(0.5, 1.5))  # a person looks at the board


def _unescaped(text: str) -> str:
    """The elements as JSON; the page escapes what would end its script."""
    for escaped, plain in (("&lt;", "<"), ("&gt;", ">"), ("&#96;", "`"), ("&#36;", "$"), ("&amp;", "&")):
        text = text.replace(escaped, plain)
    return text


def memory(number: int) -> float:
    """Resident memory of a process in MB."""
    return int(Path(f"/proc/{number}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


def processor_seconds(number: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(link: str, process: int, options: argparse.Namespace) -> dict[str, Any]:
    base = link.partition("/?")[0]
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session, session.get(link, allow_redirects=False) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
    findings, path = Findings(), f"/play?game=hex%20size%3D{options.size}&simulations={options.simulations}"
    until = time.monotonic() + options.seconds
    clients = [LoadClient(base, cookie, path, findings, random.Random(number)) for number in range(options.clients)]
    used, begun = [memory(process)], processor_seconds(process)

    async def watch() -> None:
        while time.monotonic() < until:
            await asyncio.sleep(min(15.0, max(0.1, until - time.monotonic())))
            used.append(memory(process))

    results = await asyncio.gather(watch(), *(one.run(until) for one in clients), return_exceptions=True)
    findings.errors += [repr(one) for one in results if isinstance(one, BaseException)]
    await asyncio.sleep(8)  # longer than the server waits for tabs to come back
    times = np.array(findings.seconds or [float("nan")])
    third = max(1, len(used) // 3)
    return {
        "clients": options.clients,
        "moves": len(findings.seconds),
        "games": findings.games,
        "median_s": round(float(np.median(times)), 3),
        "p95_s": round(float(np.quantile(times, 0.95)), 3),
        "slowest_s": round(float(times.max()), 3),
        "under_2s": round(float((times < 2).mean()), 4),
        "server_seconds_per_move": round((processor_seconds(process) - begun) / max(1, len(findings.seconds)), 3),
        "memory_mb": [round(one) for one in used],
        "memory_second_third_to_last": round(np.mean(used[-third:]) - np.mean(used[third : 2 * third]), 1),
        "memory_after_mb": round(memory(process)),
        "threads_after": len(list(Path(f"/proc/{process}/task").iterdir())),
        "errors": findings.errors[:5],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--size", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ramify", "web", "--port", "0", "--json", "--no-open"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert server.stdout is not None
            text = ""
            while "}" not in text:
                text += server.stdout.readline() or sys.exit("the server did not start")
            found = asyncio.run(measure(json.loads(text)["link"], server.pid, options))
        finally:
            server.terminate()
            server.wait()
    print(json.dumps(found, indent=2))
    return 1 if found["errors"] or found["under_2s"] < 0.95 else 0


if __name__ == "__main__":
    sys.exit(main())
