"""Searching a learned model: one that knows the rules must search exactly as the rules do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine import LatentOutput
from tests.engine.helpers import HashEvaluator, assert_same_result
from tests.engine.positions import walk
from tests.engine.tiny_games import Paths
from tests.engine.walking import walk_graph

ORDERS = ["alternating", "single", "both"]


class RulesModel:
    """A model whose latent states are states. The end is absorbing: value, reward and logits are 0 from there on.

    ``scalar``: values and rewards are the acting player's alone, where the order of play allows that.
    """

    def __init__(self, game: Any, evaluator: Any, order: str, scalar: bool = False) -> None:
        self.game, self.evaluator, self.acting, self.scalar = game, evaluator, order, scalar
        self.num_actions = game.num_actions
        self.known: dict[bytes, rf.State] = {}
        self.rows: list[int] = []

    def roots(self, *states: rf.State) -> RulesModel:
        """Makes these states known by what is seen of them."""
        for state in states:
            self.known[state.observation(state.acting[0]).tobytes()] = state
        return self

    def initial(self, observations: Any) -> LatentOutput:
        self.rows.append(len(observations))
        return self._output([self.known[row.tobytes()].copy() for row in observations], None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        self.rows.append(len(actions))
        states, rewards = [state.copy() for state in latents], np.zeros((len(actions), 2), np.float32)
        movers = [state.acting[0] if state.acting else 0 for state in states]
        for i, state in enumerate(states):
            if not state.is_over:
                rewards[i] = state.apply(*np.atleast_1d(actions[i]))
        return self._output(states, rewards[np.arange(len(states)), movers] if self.scalar else rewards)

    def _output(self, states: list[rf.State], rewards: Any) -> LatentOutput:
        logits, values = (
            np.zeros((len(states), 2, self.num_actions), np.float32),
            np.zeros((len(states), 2), np.float32),
        )
        for i, state in enumerate(states):
            if not state.is_over:
                logits[i], values[i] = self.evaluator(state)
        if self.scalar:
            movers = [state.acting[0] if state.acting else 0 for state in states]
            rows = np.arange(len(states))
            return LatentOutput(states, logits[rows, movers], values[rows, movers], rewards)
        return LatentOutput(states, logits, values, rewards)


def root_of(order: str, zero_sum: bool = False, **params: Any) -> rf.State:
    return Paths(order, zero_sum=zero_sum, **params).initial_state()


def latent(state: rf.State, order: str, evaluator: Any, scalar: bool = False, **settings: Any) -> rf.SearchResult:
    model = RulesModel(state.game, evaluator, order, scalar).roots(state)
    return rf.Searcher(model, config=rf.SearchConfig(**settings)).run(state)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"discount": 0.9, "c_puct": 1.25, "c_base": 19652.0},
        {"fpu": "parent", "parent_visits": "edges", "opponent_weights": "prior"},
        {"noise_fraction": 0.25, "fpu": "reduction"},
    ],
)
@pytest.mark.parametrize("zero_sum", [True, False])
def test_a_model_that_knows_the_rules_searches_as_they_do(order: str, settings: dict[str, Any], zero_sum: bool) -> None:
    state = root_of(order, zero_sum, turns=5)
    evaluator = HashEvaluator(4, zero_sum)
    for simulations in (1, 2, 30, 200):  # the larger ones reach the end and beyond
        rules = rf.search(state, evaluator, simulations=simulations, **settings)
        model = latent(state, order, evaluator, simulations=simulations, **settings)
        np.testing.assert_array_equal(model.visits, rules.visits)
        np.testing.assert_array_equal(model.value, rules.value)
        np.testing.assert_array_equal(model.payoffs, rules.payoffs)
        for player in (0, 1):
            np.testing.assert_array_equal(model.priors[player], rules.priors[player])
            np.testing.assert_array_equal(model.q[player], rules.q[player])
            np.testing.assert_array_equal(model.outcomes[player], rules.outcomes[player])
    assert rules.stats["terminals"] > 0
    assert model.stats["terminals"] == 0


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "settings", [{"normalize": "minmax", "discount": 0.997, "c_puct": 1.25}, {"batch": 8, "max_in_flight": 0.5}]
)
def test_far_from_the_end_everything_is_the_same(order: str, settings: dict[str, Any]) -> None:
    # At the end only the model goes on: its nodes there are leaves of a batch, and edges that widen the range.
    state = root_of(order, turns=40)
    settings = {"simulations": 200, **settings}
    rules = rf.search(state, HashEvaluator(1, False), **settings)
    assert_same_result(latent(state, order, HashEvaluator(1, False), **settings), rules, stats=False)


@pytest.mark.parametrize(("order", "zero_sum"), [("alternating", True), ("single", False)])
def test_numbers_of_the_acting_player_alone(order: str, zero_sum: bool) -> None:
    state = root_of(order, zero_sum)
    settings: dict[str, Any] = {"simulations": 150, "discount": 0.9}
    both = latent(state, order, HashEvaluator(2, zero_sum), **settings)
    one = latent(state, order, HashEvaluator(2, zero_sum), scalar=True, **settings)
    player = 0
    np.testing.assert_array_equal(one.visits, both.visits)
    np.testing.assert_array_equal(one.payoffs[player], both.payoffs[player])
    assert one.value[player] == both.value[player]
    # The other player's numbers follow from the game: the negative where two alternate, nothing where one plays.
    assert one.value[1] == (-one.value[0] if order == "alternating" else 0.0)


def test_numbers_of_one_player_are_refused_where_both_act() -> None:
    state = root_of("both")
    with pytest.raises(rf.EvaluatorError, match="per player where both players act"):
        latent(state, "both", HashEvaluator(2, False), scalar=True, simulations=10)


def test_a_real_game_whose_actions_stay_legal() -> None:
    # Connect four from the start: no column is full within the depth that 60 simulations reach.
    state = rf.make("connect_four").initial_state()
    rules = rf.search(state, HashEvaluator(3), simulations=60)
    assert rules.stats["max_depth"] < 6
    assert_same_result(latent(state, "alternating", HashEvaluator(3), simulations=60), rules, stats=False)


def test_the_second_player_may_begin() -> None:
    state = rf.make("connect_four").initial_state()
    state.apply(3)
    rules = rf.search(state, HashEvaluator(3), simulations=40)
    assert_same_result(latent(state, "alternating", HashEvaluator(3), simulations=40), rules, stats=False)


class Counting:
    """A model of numbers: a latent is how many actions led to it."""

    num_actions = 9
    acting = "alternating"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def initial(self, observations: Any) -> LatentOutput:
        return self._output(np.zeros(len(observations)))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        self.seen += [(float(latent), int(action)) for latent, action in zip(latents, actions, strict=True)]
        return self._output(latents + 1, np.zeros(len(latents)))

    def _output(self, latents: Any, rewards: Any = None) -> LatentOutput:
        return LatentOutput(latents, np.zeros((len(latents), 9)), np.zeros(len(latents)), rewards)


def test_legal_actions_are_known_at_the_root_only() -> None:
    state = walk("tictactoe", 5)
    legal = set(state.legal_actions().tolist())
    assert len(legal) < 9
    model = Counting()
    result = rf.Searcher(model, config=rf.SearchConfig(simulations=400)).run(state)
    assert set(result.outcomes[state.acting[0]].tolist()) == legal
    assert {action for depth, action in model.seen if depth == 0} == legal
    assert {action for depth, action in model.seen if depth == 1} == set(range(9))
    assert result.policy()[sorted(set(range(9)) - legal)].sum() == 0


def test_latents_are_handed_on() -> None:
    # Every recurrent call gets the latent that its parent was given, whatever the order of evaluation.
    model = Counting()
    searcher = rf.Searcher(model, config=rf.SearchConfig(simulations=300, batch=16))
    state = walk("tictactoe", 0)
    result = searcher.run(state)
    depths = np.bincount([int(depth) for depth, _ in model.seen])
    assert len(depths) == result.stats["max_depth"]
    assert depths.sum() == 299


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (4, 2)])
def test_many_latent_searches_equal_single_ones(order: str, batch: int, threads: int) -> None:
    game = Paths(order, zero_sum=False, turns=40)
    states = [game.state(tuple(position)) for position in start_positions(order)]
    model = RulesModel(ByTurn(game), HashEvaluator(5, False), order).roots(*states)
    config = rf.SearchConfig(simulations=80, batch=batch, threads=threads)
    together = rf.Searcher(model, config=config).run_many(states)
    assert max(model.rows) > 1
    assert model.rows[0] == len(states)
    for state, result in zip(states, together, strict=True):
        alone = rf.Searcher(model, config=config.replace(threads=1)).run(state)
        assert_same_result(result, alone)
        assert_same_result(result, rf.search(state, model.evaluator, simulations=80, batch=batch), stats=False)


class ByTurn:
    """Only what a model needs of a game."""

    def __init__(self, game: Any) -> None:
        self.num_actions = game.num_actions


def start_positions(order: str) -> list[list[tuple[int, ...]]]:
    """Positions that look different: after no, one and two turns."""
    turn = (0, 1) if order == "both" else (1,)
    return [[], [turn], [turn, turn]]


def test_a_second_run_goes_on_and_another_root_starts_afresh() -> None:
    state = root_of("alternating", True)
    other = state.copy()
    other.apply(2)
    model = RulesModel(state.game, HashEvaluator(0), "alternating").roots(state, other)
    searcher = rf.Searcher(model, config=rf.SearchConfig(simulations=50))
    assert searcher.run(state).visits.sum() == 49
    assert searcher.run(state).visits.sum() == 99
    assert_same_result(searcher.run(other), latent(other, "alternating", HashEvaluator(0), simulations=50))


def test_a_latent_search_cannot_be_advanced() -> None:
    state = root_of("alternating", True)
    model = RulesModel(state.game, HashEvaluator(0), "alternating").roots(state)
    searcher = rf.Searcher(model, config=rf.SearchConfig(simulations=50))
    first = searcher.run(state)
    with pytest.raises(rf.InvalidInput, match="not available with a latent model"):
        searcher.advance(1)
    again = searcher.run(state)  # nothing has changed: still the same root
    assert again.visits.sum() == first.visits.sum() + 50


class Wrong(Counting):
    """Goes wrong in a way of its own from the second answer on."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change, self.answers, self.broken = change, 0, True

    def _output(self, latents: Any, rewards: Any = None) -> LatentOutput:
        self.answers += 1
        answer = super()._output(latents, rewards)
        return self.change(answer) if self.broken and self.answers > 1 else answer


