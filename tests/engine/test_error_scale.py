"""Evaluations weighted by their expected errors. That values are right is in test_against_reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine import Batch
from ramify.selfplay import PlayConfig, SelfPlay
from tests.engine.helpers import assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk
from tests.engine.test_advance import advance, best_joint, played
from tests.engine.test_latent import RulesModel
from tests.reference.evaluators import EvaluationWithErrors, HashEvaluator

pytestmark = pytest.mark.core

SCALE: dict[str, Any] = {"error_scale": 0.3, "simulations": 150}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"graph": True, "solver": True},
    {"graph": True, "canonical": True, "normalize": "minmax"},
    {"selection": "regret", "graph": True},
    {"selection": "gumbel"},
]


def certain(errors: Any) -> rf.evaluators.Function:
    """Uniform policies, values by the parity of the key, and these squared errors."""

    def judge(batch: Batch) -> Any:
        rows = len(batch)
        values = np.where(batch.keys % np.uint64(2) == 0, 0.5, -0.25)
        return np.zeros((rows, 9)), values, np.full(rows, errors)

    return rf.evaluators.Function(judge)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["hex", "pyrat"])
def test_with_a_large_scale_all_count_the_same(name: str, settings: dict[str, Any]) -> None:
    state, evaluator = walk(name, 2), HashEvaluator(2, zero_sum=True, errors=True)
    plain = searcher_of(state, evaluator, simulations=150, **settings).run(state)
    weighted = searcher_of(state, evaluator, simulations=150, error_scale=1e9, **settings).run(state)
    np.testing.assert_array_equal(weighted.visits, plain.visits)
    np.testing.assert_allclose(weighted.value, plain.value, atol=1e-6)


def test_an_evaluation_counts_by_its_error() -> None:
    """Two simulations by hand: the root has an error of 0.5, its child one of 0.1."""
    state = tictactoe(4)

    def judge(batch: Batch) -> Any:
        root = batch.keys == np.uint64(state.key)
        return np.zeros((len(batch), 9)), np.where(root, 0.6, 0.2), np.where(root, 0.25, 0.01)

    result = searcher_of(state, rf.evaluators.Function(judge), simulations=2, error_scale=0.1).run(state)
    root, child = 0.1 / (0.1 + 0.5), 0.1 / (0.1 + 0.1)
    assert result.value[1] == pytest.approx((root * 0.6 + child * -0.2) / (root + child), abs=1e-6)
    assert result.visits.sum() == 1


def test_finished_games_have_no_error() -> None:
    """The root's only action ends the game with a draw: the less certain the root's value, the more that counts."""
    state = tictactoe(0, 1, 2, 4, 3, 5, 7, 6)  # one cell is left
    value = {}
    for error in (0.0, 1.0):
        found = searcher_of(state, certain(error), simulations=2, error_scale=0.1).run(state)
        value[error] = abs(float(found.value[0]) - float(found.payoffs[0].ravel()[0]))
    assert value[1.0] < value[0.0]


class Sure(HashEvaluator):
    """No errors, so that weights must make no difference."""

    def evaluate(self, batch: Any) -> EvaluationWithErrors:
        found = super().evaluate(batch)
        return EvaluationWithErrors(found.logits, found.values, np.zeros(len(batch), np.float32))


@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"graph": True, "canonical": True}])
@pytest.mark.parametrize("name", ["hex", "pyrat"])
def test_weights_are_kept_when_the_root_moves_on(name: str, settings: dict[str, Any]) -> None:
    found = []
    for scale in (None, 0.3):
        state, evaluator = walk(name, 1), Sure(1, zero_sum=name == "hex")
        searcher = searcher_of(state, evaluator, simulations=150, error_scale=scale, **settings)
        searcher.run(state)
        joint = best_joint(searcher, state)
        assert joint is not None
        advance(searcher, joint)
        found.append(searcher.run(played(state, joint)))
    np.testing.assert_array_equal(found[0].visits, found[1].visits)
    np.testing.assert_allclose(found[0].value, found[1].value, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"batch": 6}, {"graph": True, "batch": 4, "in_flight": 2}])
def test_a_cache_changes_nothing(settings: dict[str, Any]) -> None:
    for name in ("hex", "pyrat"):
        state, evaluator = walk(name, 1), HashEvaluator(1, zero_sum=name == "hex", errors=True)
        plain = searcher_of(state, evaluator, **SCALE, **settings).run(state)
        cached = searcher_of(state, evaluator, **SCALE, cache=5000, **settings)
        cached.run(state)
        cached.reset()
        warm = cached.run(state)
        assert_same_result(warm, plain, stats=False)
        assert warm.stats["cache_hits"] > 0


def test_threads_share_weights() -> None:
    state = rf.make("hex", size=5).initial_state()
    found = searcher_of(state, HashEvaluator(0, errors=True), error_scale=0.3, simulations=600, batch=8, threads=2)
    result = found.run(state)
    assert result.stats["simulations"] == 600
    assert np.isfinite(result.value).all()


def test_self_play_takes_errors() -> None:
    game = rf.make("hex", size=3)
    search = rf.SearchConfig(simulations=12, error_scale=0.2)
    played = SelfPlay(game, HashEvaluator(0, errors=True), search, PlayConfig(), games=3, parallel_games=2)
    assert sum(len(finished) for finished in played) == 3


def test_the_evaluator_has_to_predict_errors() -> None:
    state = tictactoe(4)
    with pytest.raises(ValueError, match="error_scale needs an evaluator that predicts the errors of its values"):
        rf.search(state, HashEvaluator(0), simulations=10, error_scale=0.1)
    for native in (rf.evaluators.Uniform(), rf.evaluators.Rollout()):
        with pytest.raises(ValueError, match="evaluators of the core do not"):
            rf.search(state, native, simulations=10, error_scale=0.1)
    with pytest.raises(ValueError, match="a latent model does not predict"):
        rf.Searcher(
            RulesModel(state.game, HashEvaluator(0), "alternating"),
            config=rf.SearchConfig(error_scale=0.1, simulations=4),
        ).run(state)


@pytest.mark.parametrize("error", [-0.5, np.nan, np.inf])
def test_an_impossible_error_is_refused(error: float) -> None:
    with pytest.raises(rf.EvaluatorError, match=r"row 0: the expected squared error of a value is"):
        rf.search(tictactoe(4), certain(error), simulations=10, error_scale=0.1)


def test_errors_have_the_shape_of_values() -> None:
    def judge(batch: Batch) -> Any:
        return np.zeros((len(batch), 9)), np.zeros(len(batch)), np.zeros((len(batch), 3))

    with pytest.raises(rf.EvaluatorError, match=r"errors must have shape .* not \[1, 3\]"):
        rf.search(tictactoe(4), rf.evaluators.Function(judge), simulations=4, error_scale=0.1)
