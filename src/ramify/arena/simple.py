"""Reference players without a network: random, greedy and alpha-beta."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from ramify.arena.player import Player, PlayerConfig, Turn, register_player
from ramify.engine.alphabeta import AlphaBetaConfig, run
from ramify.games import Game


class _TurnByTurn:
    """A player that handles its turns one by one."""

    def __init__(self, decide: Callable[[Turn], int]) -> None:
        self._decide = decide

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        return [self._decide(turn) for turn in turns]

    def close(self) -> None:
        pass


def _any_of(actions: Sequence[int], turn: Turn) -> int:
    """A random one of the actions, seeded by the turn."""
    return int(actions[int(np.random.default_rng((turn.seed, turn.player)).integers(len(actions)))])


@register_player
class RandomConfig(PlayerConfig):
    """Plays uniformly random legal actions."""

    kind: Literal["random"] = "random"

    def open(self, game: Game) -> Player:
        del game
        return _TurnByTurn(lambda turn: _any_of(turn.state.legal_actions(turn.player).tolist(), turn))


@register_player
class AlphaBetaPlayerConfig(PlayerConfig, AlphaBetaConfig):
    """Alpha-beta search. Deterministic without ``seconds``; with ``ties``, ties are broken by the turn's seed."""

    kind: Literal["alphabeta"] = "alphabeta"

    def open(self, game: Game) -> Player:
        if game.simultaneous:
            raise ValueError(f"alpha-beta needs a turn-based game; in {game.name} both players act at once")
        settings = AlphaBetaConfig(**self.model_dump(include=set(AlphaBetaConfig.model_fields)))
        run(game.initial_state(seed=0), settings.replace(nodes=1, table=0))  # says why, where it cannot search the game
        return _TurnByTurn(lambda turn: _best(turn, settings))


@register_player
class GreedyConfig(PlayerConfig):
    """Plays the best action after one ply by the game's heuristic; in PyRat, moves towards the nearest cheese."""

    kind: Literal["greedy"] = "greedy"
    ties: bool = Field(
        False, description="Break ties at random, seeded by the turn; otherwise take the first of the best actions."
    )

    def open(self, game: Game) -> Player:
        if game.name == "pyrat":
            return _TurnByTurn(lambda turn: _toward_cheese(turn, self.ties))
        if game.simultaneous or getattr(game.initial_state(seed=0), "heuristic", None) is None:
            raise ValueError(f"the greedy player needs a turn-based game with a heuristic; {game.name} has none")
        settings = AlphaBetaConfig(depth=1, quiescence=False, ties=self.ties, table=0)
        return _TurnByTurn(lambda turn: _best(turn, settings))


def _best(turn: Turn, settings: AlphaBetaConfig) -> int:
    found = run(turn.state, settings)
    return _any_of(sorted(found.actions), turn) if settings.ties else found.action


Cell = tuple[int, int]
_STAY = 4
_OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # up, right, down, left


def _toward_cheese(turn: Turn, ties: bool) -> int:
    """The first action of a shortest path to the nearest cheese; STAY if there is none, or no choice."""
    fields = turn.state.fields  # type: ignore[attr-defined]  # of a native state
    cheese = {tuple(cell) for cell in fields["cheese"]}
    here: Cell = tuple(fields[f"p{turn.player + 1}"])
    if fields[f"mud{turn.player + 1}"] or not cheese or here in cheese:
        return _STAY
    mud = {frozenset((tuple(a), tuple(b))): turns for a, b, turns in fields["mud"]}
    walls = {frozenset(map(tuple, wall)) for wall in fields["walls"]}

    def ways(cell: Cell) -> list[tuple[int, Cell, int]]:
        """(action, neighbour, turns) of every step from a cell; mud adds turns."""
        found = []
        for action, (right, up) in enumerate(_OFFSETS):
            after = (cell[0] + right, cell[1] + up)
            inside = 0 <= after[0] < fields["width"] and 0 <= after[1] < fields["height"]
            if inside and (edge := frozenset((cell, after))) not in walls:
                found.append((action, after, 1 + mud.get(edge, 0)))
        return found

    starts = _nearest(here, cheese, ways)
    if not starts:
        return _STAY
    return _any_of(starts, turn) if ties else starts[0]


def _nearest(here: Cell, goals: set[Cell], ways: Callable[[Cell], list[tuple[int, Cell, int]]]) -> list[int]:
    """The first actions of all shortest paths to a nearest goal, ascending."""
    turns: dict[Cell, int] = {here: 0}
    starts: dict[Cell, set[int]] = {here: set()}  # first actions of the quickest ways to a cell
    queue, nearest, found = [(0, here)], None, set[int]()
    while queue:
        spent, cell = heapq.heappop(queue)
        if nearest is not None and spent > nearest:
            break
        if spent > turns[cell]:
            continue
        if cell in goals:
            nearest = spent
            found |= starts[cell]
        for action, after, cost in ways(cell):
            first = {action} if cell == here else starts[cell]
            if spent + cost < turns.get(after, 1 << 60):
                turns[after], starts[after] = spent + cost, set(first)
                heapq.heappush(queue, (spent + cost, after))
            elif spent + cost == turns[after]:
                starts[after] |= first
    return sorted(found)
