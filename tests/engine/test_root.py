"""What only a root has: forced playouts, its temperature, shaped noise, and searches that go without all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ramify as rf
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk
from tests.engine.stepping import Stepper

STEP = 2.0**-11  # a prior keeps eleven bits
Floats = NDArray[np.float64]


class Steep:
    """Logits from 0 down to -10 over the actions: priors on both sides of one per cent."""

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        actions = batch.legal.shape[2]
        logits = np.broadcast_to(np.linspace(0, -10, actions, dtype=np.float32), (len(batch), actions))
        return rf.Evaluation(np.ascontiguousarray(logits), np.zeros(len(batch), np.float32))


# --- forced playouts ---


def owed(report: dict[str, Any], player: int, k: float) -> NDArray[np.bool_]:
    """Outcomes that were tried, but less than sqrt(k * prior * visits) times."""
    visits = report["edge_visits"].sum(axis=1 - player).astype(np.float64)
    due = k * report["priors"][player].astype(np.float64) * visits.sum()
    return np.asarray((visits > 0) & (visits**2 < due))


@pytest.mark.parametrize("k", [2.0, 10.0])
@pytest.mark.parametrize("name", ["tictactoe", "hex", "goofspiel", "pyrat zero-sum"])
def test_an_outcome_that_is_owed_a_visit_gets_it(name: str, k: float) -> None:
    config = rf.SearchConfig(forced_playouts=k, noise_fraction=0.25, c_puct=1.0, fpu="parent")
    forced = sum(watch_forced(walk(name, seed), config) for seed in range(3))
    assert forced > 10


def watch_forced(state: rf.State, config: rf.SearchConfig, simulations: int = 100) -> int:
    """Holds every choice at the root to the rule; counts those that selection would not have made."""
    stepper = Stepper(state, HashEvaluator(4), config)
    stepper.simulate()
    forced = 0
    for _ in range(simulations):
        before = stepper.report()
        stepper.simulate()
        chosen = np.argwhere(stepper.report()["edge_visits"] != before["edge_visits"])
        assert len(chosen) == 1
        for player in state.acting:
            due, scores = owed(before, player, config.forced_playouts), before["scores"][player]
            ranks = (
                np.where(due, before["priors"][player], -1) if due.any() else scores
            )  # the highest prior comes first
            assert ranks[chosen[0][player]] == ranks.max()
            forced += int(scores.argmax() != chosen[0][player])
    return forced


@pytest.mark.parametrize("name", ["tictactoe", "hex", "goofspiel", "pyrat zero-sum"])
def test_at_the_end_every_tried_outcome_has_what_it_is_owed(name: str) -> None:
    lacking = 0
    for seed in range(6):
        state = walk(name, seed)
        settings = {"simulations": 600, "noise_fraction": 0.25, "seed": seed}
        forced, plain = (rf.search(state, HashEvaluator(seed), forced_playouts=k, **settings) for k in (2.0, 0.0))
        for player in state.acting:
            for result in (forced, plain):
                visits = result.visits.sum(axis=1 - player)
                due = np.floor(np.sqrt(2.0 * result.priors[player] * visits.sum()))
                if result is forced:
                    assert (visits[visits > 0] >= due[visits > 0]).all()
                else:
                    lacking += int((visits[visits > 0] < due[visits > 0]).sum())
    assert lacking > 0  # without force some would not


def minimum(result: rf.SearchResult, prior: Any, k: float) -> Floats:
    """What forced playouts grant to outcomes or pairs with these priors."""
    assert result.config is not None
    total = result.visits.sum()
    return np.asarray(np.sqrt(k * prior * total) if result.config.forced_form == "sqrt" else k * prior * np.sqrt(total))


@pytest.mark.parametrize("form", ["sqrt", "linear"])
@pytest.mark.parametrize("name", ["goofspiel", "pyrat zero-sum"])
def test_pairs_of_tried_outcomes_are_filled_by_force(name: str, form: str) -> None:
    """Forced by pair, every pair of tried outcomes has its minimum; forced by player, some lack it."""
    without = 0
    for seed in range(4):
        k = 3.0 if form == "sqrt" else 12.0
        settings = {"simulations": 500, "forced_playouts": k, "forced_form": form, "seed": seed}
        for by in ("pair", "player"):
            result = rf.search(walk(name, seed), HashEvaluator(seed), forced_by=by, **settings)
            tried = np.outer(result.visits.sum(axis=1) > 0, result.visits.sum(axis=0) > 0)
            due = minimum(result, np.outer(*result.priors), k)
            lacking = tried & (result.visits < np.floor(due))
            if by == "pair":
                assert not lacking.any()
            else:
                without += int(lacking.sum())
    assert without > 0


def test_by_pair_is_by_player_where_one_player_chooses() -> None:
    for name in ("tictactoe", "hex"):
        settings = {"simulations": 200, "forced_playouts": 4.0, "noise_fraction": 0.25}
        pair, player = (
            rf.search(walk(name, 1), HashEvaluator(1), forced_by=by, **settings) for by in ("pair", "player")
        )
        np.testing.assert_array_equal(pair.visits, player.visits)


@pytest.mark.parametrize("selection", ["gumbel", "regret", "exp3"])
def test_pairs_are_forced_with_puct_alone(selection: Any) -> None:
    with pytest.raises(ValueError, match=r"forced_by='pair' needs selection='puct'"):
        rf.SearchConfig(forced_by="pair", selection=selection)


def test_only_the_root_is_forced() -> None:
    """Visits below the root are those that selection alone makes, in a tree that was forced and in one that was not."""
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(3), simulations=400, forced_playouts=5.0)
    searcher.run(state)
    assert searcher._search is not None
    for action in range(9):
        below = searcher._search.report([(action, -1)])
        child = tictactoe(action)
        alone = rf.search(child, HashEvaluator(3), simulations=int(below["visits"]))
        np.testing.assert_array_equal(below["edge_visits"], alone.visits)


def test_force_respects_proofs() -> None:
    """What the solver has refuted is not visited, whatever it is owed."""
    state = tictactoe(0, 3, 1, 4, 8)  # player 1 must answer at 2 or complete 3 4 5
    result = rf.search(state, HashEvaluator(1), simulations=50, forced_playouts=20.0, solver=True, noise_fraction=0.5)
    assert result.proven is not None
    assert result.proven.tolist() == [-1, 1]
    assert result.action() == 5


# --- root temperature ---


def tempered(priors: Any, temperature: float) -> Floats:
    powers = np.asarray(priors, np.float64) ** (1 / temperature)
    return np.asarray(powers / powers.sum())


@pytest.mark.parametrize("temperature", [0.5, 1.25, 3.0])
def test_root_temperature_bends_the_priors_of_the_root_alone(temperature: float) -> None:
    for name in ("hex", "goofspiel"):
        state = walk(name, 1)
        clean = rf.search(state, HashEvaluator(1), simulations=60)
        searcher = searcher_of(state, HashEvaluator(1), simulations=60, root_temperature=temperature)
        result = searcher.run(state)
        for player in state.acting:
            np.testing.assert_allclose(
                result.priors[player], tempered(clean.priors[player], temperature), rtol=4 * STEP
            )
        assert searcher._search is not None
        joint = (result.principal_variation[0], -1) if len(state.acting) == 1 else result.principal_variation[0]
        if len(state.acting) == 1 and state.acting[0] == 1:
            joint = (-1, result.principal_variation[0])
        child = state.copy()
        child.apply(*(a for a in joint if a >= 0))
        below = searcher._search.report([joint])
        fresh = rf.search(child, HashEvaluator(1), simulations=1)
        for player in child.acting:
            np.testing.assert_array_equal(below["priors"][player], fresh.priors[player])


def test_temperature_is_applied_anew_after_advance_and_never_twice() -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(1), simulations=50, root_temperature=2.0)
    first = searcher.run(state)
    again = searcher.run(state)
    np.testing.assert_array_equal(first.priors[0], again.priors[0])
    action = first.action()
    searcher.advance(action)
    state.apply(action)
    clean = rf.search(state, HashEvaluator(1), simulations=1)
    advanced = searcher.run(state)
    assert advanced.stats["simulations"] == 50
    np.testing.assert_allclose(advanced.priors[1], tempered(clean.priors[1], 2.0), rtol=4 * STEP)


# --- shaped noise ---


def shaped_alphas(priors: Any, total: float) -> Floats:
    """KataGo's shape: half of the total even, half by how far log min(p, 1 %) lies above its mean."""
    logs = np.log(np.minimum(np.asarray(priors, np.float64), 0.01) + 1e-20)
    above = np.maximum(0.0, logs - logs.mean())
    even = np.full(len(logs), 1 / len(logs))
    return np.asarray(total * (0.5 * even + 0.5 * above / above.sum() if above.sum() > 0 else even))


