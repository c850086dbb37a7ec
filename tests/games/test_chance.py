"""Chance events of games written in Python: how they are told, drawn, checked and kept."""

import json
import pickle
from collections import Counter

import numpy as np
import pytest

import ramify as rf
from tests.chance_games import Bluff, Pig, Race

GAMES = [Pig(), Race(), Bluff()]


def named(game):
    return type(game).__name__


@pytest.mark.parametrize("game", GAMES, ids=named)
def test_games_with_chance_keep_every_promise(game):
    assert rf.check_game(game, games=5).games == 5


def test_apply_draws_chance_and_apply_only_leaves_it():
    state = Pig().initial_state(3)
    event = state.copy()
    assert event.apply_only(1).tolist() == [0, 0]
    assert (event.is_chance, event.is_over, event.acting, event.current_player) == (True, False, (), None)
    outcomes, probabilities = event.chance_outcomes()
    assert outcomes.tolist() == [1, 2, 3, 4, 5, 6]
    assert probabilities == pytest.approx([1 / 6] * 6)
    assert event.legal_actions(0).tolist() == []
    state.apply(1)
    assert not state.is_chance
    assert state.chance_events == 1
    drawn = event.draw_chance()
    assert drawn in outcomes
    assert event.position == state.position
    assert state.chance_outcomes()[0].size == 0


def test_a_position_that_starts_with_chance_is_drawn_by_the_seed():
    game = Race()
    throws = Counter(game.initial_state(seed).position[3] for seed in range(900))
    for throw, share in game.throws:  # 5 standard deviations is a false alarm in 10^6
        assert abs(throws[throw] - 900 * share) < 5 * (900 * share * (1 - share)) ** 0.5
    assert game.initial_state(4).position == game.initial_state(4).position


def test_copies_pickles_and_fields_draw_the_same_outcomes():
    game, rng = Race(turns=12, goal=40), np.random.default_rng(0)
    state = game.initial_state(5)
    while not state.is_over:
        fields = json.loads(json.dumps(state.fields))
        twins = [state.copy(), pickle.loads(pickle.dumps(state)), game.state(**fields)]
        action = int(rng.choice(state.legal_actions()))
        paid = state.apply(action)
        for twin in twins:
            assert twin.apply(action).tolist() == paid.tolist()
            assert twin.fields == state.fields


def test_rewards_of_chance_are_part_of_the_turn():
    game = Race(turns=2)
    for seed in range(60):
        state = game.initial_state(seed)
        before = state.returns
        paid = state.apply(0)
        assert (before + paid).tolist() == state.returns.tolist()
        if state.position[3] == 6:
            assert paid.tolist() == [-0.25, 0.25]
            return
    raise AssertionError("no throw of 6")


def test_another_seed_draws_other_outcomes():
    state = Race(turns=30, goal=1000).initial_state(1)
    other = state.copy()
    other.reseed_chance(99)
    throws = [], []
    for _ in range(20):
        for each, seen in zip((state, other), throws, strict=True):
            each.apply(0)
            seen.append(each.position[3])
    assert throws[0] != throws[1]
    with pytest.raises(rf.InvalidInput, match="chance_seed must be a whole number"):
        state.reseed_chance(-1)


def test_what_chance_cannot_do_is_refused():
    event = Pig().initial_state(0)
    with pytest.raises(rf.IllegalAction, match="there is no chance event"):
        event.draw_chance()
    event.apply_only(1)
    for outcome in (0, 7, -1, "roll", None):
        with pytest.raises(rf.IllegalAction, match="chance decides here: its outcome must be one of 1, 2, 3, 4, 5, 6"):
            event.apply_only(outcome)
    with pytest.raises(rf.InvalidInput, match=r"no part 'chance' \(it has actions chance_seed\)"):
        rf.make("openspiel:tic_tac_toe").state(chance=[3])
    with pytest.raises(rf.InvalidInput, match="chance_events must be a whole number"):
        Pig().state(Pig().start(None), chance_events=-1)


