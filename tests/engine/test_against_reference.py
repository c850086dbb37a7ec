"""The engine equals the plain-Python searches of tests/reference, simulation by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from tests.engine.positions import SIMULTANEOUS, positions, walk
from tests.engine.stepping import Stepper
from tests.reference import graph_search, hex_search
from tests.reference.config import Config
from tests.reference.evaluators import HashEvaluator

SIMULATIONS, MANY = 90, 300

# The settings of the algorithms that the engine contains, then each setting on its own.
SETTINGS: list[dict[str, Any]] = [
    {},
    {"graph": True, "parent_visits": "edges", "fpu": "parent"},
    {"c_puct": 1.25, "c_base": 19652.0, "discount": 0.997, "normalize": "minmax"},
    {"c_puct": 1.4, "graph": True},
    {"fpu": "reduction", "fpu_offset": 0.3},
    {"graph": True, "short_circuit": True, "fpu": "parent"},
    {"c_base": 20.0, "discount": 0.8},
    {"normalize": "minmax", "fpu": "parent", "graph": True},
]
WEIGHTS = ["conditional", "prior", "visits", "blended"]


def compare(
    state: rf.State,
    evaluator: HashEvaluator,
    settings: dict[str, Any],
    reference: Any = graph_search,
    simulations: int = SIMULATIONS,
) -> None:
    engine = Stepper(state, evaluator, rf.SearchConfig(**settings))
    known = {key: value for key, value in settings.items() if key != "canonical"}
    slow = reference.Search(state, evaluator, Config(**known, priors_from_logits=_core.softmax))
    for simulation in range(simulations):
        engine.simulate()
        slow.simulate()
        report = engine.report()
        where = f"simulation {simulation + 1}, {settings}, of\n{state}"
        np.testing.assert_array_equal(report["edge_visits"], slow.visits, err_msg=where)
        np.testing.assert_allclose(report["value"], slow.value, atol=1e-5, err_msg=where)
    for player in (0, 1):
        np.testing.assert_allclose(report["q"][player], slow.q[player], atol=1e-5)


def settings_for(name: str, seed: int) -> dict[str, Any]:
    settings = dict(SETTINGS[(seed + len(name)) % len(SETTINGS)])
    if name in SIMULTANEOUS:
        settings["opponent_weights"] = WEIGHTS[seed % len(WEIGHTS)]
    return settings


@pytest.mark.parametrize(("name", "seed"), positions(36))
def test_engine_equals_transcription(name: str, seed: int) -> None:
    compare(walk(name, seed), HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS), settings_for(name, seed))


# Few moves, so that a search comes to draws by repetition and by fifty moves: positions on its way there are not judged
# anew, but must be told apart.
SHUFFLES = (
    ("k7/8/p7/P7/8/8/8/K7 w - - 0 1", "a1b1 a8b8 b1a1 b8a8"),
    ("k7/8/p7/P7/8/8/8/K7 w - - 96 80", ""),
    ("k7/8/p7/P7/8/8/8/K6R b - - 97 80", ""),
)


@pytest.mark.parametrize(("fen", "moves"), SHUFFLES)
@pytest.mark.parametrize("graph", [False, True])
def test_draws_by_repetition_and_by_fifty_moves(fen: str, moves: str, graph: bool) -> None:
    state = rf.make("chess").state(fen=fen, moves=moves.split())
    compare(state, HashEvaluator(0), {"graph": graph}, simulations=250)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), positions(252))
def test_engine_equals_transcription_on_many_positions(name: str, seed: int) -> None:
    evaluator = HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS)
    compare(walk(name, seed), evaluator, settings_for(name, seed), simulations=MANY)


FORCED = [(form, by, k) for form in ("sqrt", "linear") for by in ("player", "pair") for k in (2.0, 12.0)]


@pytest.mark.parametrize("simulations", [100, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("form", "by", "k"), FORCED)
@pytest.mark.parametrize("name", ["pyrat", "goofspiel", "hex"])
def test_forced_playouts_equal_the_transcription(name: str, form: str, by: str, k: float, simulations: int) -> None:
    seed = int(k) % 5
    settings = {
        **settings_for(name, seed + int(k)),
        **{"forced_playouts": k, "forced_form": form, "forced_by": by},
    }
    compare(walk(name, seed), HashEvaluator(seed, zero_sum=name == "hex"), settings, simulations=simulations)


WEIGHTED: list[dict[str, Any]] = [{}, {"graph": True}, {"graph": True, "short_circuit": True, "fpu": "parent"}]


@pytest.mark.parametrize("settings", WEIGHTED)
@pytest.mark.parametrize("name", ["pyrat", "goofspiel", "hex"])
def test_weighted_backup_equals_the_transcription(name: str, settings: dict[str, Any]) -> None:
    for seed, scale in ((0, 0.1), (1, 1.0)):
        evaluator = HashEvaluator(seed, zero_sum=name == "hex", errors=True)
        compare(walk(name, seed), evaluator, {**settings, "error_scale": scale})


@pytest.mark.parametrize("seed", range(4))
def test_canonical_keys_equal_the_transcription_of_hex(seed: int) -> None:
    compare(walk("hex", seed), HashEvaluator(seed), {"graph": True, "canonical": True, "c_puct": 1.4}, hex_search)
