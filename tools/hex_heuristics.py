"""How a player of Hex fares against alpha-beta with heuristics that the package does not use.

The alpha-beta of the arena values positions by two-distances. Elsewhere plain distances (stones missing for a chain)
and resistances (Shannon: empty cells are resistors, own stones wires) are common. This plays against both, written
plainly in Python, for small boards: ``python -m tools.hex_heuristics search:network=hex-5,simulations=200 --games 40``
"""

from __future__ import annotations

import argparse
import heapq
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import ramify as rf
from ramify.arena import PlayerConfig, Turn, match, read_player, register_player

Heuristic = Literal["distance", "resistance"]
WIN = 1e6
WIRE = 1e-3  # resistance of a stone
EMPTY = -1


class Board:
    """Stones of a position by cell: 0, 1 or EMPTY. Player 0 joins top and bottom, player 1 left and right."""

    def __init__(self, rows: Sequence[str]) -> None:
        self.size = n = len(rows)
        self.cells = [{"x": 0, "o": 1}.get(symbol, EMPTY) for row in rows for symbol in row]
        around = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
        self.neighbours = [
            [(r + y) * n + c + x for y, x in around if 0 <= r + y < n and 0 <= c + x < n]
            for r in range(n)
            for c in range(n)
        ]
        self.starts = (range(n), range(0, n * n, n))
        self.ends = (range(n * (n - 1), n * n), range(n - 1, n * n, n))
        self.order = sorted(range(n * n), key=lambda i: abs(2 * (i // n) - n + 1) + abs(2 * (i % n) - n + 1))

    def empty(self) -> list[int]:
        """Empty cells, from the middle on."""
        return [cell for cell in self.order if self.cells[cell] == EMPTY]

    def distance(self, player: int) -> float:
        """Stones that the player still needs for a chain."""
        far = [math.inf] * len(self.cells)
        queue: list[tuple[float, int]] = []

        def reach(cell: int, before: float) -> None:
            length = before + (self.cells[cell] == EMPTY)
            if self.cells[cell] != 1 - player and length < far[cell]:
                far[cell] = length
                heapq.heappush(queue, (length, cell))

        for cell in self.starts[player]:
            reach(cell, 0)
        while queue:
            length, cell = heapq.heappop(queue)
            for after in self.neighbours[cell] if length == far[cell] else ():
                reach(after, length)
        return min(far[cell] for cell in self.ends[player])

    def resistance(self, player: int) -> float:
        """Between the player's edges, with a voltage of 1 at the first and 0 at the last."""
        ohms = {cell: 1.0 if stone == EMPTY else WIRE for cell, stone in enumerate(self.cells) if stone != 1 - player}
        place = {cell: i for i, cell in enumerate(ohms)}
        matrix, feed = np.eye(len(ohms)) * 1e-12, np.zeros(len(ohms))
        for cell, i in place.items():
            for other in self.neighbours[cell]:
                if other in place:
                    conductance = 1 / (ohms[cell] + ohms[other])
                    matrix[i, i] += conductance
                    matrix[i, place[other]] -= conductance
            matrix[i, i] += ((cell in self.starts[player]) + (cell in self.ends[player])) / ohms[cell]
            feed[i] = (cell in self.starts[player]) / ohms[cell]
        voltage = np.linalg.solve(matrix, feed)
        current = sum((1 - voltage[place[cell]]) / ohms[cell] for cell in self.starts[player] if cell in place)
        return 1 / max(float(current), 1e-9)

    def value(self, player: int, heuristic: Heuristic) -> float:
        """What the position looks like for the player; nobody has won."""
        if heuristic == "distance":
            return self.distance(1 - player) - self.distance(player)
        return math.log(self.resistance(1 - player) / self.resistance(player))

    def search(self, player: int, depth: int, low: float, high: float, heuristic: Heuristic) -> float:
        """Alpha-beta; ``player`` is to move."""
        if self.distance(1 - player) == 0:
            return -WIN - depth  # lost, and the sooner the worse
        if depth == 0:
            return self.value(player, heuristic)
        for cell in self.empty():
            self.cells[cell] = player
            low = max(low, -self.search(1 - player, depth - 1, -high, -low, heuristic))
            self.cells[cell] = EMPTY
            if low >= high:
                break
        return low


@register_player
class PlainAlphaBetaConfig(PlayerConfig):
    """Alpha-beta of a fixed depth with one of these heuristics."""

    kind: Literal["plain"] = "plain"
    heuristic: Heuristic = "resistance"
    depth: int = 3

    def open(self, game: rf.Game) -> PlainAlphaBeta:
        if game.name != "hex" or game.params["swap"]:
            raise ValueError(f"plain alpha-beta plays hex without swap, not {game}")
        return PlainAlphaBeta(self)


class PlainAlphaBeta:
    """Tries every action."""

    def __init__(self, config: PlainAlphaBetaConfig) -> None:
        self.config = config

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        return [self._best(turn) for turn in turns]

    def _best(self, turn: Turn) -> int:
        fields: Any = turn.state.fields  # type: ignore[attr-defined]  # of a native state
        board, best, chosen = Board(fields["board"]), -math.inf, -1
        for cell in board.empty():
            board.cells[cell] = turn.player
            value = -board.search(1 - turn.player, self.config.depth - 1, -math.inf, -best, self.config.heuristic)
            board.cells[cell] = EMPTY
            if value > best:
                best, chosen = value, cell
        return chosen

    def close(self) -> None:
        """There is nothing to end."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("player", help="such as search:network=hex-5,simulations=200")
    parser.add_argument("--size", type=int, default=5)
    parser.add_argument("--games", type=int, default=40)
    given = parser.parse_args()
    player, game = read_player(given.player), rf.make("hex", size=given.size)
    for heuristic in ("distance", "resistance"):
        games = match(game, player, f"plain:heuristic={heuristic}", given.games)
        points = sum(played.points[played.fixture.players.index(player.identity)] for played in games)
        print(f"against {heuristic}: {points:g} of {given.games} ({100 * points / given.games:.1f} %)", flush=True)


if __name__ == "__main__":
    main()
