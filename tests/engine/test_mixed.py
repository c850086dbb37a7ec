"""Regret matching and Exp3 where both players choose: as transcribed, and near equilibria that are known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from benchmarks.simultaneous import gap, golden_matrices
from tests.engine.golden_games import Solved, solved_positions
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of
from tests.engine.positions import walk
from tests.engine.stepping import Stepper
from tests.reference import regret as reference

BIASED = [[3.0, -1.0], [-1.0, 1.0]]  # both play the first with probability 1/3
RULES = ("regret", "exp3")


def matrix(payoffs: Any) -> rf.State:
    return rf.make("matrix", payoffs=np.asarray(payoffs).tolist()).initial_state()


# --- what one visit does ---


def random_matrix(seed: int) -> rf.State:
    rng = np.random.default_rng(seed)
    return matrix(rng.uniform(-1, 1, (2, *rng.integers(2, 6, 2))))


def transcription(selection: str, report: dict[str, Any]) -> reference.Rule:
    given = report["priors"], report["evaluation"]
    return reference.RegretMatching(*given) if selection == "regret" else reference.Exp3(*given, exploration=0.1)


@pytest.mark.parametrize("selection", RULES)
@pytest.mark.parametrize("seed", range(6))
def test_every_round_is_the_transcribed_one(selection: Any, seed: int) -> None:
    """On matrix games, where payoffs stand still, and in a game where they move with the search below."""
    state = random_matrix(seed) if seed < 4 else walk("goofspiel", seed)
    stepper = Stepper(state, HashEvaluator(seed, zero_sum=False), rf.SearchConfig(selection=selection))
    stepper.simulate()
    before = stepper.report()
    rule = transcription(selection, before)
    for _ in range(200):
        stepper.simulate()
        report = stepper.report()
        visited = np.argwhere(report["edge_visits"] != before["edge_visits"])
        assert len(visited) == 1
        rule.learn((int(visited[0][0]), int(visited[0][1])), report["payoffs"])
        for player in (0, 1):
            np.testing.assert_allclose(report["average"][player], rule.average(player), atol=2e-5)
            assert abs(report["value"][player] - rule.value(report["payoffs"], player)) < 2e-5
        before = report


@pytest.mark.parametrize("selection", RULES)
def test_priors_are_the_first_strategy(selection: Any) -> None:
    state = random_matrix(1)
    for simulations in (1, 2):  # before the first round, and after it
        result = rf.search(state, HashEvaluator(3), simulations=simulations, selection=selection)
        assert result.average is not None
        for player in (0, 1):
            np.testing.assert_allclose(result.average[player], result.priors[player], atol=1e-3)
        assert np.ptp(result.priors[0]) > 0.1


@pytest.mark.parametrize("selection", RULES)
def test_pairs_are_drawn_from_strategies_and_a_floor(selection: Any) -> None:
    """With equal payoffs nothing is learnt: priors mixed with an even share that falls as t^-1/4, or stays a tenth."""
    state, n = matrix(np.zeros((3, 2))), 20_000
    logits = np.array([[[1.0, 0.0, -1.0], [0.5, -0.5, 0.0]]], np.float32)
    evaluator = rf.evaluators.Function(lambda batch: (logits, np.zeros((len(batch), 2), np.float32)))
    result = rf.search(state, evaluator, simulations=n, selection=selection)
    visited = np.arange(1, n)  # of the root, when each pair was drawn
    share = ((1.0 + visited) ** -0.25).sum() if selection == "regret" else 0.1 * (n - 1)
    for player, outcomes in ((0, 3), (1, 2)):
        prior = result.priors[player].astype(np.float64)
        expected = (n - 1 - share) * prior / prior.sum() + share / outcomes
        assert (np.abs(result.visits.sum(axis=1 - player) - expected) < 4.5 * np.sqrt(expected)).all()
    joint = np.outer(result.visits.sum(axis=1), result.visits.sum(axis=0)) / (n - 1)  # the players draw apart
    assert (np.abs(result.visits - joint) < 4.5 * np.sqrt(joint)).all()


# --- equilibria ---


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_regret_matching_solves_every_golden_matrix(seed: int) -> None:
    count = 0
    for name, payoffs in golden_matrices():
        count += 1
        bound = 0.01 if max(payoffs.shape) <= 10 else 0.03
        assert gap(payoffs, "regret", 30_000, seed) <= bound, (name, payoffs.shape)
    assert count >= 70


def test_exp3_comes_near_and_puct_does_not() -> None:
    """What each rule is, no more: Exp3 ends near an equilibrium of a game with its exploration in it."""
    payoffs = np.array(BIASED) / 3
    assert gap(payoffs, "exp3", 30_000) < 0.1
    assert gap(payoffs, "regret", 30_000) < 1e-3
    means = {rule: np.mean([gap(table, rule, 3000) for _, table in golden_matrices()]) for rule in (*RULES, "puct")}
    assert means["regret"] < 0.1 * means["exp3"]
    assert means["exp3"] < 0.5 * means["puct"]


def check_solved(position: Solved, simulations: int, value: float = 0.03, nash_conv: float = 0.05) -> None:
    """Holds the root's value to the exact one, and its strategies to the exact matrix of payoffs."""
    state = position.state()
    result = rf.search(state, rf.evaluators.Uniform(), simulations=simulations, selection="regret", graph=True)
    assert abs(float(result.value[0] + state.returns[0]) - position.value) <= value
    strategies = [result.policy(player, "average")[position.actions[player]].astype(np.float64) for player in (0, 1)]
    x, y = (strategy / strategy.sum() for strategy in strategies)
    assert rf.equilibria.nash_conv(position.payoffs, x, y) <= nash_conv


