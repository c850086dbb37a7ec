"""Reviews of played games: how much worse each move was than the best one that a search finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ramify.engine import Searcher, SearchResult
from ramify.games import State
from ramify.games.files import GameRecord, MoveNote

Judgement = Literal["", "inaccuracy", "mistake", "blunder"]
# Loss of value (in [-1, 1]) from which on a move is called so, as lichess does, and its mark in files.
LOSSES: tuple[tuple[float, Judgement, str], ...] = (
    (0.3, "blunder", "??"),
    (0.2, "mistake", "?"),
    (0.1, "inaccuracy", "?!"),
)
LINE = 8  # moves of a better line
JUDGED = re.compile(r"\b(Blunder|Mistake|Inaccuracy)\. ")  # a mark with it is of an earlier review
# What a review writes at a move, and evaluations of other programs, which it replaces.
EARLIER = re.compile(
    r"((\?\?|\?!?) )?((Blunder|Mistake|Inaccuracy)\. )?(\[%eval [^\]]*\] ?)?"
    r"value [+-]\d+\.\d+(, \d+ simulations)?\.?|\[%eval [^\]]*\]|better:( [a-z]+\d*)+$"
)


@dataclass(frozen=True)
class ReviewedMove:
    """A move, what it was worth, and what would have been better. Values are of the player who moved."""

    number: int  # of the turn, from 0
    player: int
    action: int
    best: int
    value: float  # of the move played
    best_value: float
    better: tuple[int, ...]  # the line of the best move; empty if that was played
    simulations: int

    @property
    def loss(self) -> float:
        """How much worse the move was than the best one."""
        return max(0.0, round(self.best_value - self.value, 6))  # float32 has no more digits

    @property
    def judgement(self) -> Judgement:
        return next((name for least, name, _ in LOSSES if self.loss >= least), "")

    @property
    def mark(self) -> str:
        return next((mark for least, _, mark in LOSSES if self.loss >= least), "")


def review(
    record: GameRecord,
    searcher: Searcher,
    players: Iterable[int] = (0, 1),
    progress: Callable[[int, int], None] | None = None,
) -> list[ReviewedMove]:
    """Judge the moves of these players. Ctrl-C raises KeyboardInterrupt."""
    if record.start.game.simultaneous:
        raise ValueError(f"{record.start.game.name} cannot be reviewed: both players act at once")
    states, wanted, found = record.states(), set(players), list[ReviewedMove]()
    for number, (state, turn) in enumerate(zip(states, record.turns, strict=False)):
        if state.acting[0] in wanted:
            found.append(review_move(searcher, state, number, turn[0]))
        if progress is not None:
            progress(number + 1, len(record.turns))
    return found


def review_move(searcher: Searcher, state: State, number: int, action: int) -> ReviewedMove:
    """Judge one move: by a search of the position and, if another move is better, by one of this move alone."""
    player = state.acting[0]
    result = searcher.run(state)
    best = int(result.best_action)  # type: ignore[arg-type]
    value = best_value = value_of(result, player, best)
    better: tuple[int, ...] = ()
    if action != best:
        line = tuple(int(one) for one in result.variation(best, length=LINE))  # type: ignore[arg-type]
        searcher.reset()
        value = value_of(searcher.run(state, actions=[action]), player, action)
        if value >= best_value:  # the longer look at it shows that it is as good
            best, best_value = action, value
        else:
            better = line
    searcher.reset()
    return ReviewedMove(number, player, action, best, value, best_value, better, int(result.stats["simulations"]))


def value_of(result: SearchResult, player: int, action: int) -> float:
    """The value of the best action, or the only one searched; what is proven counts before what was estimated."""
    if result.proven is not None:
        return float(result.proven[player])
    place = result.outcomes[player].tolist().index(action)
    return float(result.q[player][place])


def annotated(record: GameRecord, moves: Iterable[ReviewedMove], comment: Callable[[float, int], str]) -> GameRecord:
    """The game with values as comments, before what was said already, marks at weak moves, and better lines as
    variations.

    ``comment(value, simulations)`` writes the value of player 0.
    """
    notes = [*record.notes, *(MoveNote() for _ in record.turns[len(record.notes) :])]
    for move in moves:
        text = comment(move.value if move.player == 0 else -move.value, move.simulations)
        marked, earlier = bool(move.mark), notes[move.number]
        said = f"{move.judgement.capitalize()}. {text}" if marked else text
        said = ". ".join(filter(None, [said, without_review(earlier.comment)]))
        mark = move.mark or ("" if JUDGED.search(earlier.comment) else earlier.mark)
        notes[move.number] = MoveNote(said, mark, move.better if marked else ())
    return replace(record, notes=tuple(notes))


def without_review(comment: str) -> str:
    """What was said at a move, without what an earlier review has added: an evaluation stands there once."""
    return " ".join(EARLIER.sub("", comment).split())


def accuracy(moves: Iterable[ReviewedMove], player: int) -> float | None:
    """The mean loss of a player's moves; None without any."""
    losses = [move.loss for move in moves if move.player == player]
    return sum(losses) / len(losses) if losses else None
