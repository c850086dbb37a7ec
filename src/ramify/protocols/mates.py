"""Short mates, found by alpha-beta search beside the search of the tree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ramify.chess import moves_to_mate
from ramify.engine.alphabeta import AlphaBetaResult, alphabeta
from ramify.games import State

MOST_MOVES = 50  # of a mate that is looked for
TABLE = 1 << 18  # entries of the transposition table


@dataclass(frozen=True)
class Mate:
    """A forced mate: the moves to it, negative for the player who is mated, and a line that leads to it."""

    moves: int
    line: tuple[int, ...]


def find_mate(
    state: State,
    *,
    moves: int = MOST_MOVES,
    seconds: float | None = None,
    nodes: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> Mate | None:
    """The shortest mate in at most so many moves, as far as there is time; None if none was found.

    Depth by depth without quiescence: the first mate that is found is the shortest. A loss counts only once every
    defence was searched.
    """
    if moves < 1 or (seconds is not None and seconds <= 0):
        return None
    found = alphabeta(state, 2 * moves - 1, seconds, nodes, stop=stop, quiescence=False, table=TABLE)
    return mate_of(found, state)


def mate_of(found: AlphaBetaResult, state: State) -> Mate | None:
    """The mate in the result of an alpha-beta search."""
    wins = found.value[state.acting[0]] > 0
    if found.plies is None or not (wins or found.solved):
        return None
    return Mate(moves_to_mate(found.plies, wins), found.principal_variation)


def shorter_mate(state: State, known: Mate, until: float, stop: Callable[[], bool]) -> Mate:
    """The shortest mate of a position in which the player to move is known to win, as far as there is time."""
    left = until - time.monotonic()
    if known.moves < 2 or left <= 0:
        return known
    found = find_mate(state, moves=known.moves - 1, seconds=min(left, 1e6), stop=stop)
    return known if found is None else found
