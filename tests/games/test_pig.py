"""Pig: rules and searches against a version in plain Python, visit for visit, and exact values by value iteration."""

from __future__ import annotations

import json
import pickle
from functools import cache

import numpy as np
import pytest

import ramify as rf
from ramify.engine.equilibria import solve_game
from tests.reference.evaluators import HashEvaluator

ROLL, HOLD = 0, 1


class PlainPig(rf.PythonGame):
    """The same game in Python. A position is (points of both, points of the turn, player, turns, rolling)."""

    num_actions = 2
    observation_shape = (5,)
    zero_sum, returns_range = True, (-1, 1)

    def __init__(self, target: int = 100, sides: int = 6, max_turns: int = 0) -> None:
        self.target, self.sides, self.max_turns = target, sides, max_turns
        self.native = rf.make("pig", target=target, sides=sides, max_turns=max_turns)

    def start(self, rng):
        return (0, 0), 0, 0, 0, False

    def acting(self, position):
        points, _, player, turns, _ = position
        over = max(points) >= self.target or (self.max_turns and turns == self.max_turns)
        return () if over else (player,)

    def legal_actions(self, position, player):
        return (ROLL, HOLD) if position[1] else (ROLL,)

    def chance_outcomes(self, position):
        return [(face, 1 / self.sides) for face in range(1, self.sides + 1)] if position[4] else ()

    def apply(self, position, action):
        points, total, player, turns, rolling = position
        next_turn = 1 - player, turns + bool(self.max_turns)
        if not rolling and action == ROLL:
            return (points, total, player, turns, True), (0, 0)
        if rolling and action == 1:
            return (points, 0, *next_turn, False), (0, 0)
        have = list(points)
        if rolling and points[player] + total + action < self.target:
            return (points, total + action, player, turns, False), (0, 0)
        have[player] += total + (action if rolling else 0)
        if not rolling:
            return (tuple(have), 0, *next_turn, False), (0, 0)
        win = 1 - 2 * player
        return (tuple(have), 0, player, turns, False), (win, -win)

    def observation(self, position, player):
        points, total, mover, turns, _ = position
        left = (self.max_turns - turns) / self.max_turns if self.max_turns else 0
        shares = np.float32([points[player], points[1 - player], total]) / np.float32(self.target)
        return [*shares, mover == player, np.float32(left)]

    def key(self, position):
        """The native key: searches of graphs draw by keys."""
        return self.native_state(position).key

    def native_state(self, position):
        points, total, player, turns, rolling = position
        more = {"turns": turns} if self.max_turns else {}
        return self.native.state(points=list(points), total=total, player=player, rolling=rolling, **more)


PARAMS = [{"target": 20}, {"target": 9, "sides": 3, "max_turns": 8}, {"target": 30, "sides": 10, "max_turns": 40}]


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_native_and_plain_rules_agree(params):
    plain, rng = PlainPig(**params), np.random.default_rng(0)
    for seed in range(30):
        ours, native = plain.initial_state(seed), plain.native.initial_state(seed)
        while True:
            assert native.acting == ours.acting
            assert (native.is_over, native.is_chance) == (ours.is_over, ours.is_chance)
            assert native.returns.tolist() == ours.returns.tolist()
            assert native.key == ours.key
            for player in (0, 1):
                assert native.legal_actions(player).tolist() == ours.legal_actions(player).tolist()
                assert native.observation(player).tolist() == ours.observation(player).tolist()
            if ours.is_over:
                break
            outcomes, shares = native.chance_outcomes()
            assert outcomes.tolist() == ours.chance_outcomes()[0].tolist()
            assert shares.tolist() == ours.chance_outcomes()[1].tolist()
            choice = int(rng.choice(outcomes if native.is_chance else native.legal_actions()))
            assert native.apply_only(choice).tolist() == ours.apply_only(choice).tolist()


SETTINGS = [
    {},
    {"graph": True},
    {"solver": True},
    {"graph": True, "solver": True},
    {"discount": 0.9},
    {"chance_explicit": 2, "graph": True},
    {"chance_explicit": 1, "chance_widening": 0.7, "normalize": "minmax"},
    {"selection": "gumbel"},
    {"batch": 8},
]


@pytest.mark.parametrize("params", PARAMS, ids=str)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_searches_of_native_and_plain_rules_agree_visit_for_visit(params, settings):
    plain, evaluator = PlainPig(**params), HashEvaluator(3)
    position = ((4, 5), 3, 0, 0, False)
    states = plain.state(position=position), plain.native_state(position)
    for simulations in (1, 2, 20, 150):
        ours, native = (rf.search(state, evaluator, simulations=simulations, seed=7, **settings) for state in states)
        assert native.visits.tolist() == ours.visits.tolist()
        assert native.value.tolist() == ours.value.tolist()
        assert native.q[0].tolist() == ours.q[0].tolist()
        assert native.stats["nodes"] == ours.stats["nodes"]
        if settings.get("solver"):
            assert native.proof.bounds.tolist() == ours.proof.bounds.tolist()
    assert native.stats["simulations"] == ours.stats["simulations"]


