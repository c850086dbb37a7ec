"""The planner of PyRat, against the same player in plain Python."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.games.pyrat import OFFSETS
from ramify.pyrat import distances
from ramify.selfplay import SelfPlay

pytestmark = pytest.mark.core

GOALS = 4
STAY = 4
Cell = tuple[int, int]
Goal = Cell | None


def maze(**params: Any) -> rf.Game:
    given = {"width": 5, "height": 5, "cheese": 8, "wall_density": 0.5, "mud_density": 0.3, "max_turns": 40}
    return rf.make("pyrat", **{"symmetric": False, "starts": "random", **given, **params})


class Reference:
    """Plans in Python: the rules play every turn, and ways are measured from every cell."""

    def __init__(self, state: rf.State, discount: float) -> None:
        self.state, self.discount, self.width = state, discount, state.fields["width"]
        self.far = cache(lambda cell: distances(state.fields, cell))  # the maze never changes

    def turns(self, one: Cell, other: Cell) -> float:
        return self.far(one).get(other, np.inf)

    def cheese(self, state: rf.State) -> list[Cell]:
        return sorted((tuple(cell) for cell in state.fields["cheese"]), key=lambda cell: cell[1] * self.width + cell[0])

    def reached(self, state: rf.State, player: int) -> list[Cell]:
        """Pieces from the nearest to the farthest."""
        cell = tuple(state.fields[f"p{player + 1}"])
        found = [piece for piece in self.cheese(state) if self.turns(cell, piece) < np.inf]
        return sorted(found, key=lambda piece: self.turns(cell, piece))

    def goals(self, player: int) -> list[Goal]:
        fields = self.state.fields

        def late(piece: Cell) -> bool:
            own, other = (
                self.turns(tuple(fields[f"p{p + 1}"]), piece) + fields[f"mud{p + 1}"] for p in (player, 1 - player)
            )
            return bool(own > other)

        return sorted(self.reached(self.state, player), key=late)[:GOALS] or [None]

    def way(self, state: rf.State, player: int, goal: Goal) -> int:
        fields = state.fields
        x, y = fields[f"p{player + 1}"]
        if goal is None or fields[f"mud{player + 1}"]:
            return STAY
        for action, (dx, dy) in enumerate(OFFSETS):
            onward = self.turns((x + dx, y + dy), goal) if action in state.outcomes(player)[0] else np.inf
            if onward < np.inf and edge_turns(fields, (x, y), (x + dx, y + dy)) + onward == self.turns((x, y), goal):
                return action
        return STAY

    def play(self, first: Goal, second: Goal) -> np.ndarray:
        state, goals, weight, total = self.state.copy(), [first, second], 1.0, np.zeros(2)
        while not state.is_over:
            total += weight * np.array(state.apply(*(self.way(state, p, goals[p]) for p in (0, 1))))
            weight *= self.discount
            left = self.cheese(state)
            for player in (0, 1):
                if goals[player] is not None and goals[player] not in left:
                    goals[player] = next(iter(self.reached(state, player)), None)
        return total.astype(np.float32)

    def plan(self) -> tuple[np.ndarray, list[set[int]]]:
        goals = [self.goals(player) for player in (0, 1)]
        results = {pair: self.play(*pair) for pair in product(*goals)}
        worst = [
            [min(r[p] - r[1 - p] for pair, r in results.items() if pair[p] == goal) for goal in goals[p]]
            for p in (0, 1)
        ]
        best = tuple(goals[p][int(np.argmax(worst[p]))] for p in (0, 1))
        steps = [
            {self.way(self.state, p, goal) for goal, w in zip(goals[p], worst[p], strict=True) if w == max(worst[p])}
            for p in (0, 1)
        ]
        return results[best], steps


def edge_turns(fields: dict[str, Any], one: Cell, other: Cell) -> int:
    for a, b, turns in fields["mud"]:
        if {tuple(a), tuple(b)} == {one, other}:
            return 1 + int(turns)
    return 1


BOARDS: list[dict[str, Any]] = [
    {},
    {"reward": "difference", "symmetric": True, "starts": "corners"},
    {"reward": "win", "cheese": 5},
    {"reward": "difference", "connected": False, "wall_density": 0.8},
    {"reward": "difference", "max_turns": 9, "mud_max": 6, "mud_density": 0.6},
    {"reward": "cheese", "width": 7, "height": 4, "cheese": 3},
]


@pytest.mark.parametrize("number", range(len(BOARDS)))
@pytest.mark.parametrize("discount", [1.0, 0.5])  # with 0.5 sums are exact in any order
def test_plans(number: int, discount: float) -> None:
    for seed in range(3):
        state = maze(**BOARDS[number]).initial_state(seed=seed)
        rng = np.random.default_rng(seed)
        while not state.is_over:
            if state.fields["turn"] % 6 > 1:  # in Python a plan takes long
                state.apply(*(int(rng.choice(state.legal_actions(player))) for player in (0, 1)))
                continue
            values, steps = Reference(state, discount).plan()
            found = rf.search(state, rf.evaluators.Planner(), simulations=2, discount=discount)
            one = rf.search(state, rf.evaluators.Planner(), simulations=1, discount=discount)
            np.testing.assert_allclose(one.value, values, atol=1e-6)
            for player in (0, 1):
                if discount == 1.0:
                    assert set(state.planned_actions(player).tolist()) == steps[player]
                expected = np.zeros(5)
                outcomes = sorted({int(action) for action in state.outcomes(player)[0]})
                expected[outcomes] = 0.5 / len(outcomes)
                for chosen in (sorted(steps[player]), state.greedy_actions(player).tolist()):
                    expected[chosen] += 0.25 / len(chosen)
                np.testing.assert_allclose(found.prior[player], expected, atol=1e-3)
            state.apply(*(int(rng.choice(state.legal_actions(player))) for player in (0, 1)))


def test_many_pieces() -> None:
    """More than the 64 of one word."""
    state = rf.make("pyrat", width=13, height=9, cheese=91, reward="difference", max_turns=120).initial_state(seed=3)
    values, steps = Reference(state, 1.0).plan()
    np.testing.assert_allclose(rf.search(state, rf.evaluators.Planner(), simulations=1).value, values)
    assert [set(state.planned_actions(player).tolist()) for player in (0, 1)] == steps


def test_it_takes_the_contested_piece_first() -> None:
    """One piece is nearer and nobody else's; the one on the other side is lost unless one goes there first."""
    game = rf.make("pyrat", width=9, height=2, reward="difference")
    state = game.state(walls=[], mud=[], cheese=[[0, 0], [5, 0], [8, 1]], p1=[2, 0], p2=[8, 0], max_turns=30)
    assert state.greedy_actions(0).tolist() == [3]
    assert state.planned_actions(0).tolist() == [1]
    assert rf.search(state, rf.evaluators.GreedyRollout(), simulations=1).value[0] == -1
    assert rf.search(state, rf.evaluators.Planner(), simulations=1).value[0] == 0  # the other goes there too


