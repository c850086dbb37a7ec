"""Greedy players of the core, and rollouts by them."""

from __future__ import annotations

import numpy as np
import pytest

import ramify as rf
from ramify.games.pyrat import OFFSETS
from ramify.pyrat import distances
from ramify.selfplay import SelfPlay

pytestmark = pytest.mark.core


def maze(**params: object) -> rf.Game:
    given = {"width": 5, "height": 5, "cheese": 6, "wall_density": 0.3, "mud_density": 0.3, "max_turns": 40}
    return rf.make("pyrat", **{**given, **params})


def greedy_game(state: rf.State, seed: int) -> np.ndarray:
    """The rewards of both players when greedy players finish the game, in plain Python."""
    total, state, rng = np.zeros(2), state.copy(), np.random.default_rng(seed)
    while not state.is_over:
        total += state.apply(*(int(rng.choice(state.greedy_actions(player))) for player in (0, 1)))
    return total


@pytest.mark.parametrize("seed", range(8))
def test_a_greedy_step_is_on_a_shortest_way(seed: int) -> None:
    """To the nearest cheese, mud as the rules charge it."""
    state = maze().initial_state(seed=seed)
    while not state.is_over:
        fields, joint = state.fields, []
        for player in (0, 1):
            x, y = fields[f"p{player + 1}"]
            far = distances(fields, (x, y))
            least = min(far[tuple(cell)] for cell in fields["cheese"])
            best = {4}
            if not fields[f"mud{player + 1}"] and least:
                best = set()
                for action, (dx, dy) in enumerate(OFFSETS):
                    cell = (x + dx, y + dy)
                    if action not in state.outcomes(player)[0] or cell not in far:
                        continue
                    onward = distances(fields, cell)
                    step = edge_turns(fields, (x, y), cell)
                    if step + min(onward[tuple(piece)] for piece in fields["cheese"]) == least:
                        best.add(action)
            assert state.greedy_actions(player).tolist() == sorted(best)
            joint.append(min(best))
        state.apply(*joint)


def edge_turns(fields: dict, one: tuple[int, int], other: tuple[int, int]) -> int:
    for a, b, turns in fields["mud"]:
        if {tuple(a), tuple(b)} == {one, other}:
            return 1 + int(turns)
    return 1


def test_rollouts_are_greedy_games() -> None:
    for seed in range(4):
        state = maze(cheese=4).initial_state(seed=seed)
        value = rf.search(state, rf.evaluators.GreedyRollout(400), simulations=1).value
        played = np.array([greedy_game(state, k) for k in range(300)])
        error = np.sqrt(played.var(axis=0) * (1 / 400 + 1 / 300))
        assert (np.abs(value - played.mean(axis=0)) <= 5 * error + 1e-6).all()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_greedy_actions_have_a_share_of_the_prior(share: float) -> None:
    """Evenly among them; what is left is uniform over the outcomes."""
    for seed in range(6):
        state = maze().initial_state(seed=seed)
        for turn in range(4):
            result = rf.search(state, rf.evaluators.GreedyRollout(1, prior=share), simulations=2)
            for player in (0, 1):
                first_actions = sorted({int(action) for action in state.outcomes(player)[0]})
                best = state.greedy_actions(player).tolist()
                expected = np.zeros(5)
                expected[first_actions] = (1 - share) / len(first_actions)
                expected[best] += share / len(best)
                np.testing.assert_allclose(result.prior[player], expected, atol=1e-3, err_msg=f"{seed} {turn}")
            state.apply(*(int(state.greedy_actions(player)[0]) for player in (0, 1)))
    for wrong in (-0.1, 1.0, True, "half", float("nan")):
        with pytest.raises(ValueError, match="prior must be a number"):
            rf.evaluators.GreedyRollout(1, prior=wrong)


def test_only_games_that_know_a_greedy_player() -> None:
    state = rf.make("goofspiel").initial_state()
    assert state.greedy_actions(0) is None
    with pytest.raises(rf.InvalidInput, match="greedy rollouts need a game that knows a greedy player"):
        rf.search(state, rf.evaluators.GreedyRollout(), simulations=2)
    pyrat = maze().initial_state()
    with pytest.raises(rf.InvalidInput, match="player"):
        pyrat.greedy_actions()  # both act
    while not pyrat.is_over:
        pyrat.apply(4, 4)
    assert pyrat.greedy_actions(0).tolist() == []


def test_self_play_with_greedy_rollouts() -> None:
    """The games differ from those with random rollouts, and depend on the seed alone."""
    game, search = maze(), rf.SearchConfig(simulations=20)

    def played(evaluator: object, games: int) -> list[bytes]:
        return [data for found in SelfPlay(game, evaluator, search, games=4, parallel_games=games) for data in found]

    greedy = played(rf.evaluators.GreedyRollout(), 2)
    assert sorted(greedy) == sorted(played(rf.evaluators.GreedyRollout(), 3))
    assert sorted(greedy) != sorted(played(rf.evaluators.Rollout(), 2))


def test_by_name() -> None:
    from ramify.engine.native import named_evaluator

    assert repr(named_evaluator("greedy")) == "GreedyRollout(1, prior=0.5)"
    assert repr(named_evaluator("greedy:3")) == "GreedyRollout(3, prior=0.5)"
    with pytest.raises(ValueError, match="uniform, rollout, rollout:N, greedy, greedy:N or planner"):
        named_evaluator("greedy:0")
