"""The opponents of ``ramify play``."""

from __future__ import annotations

from typing import Protocol

from ramify.arena import PlayerConfig, Turn
from ramify.engine import Searcher, SearchResult
from ramify.engine.access import OnInterrupt
from ramify.engine.result import action_by
from ramify.games import Game, State


class Opponent(Protocol):
    """Chooses actions for the other side."""

    name: str

    def choose(self, turn: Turn) -> tuple[int, str]:
        """An action, and a remark to go with it."""
        ...

    def close(self) -> None: ...


class SearchOpponent:
    """Searches every position afresh: its answer depends on the position alone."""

    def __init__(self, searcher: Searcher, knowledge: str) -> None:
        self.searcher = searcher
        self.name = f"a search guided by {knowledge}"

    def choose(self, turn: Turn) -> tuple[int, str]:
        result, player = fresh(self.searcher, turn.state), turn.player
        chosen = action_of(result, player)
        expected = f"{float(result.value[player]):+.2f}"
        return chosen, f"expected result {expected} after {result.stats['simulations']:,} simulations"

    def close(self) -> None:
        """Nothing has been started."""


class ArenaOpponent:
    """Any player of the arena."""

    def __init__(self, config: PlayerConfig, game: Game) -> None:
        self.name = config.name or config.label
        self.player = config.open(game)

    def choose(self, turn: Turn) -> tuple[int, str]:
        return self.player.choose([turn])[0], ""

    def close(self) -> None:
        self.player.close()


def fresh(searcher: Searcher, state: State, on_interrupt: OnInterrupt = "raise") -> SearchResult:
    """A search of this position that reuses nothing from earlier ones."""
    searcher.reset()
    return searcher.run(state, on_interrupt=on_interrupt)


def action_of(result: SearchResult, player: int) -> int:
    """The action that a search recommends to this player."""
    return action_by(player, result.best_action)
