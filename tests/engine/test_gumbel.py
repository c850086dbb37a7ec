"""Gumbel search: as mctx does it, and better than the prior wherever values are exact."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ramify as rf
from ramify.engine import policies
from tests.engine.gumbel_tables import run
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk

TABLE = json.loads((Path(__file__).parents[1] / "golden" / "gumbel_mctx.json").read_text())
Floats = NDArray[np.float64]


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case['game']}-{case['simulations']}-{case['considered']}")
def test_visits_weights_and_action_are_those_of_mctx(case: dict[str, Any]) -> None:
    result = run(case)
    assert result.gumbel is not None
    np.testing.assert_allclose(result.gumbel[0][0], case["gumbel"], rtol=1e-6)
    assert result.visits[:, 0].tolist() == case["visits"]
    assert result.action() == case["action"]
    np.testing.assert_allclose(result.policy(0, "improved"), case["weights"], atol=2e-3)
    # Below the root priors are kept in 16 bits: a near-tie may go the other way there, and values follow.
    assert abs(result.value[0] - case["value"]) < 0.02


# --- the race ---


def scheduled(outcomes: int, considered: int, visits: int) -> list[int]:
    """How many visits the outcomes have in the end, most first, by sequential halving in plain words.

    Of m outcomes each gets the same number of visits, then the better half goes on, until two are left, which go on
    alternately. Every phase has the same share of the visits, but an outcome gets at least one in each.
    """
    left = min(outcomes, considered, visits)
    counts, made = [0] * outcomes, 0
    phases = max(1, math.ceil(math.log2(left))) if left > 1 else 1
    while True:
        for _ in range(max(1, visits // (phases * left)) if left > 1 else visits):
            for place in range(left):  # which of the survivors are the best does not matter for the counts
                if made == visits:
                    return counts
                counts[place] += 1
                made += 1
        left = max(2, left // 2) if left > 1 else 1


def bandit(values: Any) -> rf.State:
    """One choice of the first player, then the game ends with its value; the second player has no choice."""
    table = np.asarray(values, np.float64)[:, None]
    return rf.make("matrix", payoffs=np.stack([table, -table]).tolist()).initial_state()


class Given:
    """Logits of the first player and its value, the same for every position."""

    def __init__(self, logits: Any, value: float) -> None:
        self.logits, self.value = np.asarray(logits, np.float32), value

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        values = np.tile(np.array([self.value, -self.value], np.float32), (len(batch), 1))
        return rf.Evaluation(np.tile(self.logits, (len(batch), 2, 1)), values)


def test_the_schedule_by_hand() -> None:
    # 16 visits, 4 considered, 2 phases: 2 each for four, then 4 each for two.
    assert scheduled(9, 4, 16) == [6, 6, 2, 2, 0, 0, 0, 0, 0]
    # 8 considered, 3 phases: 24 // (3 * 8) = 1 each, 2 each for four, 4 each for two.
    assert scheduled(8, 16, 24) == [7, 7, 3, 3, 1, 1, 1, 1]


@pytest.mark.parametrize("considered", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("simulations", [2, 3, 5, 9, 17, 33, 100, 257])
def test_visits_follow_the_schedule(considered: int, simulations: int) -> None:
    """Also where there are fewer legal actions than may be considered, and fewer visits than either."""
    for state in (tictactoe(), walk("connect_four", 3), walk("goofspiel", 1), walk("matrix", 0)):
        settings: Any = {"simulations": simulations, "gumbel_considered": considered, "selection": "gumbel"}
        result = rf.search(state, HashEvaluator(simulations), seed=considered, **settings)
        for player in state.acting:
            visits = result.visits.sum(axis=1 - player)
            assert sorted(visits, reverse=True) == scheduled(len(visits), considered, simulations - 1)


def test_the_outcomes_considered_are_those_with_the_most_noise_and_logit() -> None:
    for seed in range(30):
        result = rf.search(
            tictactoe(), HashEvaluator(seed), simulations=5, seed=seed, selection="gumbel", gumbel_considered=4
        )
        assert result.gumbel is not None
        rank = result.gumbel[0][0] + np.log(result.priors[0].astype(np.float64))
        assert set(np.flatnonzero(result.visits[:, 0])) == set(np.argsort(rank)[-4:])


def test_the_better_half_goes_on() -> None:
    """With exact values after one visit, who survives is known: noise + logit + weighed value."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        values = rng.uniform(-1, 1, 8)
        settings: Any = {"selection": "gumbel", "gumbel_considered": 8, "gumbel_rescale": False, "gumbel_value": 0.05}
        result = rf.search(bandit(values), Given(np.zeros(8), 0.0), simulations=25, seed=seed, **settings)
        assert result.gumbel is not None
        noise, visits = result.gumbel[0][0].astype(np.float64), result.visits[:, 0]
        # One visit each, then four have two more, then two have four more. Values weigh (50 + most visits) * 0.05; once
        # the first of a phase has been visited, the others are chosen with one more.
        for kept, most in ((4, 1), (2, 3)):
            alive = np.flatnonzero(visits >= most).tolist()
            best = [max(alive, key=lambda i: noise[i] + (50 + most) * 0.05 * values[i])]
            alive.remove(best[0])
            best += sorted(alive, key=lambda i: noise[i] + (51 + most) * 0.05 * values[i])[1 - kept :]
            assert set(best) == set(np.flatnonzero(visits > most))
        finalists = np.flatnonzero(visits == 7)
        assert len(finalists) == 2
        assert result.action()[0] == finalists[np.argmax((noise + 57 * 0.05 * values)[finalists])]