CHANGES: list[tuple[Any, str]] = [
    (lambda a: LatentOutput(a.latents[:-1], a.logits, a.values, a.rewards), "must return 1 latent states, not 0"),
    (lambda a: LatentOutput(3.0, a.logits, a.values, a.rewards), "must return 1 latent states, not float"),
    (lambda a: LatentOutput(a.latents, a.logits[:, :5], a.values, a.rewards), "logits must have shape"),
    (lambda a: LatentOutput(a.latents, a.logits, np.zeros((1, 3)), a.rewards), "values must have shape"),
    (lambda a: LatentOutput(a.latents, a.logits, a.values, np.zeros(4)), "rewards must have shape"),
    (lambda a: LatentOutput(a.latents, a.logits * np.nan, a.values, a.rewards), "row 0: a logit"),
    (lambda a: LatentOutput(a.latents, a.logits, a.values + np.inf, a.rewards), "row 0: the value of player"),
    (lambda a: LatentOutput(a.latents, a.logits, a.values, a.rewards + np.nan), "row 0: a reward is not finite"),
    (lambda a: LatentOutput(a.latents, "nine", a.values, a.rewards), "logits cannot be converted to numbers"),
    (lambda a: (a.latents, a.logits), "must return a LatentOutput, not tuple"),
    (lambda a: None, "must return a LatentOutput, not NoneType"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_wrong_answers_of_a_model(change: Any, message: str) -> None:
    state = walk("tictactoe", 0)
    model = Wrong(change)
    searcher = rf.Searcher(model, config=rf.SearchConfig(simulations=40))
    with pytest.raises(rf.EvaluatorError, match=message):
        searcher.run(state)
    model.broken = False
    result = searcher.run(state)
    assert result.visits.sum() == 40  # the root was there already
    fresh = rf.Searcher(Counting(), config=rf.SearchConfig(simulations=41)).run(state)
    assert_same_result(result, fresh, stats=False)


def test_a_model_must_say_who_acts() -> None:
    class Odd(Counting):
        acting = "sometimes"

    with pytest.raises(ValueError, match="'alternating', 'single' or 'both', not 'sometimes'"):
        rf.Searcher(Odd())


def test_a_model_takes_no_other_evaluator() -> None:
    with pytest.raises(TypeError, match="evaluates its own states"):
        rf.Searcher(Counting(), HashEvaluator(0))


def test_shared_nodes_are_for_rules_only() -> None:
    state = root_of("alternating", True)
    plain = latent(state, "alternating", HashEvaluator(0), simulations=60)
    asked = latent(
        state, "alternating", HashEvaluator(0), simulations=60, graph=True, canonical=True, short_circuit=True
    )
    assert_same_result(plain, asked)


def test_the_graph_of_a_model_holds_together() -> None:
    state = root_of("both", turns=30)
    model = RulesModel(state.game, HashEvaluator(6, False), "both").roots(state)
    config = rf.SearchConfig(simulations=120, batch=6, discount=0.95)
    searcher = rf.Searcher(model, config=config)
    result = searcher.run(state)
    assert searcher._search is not None
    assert len(walk_graph(searcher._search, state, config)) == result.stats["nodes"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_result_of_a_model_shows_and_has_arrays(order: str) -> None:
    """The model goes on beyond the end of the game, where no action has a name any more."""
    state = root_of(order, turns=3)
    result = latent(state, order, HashEvaluator(4), simulations=200)
    lines = str(result).splitlines()
    assert len(lines) <= 24
    assert "200 simulations" in lines[1]
    counts = result.visit_counts if isinstance(result.visit_counts, tuple) else (result.visit_counts,)
    assert [int(array.sum()) for array in counts] == [199] * len(state.acting)