@pytest.mark.parametrize("position", solved_positions("goofspiel"), ids=str)
def test_goofspiel_is_solved(position: Solved) -> None:
    check_solved(position, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "position", [p for p in solved_positions("goofspiel", "oshi_zumo") if p.history or p.name == "goofspiel"], ids=str
)
def test_sequential_games_are_solved(position: Solved) -> None:
    """Not from the starts of oshi-zumo: half of them would need more simulations, see docs/methods/simultaneous.md."""
    check_solved(position, 100_000)


# --- games that are not zero-sum ---


def regrets_of(rule: reference.RegretMatching, table: Any, rounds: int) -> list[float]:
    """External regret per round of what the players played: best single outcome in hindsight against what they got."""
    sums, got = [np.zeros(n) for n in table.shape[1:]], [0.0, 0.0]
    for _ in range(rounds):
        played = [rule.strategy(0)]
        rule.learn((0, 0), table)
        played.append(rule.strategy(1))
        # Each player is judged against what it met: player 0 the old strategy, player 1 the new one.
        met = [played[1], played[0]]
        for player in (0, 1):
            payoffs = table[player] if player == 0 else table[player].T
            values = payoffs @ met[player]
            sums[player] += values
            got[player] += played[player] @ values
    return [float(sums[player].max() - got[player]) / rounds for player in (0, 1)]


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 5))])
def test_external_regret_vanishes_in_general_sum_games(seed: int) -> None:
    """So play approaches a coarse correlated equilibrium; no more is promised."""
    table = np.random.default_rng(seed).uniform(-1, 1, (2, 4, 3))
    even = [np.full(4, 0.25), np.full(3, 1 / 3)]
    few, many = (regrets_of(reference.RegretMatching(even, [0, 0]), table, n) for n in (100, 10_000))
    assert max(many) < 0.02
    assert max(many) < 0.5 * max(few) + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_pairs_visited_are_nearly_a_coarse_correlated_equilibrium(seed: int) -> None:
    """No player would gain by leaving what was drawn for a single outcome, beyond what exploration costs."""
    table, n = np.random.default_rng(seed).uniform(-1, 1, (2, 4, 3)), 30_000
    result = rf.search(matrix(table), simulations=n, selection="regret")
    drawn = result.visits / result.visits.sum()
    share = ((1.0 + np.arange(1, n)) ** -0.25).mean()
    for player in (0, 1):
        others = drawn.sum(axis=player)
        payoffs = table[player] if player == 0 else table[player].T
        gained = (payoffs @ others).max() - (drawn * table[player]).sum()
        assert gained < share * np.ptp(table[player]) / 2 + 0.02
    uniform = np.full((4, 3), 1 / 12)
    assert max((table[0] @ uniform.sum(axis=0)).max() - (uniform * table[0]).sum(), 0) > 0.1  # the test can tell


def test_a_dominant_outcome_is_played_in_the_prisoners_dilemma() -> None:
    result = rf.search(matrix([[[3, 0], [5, 1]], [[3, 5], [0, 1]]]), simulations=5000, selection="regret")
    for player in (0, 1):
        assert result.policy(player, "average")[1] > 0.999
    np.testing.assert_allclose(result.value, [1, 1], atol=0.01)


# --- with everything else that a search can do ---


@pytest.mark.parametrize("selection", RULES)
def test_one_seed_one_result(selection: Any) -> None:
    state = walk("goofspiel", 0)
    first, same, other = (
        rf.search(state, HashEvaluator(1), simulations=300, seed=seed, selection=selection) for seed in (5, 5, 6)
    )
    assert_same_result(first, same)
    assert first.average is not None
    assert same.average is not None
    for player in (0, 1):
        np.testing.assert_array_equal(first.average[player], same.average[player])
    assert (first.visits != other.visits).any()


