"""A conversation with the UCI engine inside this process."""

from __future__ import annotations

import threading
from typing import Any

from ramify.protocols.uci import UciEngine
from ramify.protocols.uci_options import UciSettings

PATIENCE = 60.0  # seconds for an answer on a busy machine
MATE_IN_TWO = "position fen 7k/8/8/5K2/6Q1/8/8/8 w - - 0 1"


class Session:
    """An engine, what it has written, and ways to wait for more."""

    def __init__(self, **settings: Any) -> None:
        self.lines: list[str] = []
        self._more = threading.Condition()
        self.engine = UciEngine(self._take, UciSettings(**settings), "7.0")

    def _take(self, text: str) -> None:
        with self._more:
            self.lines += text.splitlines()
            self._more.notify_all()

    def send(self, *lines: str) -> list[str]:
        """Execute commands; what is written at once."""
        before = len(self.lines)
        for line in lines:
            self.engine.execute(line)
        return self.lines[before:]

    def until(self, start: str, since: int = 0) -> list[str]:
        """What was written up to a line that begins so."""
        with self._more:
            found = self._more.wait_for(
                lambda: any(line.startswith(start) for line in self.lines[since:]), timeout=PATIENCE
            )
            assert found, self.lines[since:]
            at = next(number for number, line in enumerate(self.lines) if number >= since and line.startswith(start))
            return self.lines[since : at + 1]

    def go(self, command: str = "go nodes 50") -> list[str]:
        """What a search writes, up to its bestmove."""
        before = len(self.lines)
        self.send(command)
        return self.until("bestmove", before)


def fields(line: str) -> dict[str, Any]:
    """An info line by the names of the protocol."""
    words, found = line.split()[1:], dict[str, Any]()
    names = ("depth", "seldepth", "multipv", "nodes", "nps", "hashfull", "time", "tbhits")
    while words:
        name = words.pop(0)
        if name == "score":
            found[words[0]] = int(words[1])
            del words[:2]
        elif name == "wdl":
            found["wdl"], words = [int(word) for word in words[:3]], words[3:]
        elif name == "pv":
            found["pv"], words = words, []
        else:
            assert name in names, line
            found[name] = int(words.pop(0))
    return found


def infos(lines: list[str]) -> list[dict[str, Any]]:
    return [fields(line) for line in lines if line.startswith("info depth")]