@pytest.mark.parametrize(("temperature", "total"), [(1.0, 10.83), (2.0, 3.0)])
def test_shaped_noise_has_katagos_shape(temperature: float, total: float) -> None:
    state, draws = rf.make("hex", size=5).initial_state(), 1500
    clean = rf.search(state, Steep(), simulations=1).priors[0]
    assert clean.min() < 1e-4
    assert clean.max() > 0.1
    settings = {"noise": "shaped", "noise_alpha": total, "noise_fraction": 1.0, "root_temperature": temperature}
    searcher = searcher_of(state, Steep(), simulations=1, **settings)
    samples = np.stack([searcher.run(state).priors[0] for _ in range(draws)]).astype(np.float64)
    alphas = shaped_alphas(tempered(clean, temperature), total)  # temperature first, then noise
    mean = alphas / total
    variance = mean * (1 - mean) / (total + 1)  # of a Dirichlet distribution: tells the total
    assert (np.abs(samples.mean(axis=0) - mean) < 4.5 * np.sqrt(variance / draws) + STEP * mean).all()
    spread = ((samples - mean) ** 2).sum(axis=1)
    assert abs(spread.mean() - variance.sum()) < 4.5 * spread.std() / np.sqrt(draws)
    # The test can tell the shape: neither even alphas nor those of priors without temperature would pass.
    for other in (
        np.full(25, total / 25),
        shaped_alphas(clean, total) if temperature != 1 else np.full(25, total / 25),
    ):
        assert (np.abs(samples.mean(axis=0) - other / total) > 6 * np.sqrt(variance / draws)).any()


