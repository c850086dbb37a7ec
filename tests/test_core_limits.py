"""What does not fit into a node is refused, not cut off."""

from __future__ import annotations

import math
from typing import Any

import annotated_types
import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.engine.batch import first_rows, new_arrays
from tests.children import run_child
from tests.engine.tiny_games import Paths

pytestmark = pytest.mark.core

SETTINGS = rf.SearchConfig().for_evaluator(None).model_dump()


def test_actions_are_counted_in_sixteen_bits() -> None:
    most = 2**16 - 1
    search = _core.make_latent_search(most, "alternating", 1, [], [], SETTINGS)
    search.begin(0)
    search.run_native(0, 0, 5, math.inf)
    assert search.report([])["outcomes"][0].tolist() == list(range(most))
    for actions in (most + 1, most + 4465):
        with pytest.raises(rf.InvalidInput, match=f"at most 65535 actions, not {actions}"):
            _core.make_latent_search(actions, "alternating", 1, [], [], SETTINGS)


@pytest.mark.parametrize(("first", "named"), [(range(9), 8), ([0, 1, 3], 3), ([-1, 0], -1), ([2**30], 2**30)])
def test_a_model_needs_the_actions_of_its_root(first: Any, named: int) -> None:
    with pytest.raises(rf.InvalidInput, match=f"num_actions is 3, but action {named} is legal at the root"):
        _core.make_latent_search(3, "alternating", 1, list(first), [], SETTINGS)


@pytest.mark.parametrize("actions", [0, -1, -(2**31)])
def test_a_model_needs_an_action(actions: int) -> None:
    with pytest.raises(rf.InvalidInput, match=f"at least 1, not {actions}"):
        _core.make_latent_search(actions, "alternating", 1, [], [], SETTINGS)


# ---------- numbers at their extremes ----------


def range_of(limits: list[Any]) -> list[float]:
    """The least and the greatest number that these limits allow, as far as they name one."""
    found = []
    for limit in limits:
        if isinstance(limit, annotated_types.Ge):
            found.append(float(limit.ge))  # type: ignore[arg-type]
        elif isinstance(limit, annotated_types.Gt):
            found.append(math.nextafter(float(limit.gt), math.inf))  # type: ignore[arg-type]
        elif isinstance(limit, annotated_types.Le):
            found.append(float(limit.le))  # type: ignore[arg-type]
    return sorted(found)


RANGES = {
    name: range_of(field.metadata)
    for name, field in rf.SearchConfig.model_fields.items()
    if "float" in str(field.annotation) and name != "max_seconds"
}


@pytest.mark.parametrize("name", RANGES)
def test_every_number_has_a_range(name: str) -> None:
    assert len(RANGES[name]) == 2, f"{name} may be {RANGES[name]}"
    for beyond in (1e300, -1e300):
        with pytest.raises(ValueError, match=name):
            rf.SearchConfig(**{name: beyond})


class Huge:
    """Logits and values as large as a float holds."""

    def evaluate(self, batch: Any) -> rf.evaluators.Evaluation:
        rows, signs = len(batch), np.where(np.arange(len(batch)) % 2, 1.0, -1.0)
        logits = np.where(np.arange(batch.legal.shape[2]) % 2, 3e38, -3e38)
        return rf.evaluators.Evaluation(
            np.ascontiguousarray(np.broadcast_to(logits, batch.legal.shape), np.float32),
            (3e38 * signs[:, None] * np.array([1.0, -1.0])).astype(np.float32).reshape(rows, 2),
        )


EXTREMES = """
import itertools
import ramify as rf
from tests.test_core_limits import search_at_extremes

states = rf.make("tictactoe").initial_state(), rf.make("goofspiel", cards=4).initial_state()
for selection, edge, state in itertools.product(("puct", "gumbel", "regret", "exp3"), (0, -1), states):
    search_at_extremes(selection, edge, state)
"""


def test_extreme_numbers_stay_within_the_graph() -> None:
    run_child(EXTREMES)


def search_at_extremes(selection: str, edge: int, state: rf.State) -> None:
    """Searches with settings past what the config allows, too: the core must not read what is not there."""
    neutral = {"noise_fraction", "forced_playouts", "root_temperature"} if selection == "gumbel" else set()
    choices = {"fpu": "reduction", "normalize": "minmax", "gumbel_rescale": False}
    allowed = {name: bounds[edge] for name, bounds in RANGES.items() if name not in neutral}
    beyond = {name: [5e-324, 1e308][edge] for name in RANGES if name not in {"discount", "max_in_flight"} | neutral}
    for numbers in (allowed, {**allowed, **beyond}):
        numbers = {name: number or 1e-9 for name, number in numbers.items() if name not in ("noise_fraction",)}
        settings = {**SETTINGS, **choices, "selection": selection, **numbers}
        settings["discount"], settings["max_in_flight"] = min(settings["discount"], 1.0), 1.0
        settings["error_scale"] = 0.0  # neither of these evaluators predicts errors
        for evaluator in (Huge(), None):
            search = _core.make_search(state.copy(), settings)
            drive(search, state, evaluator)
            assert search.report([])["edge_visits"].sum() == 59


def drive(search: Any, state: rf.State, evaluator: Any) -> None:
    """Sixty simulations."""
    search.begin(3, 60)
    if evaluator is None:
        assert search.run_native(2, 0, 60, math.inf) == 60
        return
    group = _core.Group(1)
    arrays = new_arrays(1, state.game.observation_shape, state.game.num_actions)
    while search.stats["simulations"] < 60:
        if batch := group.gather([search], 0, 1, [1], arrays):
            answer = evaluator.evaluate(first_rows(arrays, 1))
            batch.absorb(answer.logits, answer.values)


# ---------- more simulations than are ever made ----------


def test_gumbel_search_needs_no_memory_for_simulations_not_made() -> None:
    state = rf.make("hex", size=5).initial_state()
    for limits in ({"max_seconds": 0.05}, {"max_seconds": 0.05, "max_nodes": 50}, {"max_evaluations": 40}):
        result = rf.search(state, simulations=2**62, selection="gumbel", **limits)
        assert 1 <= result.stats["simulations"] < 10**9


class Repeats(Paths):
    """A game whose states list an action twice, as no game may."""

    def initial_state(self, seed: int | None = None) -> Any:
        return RepeatsState(super().initial_state(seed))


class RepeatsState:
    """The state as it is, but for its legal actions."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    def copy(self) -> RepeatsState:
        return RepeatsState(self.state.copy())

    def outcomes(self, player: int) -> Any:
        return np.array([0, 2, 2], np.int32), np.array([0, 0, 1], np.int32)


def test_actions_of_python_games_are_listed_once() -> None:
    search = _core.make_python_search(Repeats().initial_state(), SETTINGS)
    search.begin(0)
    with pytest.raises(rf.InvalidInput, match="ascending without duplicates"):
        search.run_native(0, 0, 10, math.inf)
