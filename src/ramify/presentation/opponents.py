"""The opponents of a person, in the terminal and in the browser."""

from __future__ import annotations

from typing import Any, Protocol

from ramify.arena import PlayerConfig, Turn, read_player
from ramify.engine import SearchConfig, Searcher, SearchResult
from ramify.engine.access import OnInterrupt
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.engine.cache import EvaluationCache
from ramify.engine.result import action_by
from ramify.evaluators.simple import suited
from ramify.games import Game, State
from ramify.presentation import SIMULATIONS


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
        self.player = config.open(game)
        self.name = config.name or getattr(self.player, "name", "") or config.label  # programs say what they are called

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


def make_adviser(
    state: State,
    network: str | None,
    limits: tuple[int | None, float | None],
    seed: int,
    settings: dict[str, Any],
) -> tuple[Searcher, str]:
    """The search that gives hints, and what it knows. ``limits`` are simulations and seconds per move."""
    evaluator, knowledge = find_evaluator(state.game, network)
    return play_searcher(state.game, evaluator, limits, seed, settings), knowledge


def find_evaluator(game: Game, network: str | None) -> tuple[Evaluator | NativeEvaluator, str]:
    """The evaluator against a person, and its name: the network, else the best that the game has."""
    from ramify.chess import chess_evaluator
    from ramify.hex import evaluator_for

    return chess_evaluator(network) if game.name == "chess" else evaluator_for(game, network)


def proves(game: Game) -> bool:
    """Whether searches for people use the solver, so that mates and other proven results are seen as such."""
    from ramify import _core

    return isinstance(game, _core.Game) and not game.simultaneous


def play_searcher(
    game: Game,
    evaluator: Any,
    limits: tuple[int | None, float | None],
    seed: int,
    settings: dict[str, Any],
    cache: EvaluationCache | None = None,
) -> Searcher:
    """A search that plays against a person; ``limits`` are simulations and seconds per move, ``cache`` evaluations that
    it shares with others."""
    simulations, seconds = limits
    limited = seconds is not None or {"max_seconds", "max_evaluations"} & settings.keys()
    usual: dict[str, Any] = {
        "simulations": simulations or (2**53 if limited else SIMULATIONS),
        "max_seconds": seconds,
        "graph": True,
        "canonical": game.name == "hex",
        "solver": proves(game),
        "max_nodes": 1_000_000,
    }
    config = suited(SearchConfig(**{**usual, **settings}), evaluator)
    return Searcher(game, evaluator, config, seed=seed, cache=cache)


def make_opponent(state: State, adviser: Searcher, knowledge: str, against: str | None) -> Opponent:
    """The opponent: the search, or a player of the arena."""
    import ramify.protocols  # noqa: F401 - registers the kinds it has

    if against is None:
        return SearchOpponent(adviser, knowledge)
    return ArenaOpponent(read_player(against), state.game)
