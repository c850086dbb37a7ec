"""Games that do not end: how many turns are too many, and the error for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ramify import _core
from ramify.games.broken import BrokenGame
from ramify.games.failures import check_hint, game_name

if TYPE_CHECKING:
    from ramify.games.protocol import Game

MOST_TURNS = _core.MOST_TURNS  # of a random game, for games written in Python; native games end by their rules
NEED_AN_END = "random games as an evaluator have to end; a network or the evaluator uniform does not need that"
CUT_GAMES = "set max_moves to cut such games (ramify selfplay: --play max_moves=N, ramify train: play.max_moves=N)"


def endless(game: Game, remedy: str, turns: int = MOST_TURNS) -> BrokenGame:
    """The error for a game that was not over after so many turns."""
    return BrokenGame(f"game {game_name(game)!r} was not over after {turns} turns: {remedy}; {check_hint(game)}")


def endless_rollout(game: Game, turns: int) -> BrokenGame:
    """The same for a random game of the evaluator ``Rollout``. The core calls it."""
    return endless(game, NEED_AN_END, turns)


def endless_chance(game: Game, events: int) -> BrokenGame:
    """The error for chance events that follow each other without end. The core calls it."""
    return BrokenGame(
        f"game {game_name(game)!r}: chance_outcomes was followed by {events} more chance events in a row; "
        f"{check_hint(game)}"
    )


def refuse_endless(game: Game, remedy: str) -> None:
    """Raise BrokenGame if a random game is not over after ``MOST_TURNS``; native games always end."""
    if isinstance(game, _core.Game):
        return
    rng = np.random.default_rng(0)
    state = game.initial_state(0)
    for _ in range(MOST_TURNS):
        if state.is_over:
            return
        state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
    if not state.is_over:
        raise endless(game, remedy)