class Loaded(Pig):
    """A die whose pairs are given by a test."""

    event = ()

    def chance_outcomes(self, position):
        return self.event if position[4] else ()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([(1, 0.5), (2, 0.4)], "probabilities that sum to 0.9"),
        ([(1, 0.5), (1, 0.5)], "an outcome twice"),
        ([(1, 1.0), (2, 0.0)], "probability 0.0 for outcome 2: leave out what cannot happen"),
        ([(1, 1.5), (2, -0.5)], "probability 1.5 for outcome 1: it must be above 0 and at most 1"),
        ([(1, float("nan"))], "probability nan for outcome 1: it must be above 0"),
        ([(-1, 1.0)], "returned outcome -1"),
        ([(0.5, 1.0)], "must return pairs (outcome, probability), the outcome a whole number"),
        ([1, 2], "must return pairs"),
    ],
)
def test_the_checker_finds_wrong_events(event, message):
    game = Loaded()
    type(game).event = event
    report = rf.check_game(game, games=1, raises=False)
    assert [problem.promise for problem in report.problems] == ["chance"]
    assert message in report.problems[0].seen


class OneKey(Pig):
    """A key that does not tell a roll to come from the position before it."""

    def key(self, position):
        return super().key(position[:4])


class Missing(Pig):
    """An outcome that apply does not know."""

    def apply(self, position, action):
        if position[4] and action == 6:
            raise KeyError("six")
        return super().apply(position, action)


@pytest.mark.parametrize(("game", "message"), [(OneKey(), "is also that of"), (Missing(), "apply_only(6) raised")])
def test_the_checker_follows_every_outcome(game, message):
    report = rf.check_game(game, games=10, raises=False)
    assert report.problems
    assert any(message in problem.seen or "six" in problem.seen for problem in report.problems)


class Endless(Pig):
    """Chance without end."""

    def chance_outcomes(self, position):
        return ((1, 1.0),)

    def apply(self, position, action):
        return position, (0, 0)


def test_chance_without_end_is_the_fault_of_the_game():
    with pytest.raises(rf.BrokenGame, match="chance events in a row"):
        Endless().initial_state(0)


class Again(rf.PythonGame):
    """Action 0 throws a coin: heads wins, and on tails it is thrown again. Action 1 loses."""

    num_actions, observation_shape, zero_sum, returns_range = 2, (1,), True, (-1, 1)

    def start(self, rng):
        return "turn"

    def acting(self, position):
        return (0,) if position == "turn" else ()

    def legal_actions(self, position, player):
        return [0, 1]

    def chance_outcomes(self, position):
        return [(0, 0.5), (1, 0.5)] if position == "coin" else []

    def apply(self, position, action):
        if position == "turn":
            return ("coin", (0, 0)) if action == 0 else ("over", (-1, 1))
        return self.thrown(action)

    def thrown(self, face):
        return ("over", (1, -1)) if face == 0 else ("coin", (0, 0))

    def observation(self, position, player):
        return (0,)


class Never(Again):
    """The coin stands on its edge, for ever."""

    def thrown(self, face):
        return "coin", (0, 0)


@pytest.mark.parametrize("settings", [{}, {"threads": 2}, {"batch": 4}, {"solver": True}], ids=str)
def test_a_search_ends_where_chance_does_not(settings):
    found = rf.search(Again().initial_state(), rf.evaluators.Uniform(), simulations=300, **settings)
    assert found.best_action == 0
    assert found.value[0] > 0.9
    for evaluator in (rf.evaluators.Uniform(), rf.evaluators.Rollout(1)):
        with pytest.raises(rf.BrokenGame, match="10000 more chance events in a row"):
            rf.search(Never().initial_state(), evaluator, simulations=50, **settings)


@pytest.mark.parametrize("game", [Again(), Never()], ids=named)
def test_alphabeta_refuses_chance_events_without_number(game):
    """It was a crash: every event is a frame on the stack."""
    with pytest.raises(rf.InvalidInput, match="more than 1000 chance events"):
        rf.alphabeta(game.initial_state(), depth=2)


def test_dice_of_openspiel_can_be_given():
    game = rf.make("openspiel:pig", winscore=20)
    state = game.initial_state(2)
    state.apply(0)
    fields = state.fields
    assert len(fields["chance"]) == 1
    for outcome in range(6):
        event = game.state()
        event.apply_only(0)
        event.apply_only(outcome)
        again = game.state(**event.fields)
        assert (str(again), again.key) == (str(event), event.key)
    with pytest.raises(rf.InvalidInput, match="chance event 1 cannot be so"):
        game.state(actions=[0], chance=[77])
    with pytest.raises(rf.InvalidInput, match="chance has 2 outcomes, but there were 1 events"):
        game.state(actions=[0], chance=[1, 2])