@pytest.mark.parametrize("selection", RULES)
@pytest.mark.parametrize(
    "settings",
    [
        {"graph": True},
        {"batch": 16},
        {"threads": 2},
        {"graph": True, "batch": 8, "threads": 2},
        {"graph": True, "short_circuit": True},
        {"discount": 0.9},
        {"max_nodes": 20},
        {"noise_fraction": 0.25, "root_temperature": 1.5},
    ],
    ids=str,
)
def test_averages_are_distributions_whatever_the_settings(selection: Any, settings: dict[str, Any]) -> None:
    for name in ("goofspiel", "pyrat"):
        state = walk(name, 1)
        searcher = searcher_of(state, HashEvaluator(1), simulations=300, selection=selection, **settings)
        result = searcher.run(state)
        assert result.average is not None
        for player in (0, 1):
            assert (result.average[player] >= 0).all()
            assert abs(result.average[player].sum() - 1) < 1e-5
        assert np.isfinite(result.value).all()
        assert searcher._search is not None
        assert searcher._search.report([])["visits"] == 1 + result.visits.sum()  # nothing is left in flight


@pytest.mark.parametrize(
    "settings", [{"batch": 16}, {"threads": 2}, {"graph": True, "batch": 8, "threads": 2}], ids=str
)
def test_batches_and_threads_find_the_equilibrium_too(settings: dict[str, Any]) -> None:
    payoffs = np.array(BIASED) / 3
    for evaluator in (None, HashEvaluator(1)):
        result = rf.search(matrix(payoffs), evaluator, simulations=5000, selection="regret", **settings)
        x, y = (result.policy(player, "average").astype(np.float64) for player in (0, 1))
        assert rf.equilibria.nash_conv(payoffs, x / x.sum(), y / y.sum()) < 0.01
        np.testing.assert_allclose(result.value, [1 / 9, -1 / 9], atol=0.01)


@pytest.mark.parametrize("selection", RULES)
@pytest.mark.parametrize("graph", [False, True])
def test_strategies_survive_an_advance(selection: Any, graph: bool) -> None:
    state = rf.make("goofspiel", cards=4).initial_state()
    searcher = searcher_of(state, HashEvaluator(1), simulations=2000, selection=selection, graph=graph)
    result = searcher.run(state)
    pair = result.principal_variation[0]
    assert searcher._search is not None
    before = searcher._search.report([pair])
    assert before["visits"] > 50
    searcher.advance(*pair)
    state.apply(*pair)
    after = searcher._search.report([])
    for player in (0, 1):
        np.testing.assert_array_equal(before["average"][player], after["average"][player])
    np.testing.assert_array_equal(before["edge_visits"], after["edge_visits"])
    # And learning goes on where it was: one more round moves an average of r rounds by 2 / (r + 1) at the most.
    searcher.config = searcher.config.replace(simulations=1)
    later = searcher.run(state)
    assert later.average is not None
    rounds = int(later.visits.sum())
    for player in (0, 1):
        assert np.abs(later.average[player] - after["average"][player]).max() <= 2 / (rounds + 1) + 1e-6


def test_where_one_player_chooses_selection_is_puct() -> None:
    state = rf.make("connect_four").initial_state()
    plain = rf.search(state, HashEvaluator(1), simulations=200)
    for selection in RULES:
        mixed = rf.search(state, HashEvaluator(1), simulations=200, selection=selection)
        assert_same_result(mixed, plain, stats=False)  # but for the memory that strategies would need


def test_proofs_agree_with_what_is_learnt() -> None:
    position = next(p for p in solved_positions("goofspiel") if len(p.payoffs) == 3)
    state = position.state()
    result = rf.search(state, simulations=20_000, selection="regret", solver=True, graph=True)
    assert result.proven is not None
    assert result.proven[0] == pytest.approx(position.value, abs=1e-5)


def test_nash_secures_what_is_proven() -> None:
    """A proof may come before payoffs are right, or seen: what is played rests on bounds, not on them."""
    wrong = 0
    for seed in range(12):
        for position in solved_positions("goofspiel"):
            if len(position.payoffs) > 3:
                continue
            settings: Any = {"simulations": 2000, "c_puct": (0.3, 1, 3)[seed % 3], "solver": True, "graph": True}
            result = rf.search(position.state(), HashEvaluator(seed), seed=seed, **settings)
            assert result.proven is not None
            pair = [result.policy(player, "nash")[position.actions[player]] for player in (0, 1)]
            assert rf.equilibria.nash_conv(position.payoffs, pair[0], pair[1]) < 1e-4
            wrong += bool((result.visits == 0).any() or np.abs(result.payoffs[0] - position.payoffs).max() > 0.01)
    assert wrong > 0