def test_both_players_have_races_of_their_own() -> None:
    rng = np.random.default_rng(1)
    state = rf.make("matrix", payoffs=rng.uniform(-1, 1, (2, 5, 7)).tolist()).initial_state()
    winners = set()
    for seed in range(10):
        settings: Any = {"simulations": 61, "selection": "gumbel", "gumbel_considered": 6}
        result = rf.search(state, HashEvaluator(1), seed=seed, **settings)
        assert sorted(result.visits.sum(axis=1), reverse=True) == scheduled(5, 6, 60)
        assert sorted(result.visits.sum(axis=0), reverse=True) == scheduled(7, 6, 60)
        pair = result.action()
        for player in (0, 1):
            marginal = result.visits.sum(axis=1 - player)
            assert marginal[pair[player]] == marginal.max()
        winners.add(pair)
    assert len(winners) > 1  # noise decides among what is close


# --- improvement ---


def improvement(result: rf.SearchResult, values: Floats) -> float:
    """What the improved policy brings beyond the prior."""
    prior, policy = result.priors[0].astype(np.float64), result.policy(0, "improved").astype(np.float64)
    return float(policy[: len(values)] @ values / policy.sum() - prior @ values / prior.sum())


@pytest.mark.parametrize("rescale", [True, False])
@pytest.mark.parametrize("prior", ["uniform", "random"])
def test_the_improved_policy_improves_where_all_values_are_known(prior: str, rescale: bool) -> None:
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(250):
        n = int(rng.integers(2, 12))
        values, logits = rng.uniform(-1, 1, n), rng.normal(size=n) * (3.0 if prior == "random" else 0.0)
        result = rf.search(
            bandit(values), Given(logits, 0.0), simulations=n + 1, seed=seed, selection="gumbel", gumbel_rescale=rescale
        )
        assert (result.visits > 0).all()
        gains.append(improvement(result, values))
    assert min(gains) > -1e-6
    assert np.mean(gains) > 0.1


def test_the_improved_policy_improves_where_some_values_are_known() -> None:
    """Unknown values count as the exact value of the prior, mixed with what was seen; that did no harm here."""
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(1000):
        n = int(rng.integers(3, 12))
        values, logits = rng.uniform(-1, 1, n), rng.normal(size=n) * (seed % 2)  # every other prior is uniform
        weights = np.exp(logits) / np.exp(logits).sum()
        evaluator = Given(logits, float(weights @ values))
        result = rf.search(
            bandit(values), evaluator, simulations=int(rng.integers(2, n + 1)), seed=seed, selection="gumbel"
        )
        assert (result.visits == 0).any()
        gains.append(improvement(result, values))
    assert min(gains) > -1e-6
    assert np.mean(gains) > 0.05


def test_the_action_improves_on_the_prior() -> None:
    """Even with two visits: the mean of what is played, over noise, is above the mean of the prior."""
    values = np.array([0.9, -0.5, 0.2, 0.4, -0.8])
    logits = np.array([0.0, 1.0, 0.5, 0.0, 1.0])
    prior = np.exp(logits) / np.exp(logits).sum()
    searcher = searcher_of(
        bandit(values), Given(logits, float(prior @ values)), simulations=3, selection="gumbel", gumbel_value=1.0
    )
    payoffs = []
    for _ in range(500):
        searcher.reset()
        payoffs.append(values[searcher.run(bandit(values)).action()[0]])
    assert np.mean(payoffs) - 4.5 * np.std(payoffs) / np.sqrt(500) > prior @ values


# --- with everything else that a search can do ---


