"""What a search has found, as the ``info`` lines of UCI."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from ramify.chess import centipawns, proven_draw, proven_mate, win_draw_loss
from ramify.engine import SearchResult
from ramify.engine.result import Path, Report, most_visited, played
from ramify.engine.result_text import ranking
from ramify.games import State
from ramify.protocols.mates import Mate

LONGEST_LINE = 60  # moves of a principal variation


@dataclass(frozen=True)
class Line:
    """One move with what follows it: a value for the player to move from -1 to 1, or the moves to a mate."""

    actions: tuple[int, ...]
    value: float
    mate: int | None = None
    drawn: bool = False  # for certain

    def score(self, wdl: bool) -> str:
        shown = f"cp {centipawns(self.value)}" if self.mate is None else f"mate {self.mate}"
        if not wdl:
            return shown
        win, _, loss = (0, 0, 0) if self.drawn else (round(1000 * share) for share in win_draw_loss(self.value))
        return f"{shown} wdl {win} {1000 - win - loss} {loss}"


@dataclass(frozen=True)
class Progress:
    """How far a search has come."""

    depth: int
    deepest: int
    simulations: int
    seconds: float
    permille: int  # of the memory in use
    tablebase_hits: int = 0

    def text(self) -> str:
        rate = round(self.simulations / max(self.seconds, 1e-3))
        hits = f" tbhits {self.tablebase_hits}" if self.tablebase_hits else ""
        time = f"time {round(1000 * self.seconds)}"
        return f"nodes {self.simulations} nps {rate} hashfull {self.permille}{hits} {time}"


def info_lines(state: State, lines: Sequence[Line], progress: Progress, *, wdl: bool = True) -> list[str]:
    """One ``info`` for every line, the best first."""
    found = []
    for number, line in enumerate(lines, 1):
        depth = f"depth {max(1, progress.depth)} seldepth {max(1, progress.depth, progress.deepest)}"
        moves = " ".join(move_names(state, line.actions))
        found.append(f"info {depth} multipv {number} score {line.score(wdl)} {progress.text()} pv {moves}")
    return found


def move_names(state: State, actions: Sequence[int]) -> list[str]:
    """Moves in UCI notation, played one after another."""
    names, walk = [], state.copy()
    for action in actions:
        names.append(walk.action_name(action))
        walk.apply(action)
    return names


def best_lines(result: SearchResult, count: int, without: Container[int] = ()) -> list[Line]:
    """The best moves with their lines, ``without`` some actions; of moves that were not looked at only the best."""
    player, lines = result.acting[0], list[Line]()
    for outcome in map(int, ranking(result, player)):
        action = int(result.outcomes[player][outcome])
        seen = result.visits.ravel()[outcome] > 0
        seen = seen or (result.proof is not None and int(result.proof.plies.ravel()[outcome]) >= 0)
        if len(lines) < count and action not in without and (seen or not lines):
            lines.append(line_of(result, outcome, action))
    return lines


def line_to(mate: Mate) -> Line:
    """A mate as a line."""
    return Line(mate.line, 1.0 if mate.moves > 0 else -1.0, mate.moves)


def line_of(result: SearchResult, outcome: int, action: int) -> Line:
    """The line that begins with one move of the root."""
    player, mate = result.acting[0], proven_mate(result, outcome)
    value = float(result.q[player][outcome]) if result.visits.ravel()[outcome] else float(result.value[player])
    if mate is not None:
        value = 1.0 if mate > 0 else -1.0
    drawn = mate is None and proven_draw(result, outcome)
    if drawn:
        value = 0.0
    path: Path = [(-1, action) if player else (action, -1)]
    while len(path) < LONGEST_LINE:
        report = result.node(path)
        if not report["ready"] or (following := next_edge(report)) is None:
            break
        path.append(following)
    actions = [played(joint) for joint in path]
    return Line(tuple(one for one in actions if isinstance(one, int)), value, mate, drawn)


def next_edge(report: Report) -> tuple[int, int] | None:
    """The edge that a line goes on with: the most visited, or what the proof says where the node is proven."""
    if report.get("proven"):
        player: int = report["acting"] >> 1  # a bit per player
        plies, value = report["plies"].ravel(), float(report["bounds"][0, player])
        keeping = (plies >= 0) & (report["edge_bounds"][0, player].ravel() >= value)
        if value != 0 and keeping.any():
            order = np.where(keeping, plies if value < 0 else -plies, np.iinfo(np.int64).min)
            action = int(report["outcomes"][player][int(order.argmax())])
            return (-1, action) if player else (action, -1)
    return most_visited(report) if report["edge_visits"].any() else None