def limited_value(game):
    """Expectimax over native states of a game with a limit of turns, for player 0."""

    @cache
    def value(key):
        state = states[key]
        if state.is_over:
            return 0.0
        if state.is_chance:
            return sum(share * follow(state, outcome) for outcome, share in zip(*state.chance_outcomes(), strict=True))
        best = max if state.acting == (0,) else min
        return best(follow(state, action) for action in state.legal_actions().tolist())

    def follow(state, choice):
        after = state.copy()
        paid = after.apply_only(int(choice))
        states[after.key] = after
        return float(paid[0]) + value(after.key)

    states = {}
    start = game.initial_state(0)
    states[start.key] = start
    return value(start.key)


SMALL = [{"target": 6, "max_turns": 4}, {"target": 5, "sides": 3, "max_turns": 6}]


@pytest.mark.core
@pytest.mark.parametrize("params", SMALL, ids=str)
def test_proofs_and_alphabeta_find_the_exact_value(params):
    game = rf.make("pig", **params)
    exact = limited_value(game)
    state = game.initial_state(0)
    assert rf.alphabeta(state, depth=60).value[0] == pytest.approx(exact, abs=1e-6)
    for threads in (1, 2):
        settings = {"simulations": 50_000, "solver": True, "graph": True, "threads": threads}
        proven = rf.search(state, rf.evaluators.Uniform(), **settings).proven
        assert proven[0] == pytest.approx(exact, abs=1e-5)
    for evaluator in (rf.evaluators.Rollout(), rf.evaluators.GreedyRollout()):
        found = rf.search(state, evaluator, simulations=8000)
        assert found.value[0] == pytest.approx(exact, abs=0.1)


def value_iteration(target, sides=6):
    """win[i, j, k]: probability that a player with i points and k more in this turn beats one with j, both perfect.

    From a guess of the values at the beginning of turns, the turns are computed from their ends; again until nothing
    changes.
    """
    win, first = np.zeros((target, target, target)), np.full((target, target), 0.5)
    points = np.arange(target)
    while True:
        for total in range(target - 1, -1, -1):
            roll = 1.0 - first.T
            for face in range(2, sides + 1):
                later = win[:, :, total + face] if total + face < target else np.ones_like(first)
                roll = roll + np.where((points + total + face >= target)[:, None], 1.0, later)
            hold = np.zeros_like(first)
            if total:
                hold[: target - total] = 1.0 - first.T[total:]
            win[:, :, total] = np.maximum(roll / sides, hold)
        if np.abs(win[:, :, 0] - first).max() < 1e-13:
            return win
        first = win[:, :, 0].copy()


def test_the_first_player_wins_530_of_1000_games():
    """Neller and Presser, Optimal Play of the Dice Game Pig (2004): 53.06 %."""
    assert value_iteration(100)[0, 0, 0] == pytest.approx(0.5306, abs=5e-5)


def test_the_rules_keep_the_equation_of_the_values():
    """Every native position is worth what its best action is: the values are those of this game."""
    game, win = rf.make("pig", target=30), value_iteration(30)

    def worth(state):
        """To player 0."""
        if state.is_over:
            return float(state.returns[0])
        if state.is_chance:
            after = [(state.copy(), int(outcome)) for outcome in state.chance_outcomes()[0]]
            for child, outcome in after:
                child.apply_only(outcome)
            return float(np.dot([worth(child) for child, _ in after], state.chance_outcomes()[1]))
        fields = state.fields
        player = fields["player"]
        probability = win[fields["points"][player], fields["points"][1 - player], fields["total"]]
        return (1 - 2 * player) * (2 * probability - 1)

    rng = np.random.default_rng(1)
    for seed in range(20):
        state = game.initial_state(seed)
        while not state.is_over:
            children = [state.copy() for _ in state.legal_actions()]
            for child, action in zip(children, state.legal_actions(), strict=True):
                child.apply_only(int(action))
            best = max if state.acting == (0,) else min
            assert worth(state) == pytest.approx(best(map(worth, children)), abs=1e-9)
            state.apply(int(rng.choice(state.legal_actions())))


def test_searches_come_near_to_the_values():
    game, win = rf.make("pig", target=30), value_iteration(30)

    def rolled(points, total):
        """What a roll is worth to the player who has the first of these points."""
        later = [win[(*points, total + face)] if points[0] + total + face < 30 else 1.0 for face in range(2, 7)]
        return (1 - win[points[1], points[0], 0] + sum(later)) / 6

    for points, total in (((20, 28), 6), ((0, 28), 4), ((0, 0), 21), ((8, 0), 12), ((24, 10), 2)):
        state, exact = game.state(points=list(points), total=total), win[(*points, total)]
        found = rf.search(state, rf.evaluators.GreedyRollout(), simulations=40_000, graph=True)
        assert found.value[0] == pytest.approx(2 * exact - 1, abs=0.06)
        held = 1 - win[points[1], points[0] + total, 0]
        assert exact - (held if found.best_action == HOLD else rolled(points, total)) < 0.01