def test_shaped_noise_on_even_priors_is_even() -> None:
    state, draws = tictactoe(), 1500
    searcher = searcher_of(state, simulations=1, noise="shaped", noise_alpha=10.0, noise_fraction=1.0)
    samples = np.stack([searcher.run(state).priors[0] for _ in range(draws)]).astype(np.float64)
    assert np.abs(samples.mean(axis=0) - 1 / 9).max() < 4.5 * np.sqrt(1 / 9 * 8 / 9 / 11 / draws)


@pytest.mark.parametrize("advanced", [False, True])
def test_noise_is_mixed_with_tempered_priors(advanced: bool) -> None:
    state = rf.make("hex", size=5).initial_state()
    settings = {"noise": "shaped", "noise_alpha": 10.83, "noise_fraction": 0.25, "root_temperature": 1.5}
    searcher = searcher_of(state, Steep(), simulations=20, **settings)
    if advanced:
        action = searcher.run(state).action()
        searcher.advance(action)
        state.apply(action)
    player = state.acting[0]
    base = tempered(rf.search(state, Steep(), simulations=1).priors[player], 1.5)
    means = np.zeros(len(base))
    for _ in range(200):
        priors = searcher.run(state).priors[player].astype(np.float64)
        assert (priors > 0.75 * base * (1 - 2 * STEP) - 1e-9).all()
        means += priors / 200
    np.testing.assert_allclose(means, 0.75 * base + 0.25 * shaped_alphas(base, 10.83) / 10.83, atol=0.012)


# --- fast searches ---

FULL = {"noise_fraction": 0.5, "root_temperature": 1.5, "forced_playouts": 4.0, "simulations": 300}


@pytest.mark.parametrize("name", ["tictactoe", "goofspiel"])
def test_a_fast_search_has_neither_noise_nor_temperature_nor_force(name: str) -> None:
    state = walk(name, 0)
    searcher = searcher_of(state, HashEvaluator(1), fast_simulations=80, **FULL)
    fast = searcher.run(state, fast=True)
    assert fast.stats["simulations"] == 80
    assert_same_result(fast, rf.search(state, HashEvaluator(1), simulations=80))
    assert fast.config is not None
    assert fast.config.simulations == 80


def test_fast_and_full_searches_take_turns_on_one_graph() -> None:
    state = tictactoe()
    clean = rf.search(state, HashEvaluator(1), simulations=1).priors[0]
    searcher = searcher_of(state, HashEvaluator(1), fast_simulations=40, **FULL)
    full = searcher.run(state)
    assert np.abs(full.priors[0] - clean).max() > 0.02
    fast = searcher.run(state, fast=True)
    np.testing.assert_array_equal(fast.priors[0], clean)
    assert fast.visits.sum() == full.visits.sum() + 40
    assert np.abs(searcher.run(state).priors[0] - clean).max() > 0.02
    action = fast.action()
    searcher.advance(action)
    state.apply(action)
    advanced = searcher.run(state, fast=True)
    np.testing.assert_array_equal(advanced.priors[1], rf.search(state, HashEvaluator(1), simulations=1).priors[1])


def test_fast_needs_its_number() -> None:
    state = tictactoe()
    with pytest.raises(ValueError, match="needs the search setting fast_simulations"):
        searcher_of(state).run(state, fast=True)
    with pytest.raises(ValueError, match="fast_simulations=0"):
        rf.SearchConfig(fast_simulations=0)