def test_other_games_and_wrong_shares() -> None:
    state = rf.make("goofspiel").initial_state()
    assert state.planned_actions(0) is None
    with pytest.raises(rf.InvalidInput, match="plans need a game that knows a planner"):
        rf.search(state, rf.evaluators.Planner(), simulations=2)
    with pytest.raises(ValueError, match="prior must be a number"):
        rf.evaluators.Planner(prior=1.0)
    over = maze(max_turns=1).initial_state()
    over.apply(4, 4)
    assert over.planned_actions(0).tolist() == []


def test_self_play_and_many_searches() -> None:
    """Results depend on the seed alone; there is no chance in the evaluator."""
    game, search = maze(), rf.SearchConfig(simulations=20)

    def played(games: int) -> list[bytes]:
        planner = rf.evaluators.Planner()
        return [data for found in SelfPlay(game, planner, search, games=4, parallel_games=games) for data in found]

    assert sorted(played(2)) == sorted(played(3))
    states = [game.initial_state(seed=seed) for seed in range(3)]
    many = rf.Searcher(game, rf.evaluators.Planner(), search).run_many(states)
    for state, result in zip(states, many, strict=True):
        alone = rf.Searcher(game, rf.evaluators.Planner(), search).run(state)
        for own, other in zip(alone.visits, result.visits, strict=True):
            np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_beside_an_evaluator(share: float) -> None:
    """A leaf has so much of the planner's value, and the rest of the evaluator's."""
    ones = rf.evaluators.Function(lambda batch: (np.zeros(batch.legal.shape), np.ones((len(batch), 2))))
    for seed in range(4):
        state = maze(reward="difference").initial_state(seed=seed)
        planned = rf.search(state, rf.evaluators.Planner(), simulations=1, discount=0.9).value
        mixed = rf.search(
            state, ones, simulations=1, discount=0.9, rollout_share=share, rollout_by="planner", batch=1
        ).value
        np.testing.assert_allclose(mixed, share * planned + (1 - share), atol=1e-5)
    other = rf.make("hex", size=3).initial_state()
    with pytest.raises(rf.InvalidInput, match="rollout_by='planner' needs a game"):
        rf.search(other, ones, simulations=2, rollout_share=0.5, rollout_by="planner")
    assert rf.search(other, ones, simulations=2, rollout_by="planner").visits.sum() == 1


def test_by_name() -> None:
    from ramify.arena import read_player
    from ramify.engine.native import named_evaluator

    assert repr(named_evaluator("planner")) == "Planner(prior=0.5)"
    with pytest.raises(ValueError, match="greedy:N or planner"):
        named_evaluator("planner:2")
    plain, same = (read_player(f"search:evaluator=planner{more}") for more in ("", ",rollout_by=greedy"))
    assert plain.identity == same.identity