@pytest.mark.core
def test_dice_are_drawn_by_the_seed_of_the_state():
    game = rf.make("pig", target=60)
    assert game.has_chance_events
    assert not rf.make("hex").has_chance_events
    rng = np.random.default_rng(0)
    faces = []
    for seed in range(40):
        state = game.initial_state(seed)
        while not state.is_over:
            twins = [
                state.copy(),
                pickle.loads(pickle.dumps(state)),
                game.state(**json.loads(json.dumps(state.fields))),
            ]
            action, event = int(rng.choice(state.legal_actions())), state.copy()
            paid = state.apply(action)
            for twin in twins:
                assert twin.apply(action).tolist() == paid.tolist()
                assert twin.fields == state.fields
            event.apply_only(action)
            if event.is_chance:
                faces.append(event.peek_chance())
                assert event.draw_chance() == faces[-1]
                assert event.fields == state.fields
    counts = np.bincount(faces, minlength=7)[1:]
    n = len(faces)
    assert np.abs(counts - n / 6).max() < 5 * (n * 5 / 36) ** 0.5
    state, other = game.initial_state(0), game.initial_state(0)
    other.reseed_chance(12345)
    assert other.chance_seed == 12345
    rolls = [[(s.apply(ROLL), s.fields["total"])[1] for _ in range(12)] for s in (state, other)]
    assert rolls[0] != rolls[1]


def test_a_search_does_not_foresee_the_die():
    state = rf.make("pig", target=40).initial_state(0)
    values = []
    for seed in range(4):
        state.reseed_chance(seed)
        values.append(rf.search(state, simulations=300, seed=1).value.tolist())
    assert values == [values[0]] * 4


@pytest.mark.core
def test_advance_follows_the_die():
    game, state = rf.make("pig", target=40), rf.make("pig", target=40).initial_state(3)
    for graph in (False, True):
        searcher, now, kept = rf.Searcher(game, config=rf.SearchConfig(simulations=300, graph=graph)), state.copy(), 0
        while not now.is_over:
            result = searcher.run(now)
            searcher.advance(result.best_action)
            now.apply(result.best_action)
            known = None if now.is_over else searcher.snapshot()
            if known is not None:
                kept += 1
                assert known.acting == now.acting
        assert kept > 3


@pytest.mark.core
def test_threads_share_events():
    state = rf.make("pig", target=30).initial_state(0)
    exact = 2 * value_iteration(30)[0, 0, 0] - 1
    for graph in (False, True):
        found = rf.search(state, rf.evaluators.GreedyRollout(), simulations=20_000, threads=3, graph=graph)
        assert int(found.visits.sum()) == 19_999
        assert found.value[0] == pytest.approx(exact, abs=0.12)


@pytest.mark.core
def test_what_pig_refuses():
    game = rf.make("pig", target=20)
    wrong = [
        ({}, "points must be two whole numbers"),
        ({"points": [1, 0]}, "a 1 loses it"),
        ({"points": [25, 0], "player": 1}, "must be the one who has won"),
        ({"points": [20, 0], "total": 3}, "nobody rolls"),
        ({"points": [15, 0], "total": 6}, "has won"),
        ({"points": [2, 0], "rolling": 3}, "rolling must be True or False"),
        ({"points": [2, 0], "turns": 3}, "turns must be 0"),
        ({"points": [2, 0], "chance_seed": -1}, "chance_seed must be a whole number"),
        ({"points": [2, 0], "chance_events": 2**63 - 1}, "chance_events must be a whole number"),
        ({"points": [2, 0], "sides": 3}, "a position has no part"),
    ]
    for parts, message in wrong:
        with pytest.raises(rf.InvalidInput, match=message):
            game.state(**parts)
    with pytest.raises(rf.InvalidInput, match="player 0 begins"):
        rf.make("pig", max_turns=4).state(points=[2, 0], turns=2, player=1)
    event = game.state(points=[2, 0], rolling=True)
    with pytest.raises(rf.IllegalAction, match="its outcome must be one of 1, 2, 3, 4, 5, 6, not"):
        event.apply_only(7)
    with pytest.raises(rf.InvalidInput, match="chance decides in this state"):
        rf.search(event, simulations=10)
    with pytest.raises(rf.IllegalAction, match="no chance event"):
        game.initial_state(0).peek_chance()
    with pytest.raises(rf.InvalidInput, match="a game with chance cannot be solved as a graph"):
        solve_game(game.initial_state(0))
    assert event.perft(1) == 5 * 2 + 1
    assert event.apply(3).tolist() == [0, 0]
    assert event.fields["total"] == 3
