"""Progressive widening at chance events, against the plain-Python search and against expectimax over all outcomes."""

import numpy as np
import pytest

import ramify as rf
from tests.chance_games import Draft, Pig, Race, expectimax
from tests.engine.test_against_reference import compare
from tests.reference.evaluators import HashEvaluator
from tests.reference.events import water_level

UNIFORM = rf.evaluators.Uniform()

SETTINGS = [
    {},
    {"chance_widening": 0.0},
    {"chance_explicit": 2, "chance_widening": 0.7, "chance_exponent": 0.4},
    {"chance_explicit": 4, "normalize": "minmax", "discount": 0.9},
    {"chance_explicit": 1, "chance_widening": 3.0, "chance_exponent": 1.0},
]


@pytest.mark.parametrize("game", [Race(), Draft(100), Draft(130, turns=4, skewed=True)], ids=repr)
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_engine_equals_transcription(game, graph, settings):
    compare(game.initial_state(1), HashEvaluator(1), {"graph": graph, **settings}, simulations=150)


def test_engine_equals_transcription_where_a_turn_has_many_events():
    for settings in SETTINGS:
        compare(Pig().initial_state(0), HashEvaluator(2), settings)


def event_of(result):
    """What the search knows of the event after the first player takes."""
    event = result.node([(0, -1)])
    assert event["acting"] == 4
    return event


@pytest.mark.core
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(("k", "alpha"), [(1.0, 0.5), (2.5, 0.4), (0.5, 0.8)])
def test_an_event_looks_at_few_outcomes_and_visits_them_alike(graph, k, alpha):
    settings = {"chance_widening": k, "chance_exponent": alpha, "graph": graph}
    for seed, simulations in enumerate((40, 300, 700)):
        state = Draft(500, turns=2).initial_state(0)
        event = event_of(rf.search(state, UNIFORM, simulations=simulations, actions=[0], seed=seed, **settings))
        drawn = event["edge_visits"].ravel()
        n, known = int(drawn.sum()), int((drawn > 0).sum())
        assert n == simulations - 1
        assert known <= min(n, np.ceil(k * n**alpha))
        assert known >= 0.8 * min(n, k * n**alpha)  # points of the golden ratio seldom fall on the same card
        assert drawn.max() <= 2 + n / known  # a new card catches up with the others


@pytest.mark.core
def test_likely_outcomes_count_by_their_probability_and_rare_ones_alike():
    result = rf.search(Draft(300, turns=2, skewed=True).initial_state(0), UNIFORM, simulations=900, actions=[0])
    event = event_of(result)
    seen = event["edge_visits"].ravel() > 0
    shares, values = event["priors"][0].astype(float), event["q"][0].astype(float)
    least = water_level(shares[seen].tolist())
    weights = np.maximum(shares[seen], least)
    assert weights.sum() == pytest.approx(1.0)
    assert event["value"][0] == pytest.approx(float(weights @ values[seen]), abs=1e-5)
    wide = rf.search(Draft(300, turns=2, skewed=True).initial_state(0), UNIFORM, simulations=6000, actions=[0])
    assert wide.value[0] == pytest.approx(result.value[0], abs=0.1)


def test_the_water_level_makes_weights_sum_to_one():
    rng = np.random.default_rng(0)
    for count in (1, 2, 7, 200):
        shares = rng.dirichlet(np.full(count, 0.2))
        for seen in (1, (count + 1) // 2, count):
            some = rng.permutation(shares)[:seen]
            weights = np.maximum(some, water_level(some.tolist()))
            assert weights.sum() == pytest.approx(1.0)
    assert water_level([0.5, 0.3, 0.2]) <= 0.2


@pytest.mark.core
def test_the_value_is_exact_once_every_outcome_was_seen():
    """With the solver: every outcome is proven by one visit, and the event with them."""
    game = Draft(80, turns=2, skewed=True)
    exact = expectimax(game)(game.start(None))
    for graph in (False, True):
        result = rf.search(game.initial_state(0), UNIFORM, simulations=8000, solver=True, graph=graph)
        assert result.proven is not None
        assert result.proven[0] == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("skewed", [False, True])
def test_widening_comes_nearer_to_expectimax(graph, skewed):
    """The error of an event's value falls with simulations, and is well below what it is without widening."""
    game = Draft(400, turns=2, skewed=skewed)
    exact = expectimax(game)(game.apply(game.start(None), 0)[0])

    def error(simulations, **settings):
        run = {"simulations": simulations, "graph": graph, "actions": [0], **settings}
        found = [rf.search(game.initial_state(0), UNIFORM, seed=seed, **run) for seed in range(6)]
        return float(np.sqrt(np.mean([(event_of(result)["value"][0] - exact) ** 2 for result in found])))

    assert error(1500) < 0.9 * error(100)
    assert error(600) < 0.7 * error(600, chance_widening=0.0)


@pytest.mark.core
@pytest.mark.parametrize("graph", [False, True])
def test_bounds_hold_where_most_outcomes_were_not_seen(graph):
    game = Draft(400, turns=3, skewed=True)
    exact = expectimax(game)(game.start(None))
    before = np.array([-np.inf, np.inf])
    for simulations in (2, 30, 400):
        result = rf.search(game.initial_state(0), UNIFORM, simulations=simulations, solver=True, graph=graph)
        low, high = float(result.proof.bounds[0][0]), float(result.proof.bounds[1][0])
        assert low - 1e-5 <= exact <= high + 1e-5
        assert low >= before[0] - 1e-6
        assert high <= before[1] + 1e-6
        before = np.array([low, high])
        assert result.proven is None


@pytest.mark.core
@pytest.mark.parametrize("graph", [False, True])
def test_the_seed_decides_what_is_drawn(graph):
    game = Draft(200, turns=3)

    def found(seed):
        result = rf.search(game.initial_state(0), UNIFORM, simulations=200, seed=seed, graph=graph)
        return result.value.tolist(), event_of(result)["edge_visits"].ravel().tolist()

    assert found(3) == found(3)
    assert found(3) != found(4)


@pytest.mark.core
@pytest.mark.parametrize("settings", [{"batch": 8}, {"max_nodes": 12}, {"selection": "gumbel"}], ids=str)
@pytest.mark.parametrize("graph", [False, True])
def test_widening_with_other_settings(graph, settings):
    evaluator = rf.evaluators.Function(zeros) if "batch" in settings else UNIFORM
    result = rf.search(Draft(150).initial_state(0), evaluator, simulations=250, graph=graph, **settings)
    assert int(result.visits.sum()) == 249
    assert np.isfinite(result.value).all()
    if "batch" in settings:
        drawn = event_of(result)["edge_visits"].ravel()
        assert drawn.sum() == event_of(result)["visits"]
        assert (drawn > 0).sum() < 0.5 * drawn.sum()


def zeros(batch):
    return np.zeros((len(batch), 2), np.float32), np.zeros(len(batch), np.float32)


def test_settings_are_checked():
    for wrong in (
        {"chance_widening": -1.0},
        {"chance_exponent": 0.0},
        {"chance_exponent": 1.5},
        {"chance_explicit": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            rf.SearchConfig(**wrong)