def test_without_noise_there_is_no_chance() -> None:
    for name in ("tictactoe", "goofspiel", "hex"):
        state = walk(name, 0)
        settings: Any = {"simulations": 60, "selection": "gumbel", "gumbel_scale": 0.0}
        first, second = (rf.search(state, HashEvaluator(1), seed=seed, **settings) for seed in (1, 2))
        assert_same_result(first, second, stats=False)
        assert first.action() == second.action()
        assert first.gumbel is not None
        for player in state.acting:
            assert not np.any(first.gumbel[player][0])
    noisy = [rf.search(tictactoe(), HashEvaluator(1), simulations=60, seed=s, selection="gumbel") for s in (1, 1, 2)]
    assert_same_result(noisy[0], noisy[1])
    assert (noisy[0].visits != noisy[2].visits).any()


@pytest.mark.parametrize("name", ["tictactoe", "goofspiel"])
def test_visits_before_a_run_do_not_count(name: str) -> None:
    state = walk(name, 0)
    searcher = searcher_of(state, HashEvaluator(1), simulations=40, selection="gumbel", gumbel_considered=4)
    first = searcher.run(state)
    again = searcher.run(state)
    assert again.gumbel is not None
    for player in state.acting:
        before, after = (result.visits.sum(axis=1 - player) for result in (first, again))
        assert again.gumbel[player][1].tolist() == before.tolist()
        made = after - before
        assert sorted(made, reverse=True) == scheduled(len(made), 4, 40)  # the root was evaluated before
        action = np.atleast_1d(again.action())[-1 if player == 1 else 0]
        assert made[list(again.outcomes[player]).index(action)] == made.max()
    actions = np.atleast_1d(again.action()).tolist()
    searcher.advance(*actions)
    state.apply(*actions)
    assert searcher._search is not None
    kept = searcher._search.report([])["edge_visits"]
    advanced = searcher.run(state)
    assert kept.sum() > 0
    for player in state.acting:
        made = (advanced.visits - kept).sum(axis=1 - player)
        assert sorted(made, reverse=True) == scheduled(len(made), 4, 40)


@pytest.mark.parametrize(
    "settings", [{"batch": 4}, {"batch": 16, "max_in_flight": 1.0}, {"threads": 2}, {"graph": True}]
)
def test_races_end_in_batches_threads_and_graphs(settings: dict[str, Any]) -> None:
    for name in ("tictactoe", "goofspiel", "hex"):
        state = walk(name, 0)
        searcher = searcher_of(state, HashEvaluator(1), simulations=100, selection="gumbel", **settings)
        result = searcher.run(state)
        assert result.visits.sum() == 99
        assert searcher._search is not None
        assert searcher._search.report([])["visits"] == 100
        for player, action in zip(state.acting, np.atleast_1d(result.action()), strict=True):
            marginal = result.visits.sum(axis=1 - player)
            assert marginal[list(result.outcomes[player]).index(action)] == marginal.max()
            assert result.policy(player, "improved").sum() == pytest.approx(1, abs=1e-5)


def test_an_only_action_needs_no_race() -> None:
    state = tictactoe(0, 1, 2, 4, 3, 5, 7, 6)
    result = rf.search(state, HashEvaluator(1), simulations=5, selection="gumbel")
    assert result.action() == 8
    assert result.policy(method="improved").tolist() == np.eye(9)[8].tolist()


@pytest.mark.parametrize(
    "setting", [{"noise_fraction": 0.1}, {"forced_playouts": 2.0}, {"root_temperature": 1.1}], ids=str
)
def test_gumbel_has_noise_of_its_own(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"adds its own noise at the root: {next(iter(setting))}"):
        rf.SearchConfig(selection="gumbel", **setting)


@pytest.mark.parametrize("name", ["connect_four", "goofspiel"])
def test_the_winner_is_the_best_of_the_most_visited(name):
    """What the core calls the winner is what the formula says: noise, logit and weighed value of the finalists."""
    for seed in range(10):
        result = rf.search(
            rf.make(name).initial_state(), rf.evaluators.Rollout(), simulations=40, selection="gumbel", seed=seed
        )
        assert result.gumbel is not None
        assert result.winners is not None
        for player in result.acting:
            numbers, before = result.gumbel[player]
            visits = result.visits.sum(axis=1 - player) - before
            logits = np.log(result.priors[player].astype(np.float64))
            score = numbers + logits + policies.weighed_values(result._root(), player)
            wanted = int(np.argmax(np.where(visits == visits.max(), score, -np.inf)))
            assert result.winners[player] == wanted
        chosen = result.action()
        pair = chosen if isinstance(chosen, tuple) else (chosen,)
        assert pair == tuple(int(result.outcomes[p][result.winners[p]]) for p in result.acting)
