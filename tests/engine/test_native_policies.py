"""The policies that self-play samples from in the core equal those of Python, on random roots and on real searches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.engine import policies
from ramify.engine.result import SearchResult
from tests.engine.helpers import tictactoe
from tests.engine.positions import walk
from tests.engine.stepping import Stepper
from tests.reference.evaluators import HashEvaluator

pytestmark = pytest.mark.core

METHODS = ("visits", "pruned", "nash", "improved")
NASH = [
    rf.NashConfig(choose=choose, min_visits=least, pruned=pruned)
    for choose, (least, pruned) in zip(
        itertools.cycle(("centroid", "entropy", "any")), itertools.product((0.0, 2.5, 5.0, 60.0), (False, True))
    )
]


def native(report: dict[str, Any], config: rf.SearchConfig, player: int, method: str, **more: Any) -> Any:
    nash = more.get("nash", rf.NashConfig())
    acting = {"method": method, "nash": nash.model_dump()}
    settings = config.for_evaluator(None).model_dump()
    return _core.outcome_policy(report, settings, acting, player, more.get("temperature", 1.0))


def compare(report: dict[str, Any], config: rf.SearchConfig, methods: tuple[str, ...], nashes: Any, where: str) -> int:
    """Compares all policies of a report; returns how many differ from those of plain visits."""
    result = SearchResult.from_report(
        report, num_actions=1000, principal_variation=[], stats={}, config=config.for_evaluator(None)
    )
    other = 0
    for player, method in itertools.product(result.acting, methods):
        for nash in nashes if method == "nash" else nashes[:1]:
            for temperature in (1.0, 0.25, 3.0, 0.0):
                expected = result._outcome_policy(player, method, temperature, nash)
                races = result.winners if temperature == 0 and method == "visits" else None
                if races is not None and not result._settled(player):
                    expected = np.eye(len(expected))[max(0, races[player])]
                found = native(report, config, player, method, nash=nash, temperature=temperature)
                message = f"{where}: player {player}, {method}, {nash}, temperature {temperature}"
                np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=message)
            other += int(np.abs(expected - result._outcome_policy(player, "visits", 0.0)).max() > 0.1)
    return other


def random_report(seed: int, config: rf.SearchConfig) -> dict[str, Any]:
    """What a search might report: few or many visits, gaps, ties, and payoffs that sum to a constant or do not."""
    rng = np.random.default_rng(seed)
    shape = [(1, 4), (5, 1), (3, 3), (2, 5), (5, 5), (1, 1), (4, 2)][seed % 7]
    acting = {(1, 4): 2, (5, 1): 1}.get(shape, 3)
    visits = rng.integers(0, rng.choice([2, 8, 40, 1000]), shape) * (rng.random(shape) < rng.choice([0.5, 0.9]))
    payoffs = rng.choice([rng.normal(size=(2, *shape)), rng.integers(-1, 2, (2, *shape)).astype(float)])
    if rng.random() < 0.5:
        payoffs[1] = 0.5 - payoffs[0]
    if rng.random() < 0.1:
        payoffs[:] = 0.25
    payoffs = np.where(visits > 0, payoffs, np.nan).astype(np.float32)
    priors = tuple(rng.dirichlet(np.full(n, rng.choice([0.3, 5.0]))).astype(np.float32) for n in shape)
    q = tuple(rng.uniform(-1, 1, n).astype(np.float32) for n in shape)
    counts = [visits.sum(axis=1 - player) for player in (0, 1)]
    u = policies.exploration(config.for_evaluator(None), float(visits.sum()))
    scores = tuple(
        (q[p] / 2 + u * priors[p] / (1 + counts[p])).astype(np.float32) if acting >> p & 1 else np.zeros(0, np.float32)
        for p in (0, 1)
    )
    return {
        "acting": acting,
        "ready": True,
        "value": np.zeros(2, np.float32),
        "evaluation": rng.uniform(-1, 1, 2).astype(np.float32),
        "outcomes": tuple(
            np.arange(n, dtype=np.int32) if acting >> p & 1 else np.full(1, -1, np.int32) for p, n in enumerate(shape)
        ),
        "priors": priors,
        "scores": scores,
        "q": q,
        "edge_visits": visits.astype(np.int64),
        "payoffs": payoffs,
    }


CONFIGS: list[dict[str, Any]] = [
    {},
    {"forced_playouts": 2.0, "normalize": "minmax", "c_puct": 0.5},
    {"forced_playouts": 3.0, "forced_by": "pair", "c_base": 40.0},
    {"forced_playouts": 8.0, "forced_by": "pair", "forced_form": "linear", "parent_visits": "edges"},
    {"c_puct": 3.0, "gumbel_rescale": False, "gumbel_value": 1.0, "gumbel_visit": 7.0},
]


@pytest.mark.parametrize("roots", [16, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("settings", CONFIGS, ids=str)
def test_policies_of_random_roots(settings: dict[str, Any], roots: int) -> None:
    config = rf.SearchConfig(**settings)
    other = 0
    for seed in range(roots):
        other += compare(random_report(seed, config), config, METHODS, NASH[seed % 4 :: 4], f"seed {seed}")
    assert other > roots / 2


SEARCHES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"noise_fraction": 0.25, "forced_playouts": 2.0}, METHODS),
    ({"graph": True, "forced_playouts": 6.0, "forced_by": "pair", "normalize": "remaining"}, METHODS),
    ({"selection": "regret"}, ("visits", "nash", "average")),
    ({"selection": "exp3"}, ("nash", "average", "pruned")),
    ({"selection": "gumbel"}, ("visits", "improved", "nash")),
    ({"solver": True}, METHODS),
    ({"solver": True, "selection": "regret"}, ("visits", "nash", "average")),
]


@pytest.mark.parametrize("name", ["pyrat", "pyrat zero-sum", "goofspiel", "hex", "connect_four", "tictactoe"])
@pytest.mark.parametrize(("settings", "methods"), SEARCHES, ids=str)
def test_policies_of_searches(name: str, settings: dict[str, Any], methods: tuple[str, ...]) -> None:
    config = rf.SearchConfig(**settings)
    for seed, simulations in itertools.product(range(2), (1, 20, 60)):
        stepper = Stepper(walk(name, seed), HashEvaluator(seed), config)
        stepper.search.begin(seed, simulations)
        for _ in range(simulations):
            stepper.simulate()
        compare(stepper.report(), config, methods, NASH[seed::3], f"{name} {seed}, {simulations} simulations")


def test_a_proven_root_is_played_by_the_proof() -> None:
    """The win at once has all the weight, whatever the visits say."""
    config = rf.SearchConfig(solver=True)
    stepper = Stepper(tictactoe(0, 4, 1, 8), HashEvaluator(1), config)  # 2 completes the row
    while not stepper.search.proven:
        stepper.simulate()
    report = stepper.report()
    for method in ("visits", "pruned", "improved"):
        best = native(report, config, 0, method)
        assert report["outcomes"][0][best > 0].tolist() == [2]


def test_a_report_that_does_not_fit_is_refused() -> None:
    config = rf.SearchConfig()
    report = random_report(2, config)
    short = tuple(array[:2] for array in report["priors"])
    for name, wrong in (("priors", short), ("payoffs", report["payoffs"][:, :2].copy())):
        with pytest.raises(ValueError, match="one number per outcome"):
            native({**report, name: wrong}, config, 0, "nash")
    with pytest.raises(ValueError, match="this player does not act here"):
        native(random_report(1, config), config, 1, "visits")
