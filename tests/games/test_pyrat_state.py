"""PyRat states: keys, outcomes, observations, copies, and positions from explicit parts, garbage included."""

import itertools
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf

pytestmark = pytest.mark.core

GAME = rf.make("pyrat", width=5, height=4)
PLAIN = {"cheese": [[2, 1], [4, 0], [0, 3]], "p1": [1, 1], "p2": [3, 2], "max_turns": 20}
LADEN = {
    **PLAIN,
    "walls": [[[0, 0], [1, 0]], [[2, 1], [2, 2]]],
    "mud": [[[1, 1], [2, 1], 3], [[3, 2], [3, 1], 2]],
    "turn": 6,
    "mud1": 0,
    "mud2": 2,
    "score1": 1.5,
    "score2": 0.5,
    "misses1": 2,
    "misses2": 6,
}


def play_on(state, rng, turns=10**9):
    """Play at random; yields every state on the way."""
    for _ in range(turns):
        if state.is_over:
            return
        state.apply(rng.randrange(5), rng.randrange(5))
        yield state


def muddy_game(**params):
    return rf.make("pyrat", width=7, height=6, cheese=16, max_turns=60, wall_density=0.4, mud_density=0.4, **params)


# Keys


@pytest.mark.parametrize("reward", ["cheese", "difference", "win"])
def test_key_kept_up_to_date_equals_key_of_the_parts(reward):
    rng = random.Random(1)
    game = muddy_game(reward=reward)
    for seed in range(8):
        for state in play_on(game.initial_state(seed), rng):
            again = game.state(**state.fields)
            assert again.key == state.key
            assert again.history_key == state.history_key
            assert again.fields == state.fields
            assert again.acting == state.acting
            assert again.returns.tolist() == state.returns.tolist()
            for player in (0, 1):
                assert (again.observation(player) == state.observation(player)).all()
                assert again.legal_actions(player).tolist() == state.legal_actions(player).tolist()
                assert [a.tolist() for a in again.outcomes(player)] == [a.tolist() for a in state.outcomes(player)]


@pytest.mark.parametrize(
    "change",
    [
        {"p1": [1, 2]},
        {"p2": [3, 3]},
        {"p1": [3, 2], "p2": [1, 1]},
        {"mud1": 1},
        {"mud2": 1},
        {"mud1": 2, "mud2": 0},
        {"score1": 0.5, "score2": 1.5},
        {"score1": 2.5},
        {"turn": 7},
        {"max_turns": 21},
        {"cheese": [[2, 1], [4, 0], [0, 2]]},
        {"cheese": [[2, 1], [4, 0]]},
        {"cheese": [[2, 1], [4, 0]], "score1": 2, "score2": 1},
        {"walls": [[[0, 0], [1, 0]]]},
        {"walls": [[[0, 0], [0, 1]], [[2, 1], [2, 2]]]},
        {"mud": [[[1, 1], [2, 1], 3], [[3, 2], [3, 1], 3]]},
        {"mud": []},
    ],
    ids=str,
)
def test_key_tells_apart_what_decides_the_future(change):
    assert GAME.state(**{**LADEN, **change}).key != GAME.state(**LADEN).key


def test_key_tells_every_edge_apart():
    right = [[[x, y], [x + 1, y]] for x in range(4) for y in range(4)]
    up = [[[x, y], [x, y + 1]] for x in range(5) for y in range(3)]
    keys = {GAME.state(**PLAIN).key}
    for edge in right + up:
        keys |= {GAME.state(**PLAIN, walls=[edge]).key}
        keys |= {GAME.state(**PLAIN, mud=[[*edge, turns]]).key for turns in (2, 3, 255)}
    assert len(keys) == 1 + 4 * 31


def test_key_tells_rewards_apart_and_ignores_what_is_past():
    key = GAME.state(**LADEN).key
    others = [rf.make("pyrat", width=5, height=4, reward=reward).state(**LADEN).key for reward in ("difference", "win")]
    assert len({key, *others}) == 3
    assert GAME.state(**{**LADEN, "misses1": 0, "misses2": 0}).key == key
    assert rf.make("pyrat", width=5, height=4, cheese=2, wall_density=0.1).state(**LADEN).key == key
    assert rf.make("pyrat", width=4, height=5).state(cheese=[]).key != GAME.state(cheese=[]).key


def test_keys_do_not_collide():
    """Distinct positions of random games have distinct keys (a clash by chance: 1e-13)."""
    rng = random.Random(2)
    game = muddy_game()
    seen = {}
    for seed in range(60):
        for state in play_on(game.initial_state(seed % 4), rng):
            fields = state.fields
            facts = str((seed % 4, [fields[name] for name in fields if not name.startswith("misses")]))
            assert seen.setdefault(state.key, facts) == facts
    assert len(seen) > 2000


# Outcomes


def test_actions_of_one_outcome_have_one_effect():
    rng = random.Random(3)
    merged = 0
    for seed in range(4):
        for state in play_on(muddy_game().initial_state(seed), rng):
            if state.is_over:
                continue
            other = rng.randrange(5)
            for player in (0, 1):
                merged += check_outcomes(state, player, other)
    assert merged > 500


def check_outcomes(state, player, other):
    """Equal outcomes: equal next key, rewards and observation. Returns how many actions were merged."""
    actions, index = state.outcomes(player)
    assert actions.tolist() == sorted(actions.tolist())
    effects = []
    for action in range(5):
        after = state.copy()
        rewards = after.apply(*((action, other) if player == 0 else (other, action)))
        effects.append((after.key, rewards.tobytes(), after.observation(0).tobytes()))
    for action in range(5):
        assert effects[action] == effects[actions[index[action]]]
    assert len({effects[action] for action in actions}) == len(actions)
    return 5 - len(actions)


def test_outcomes_of_a_corner_and_of_mud():
    state = GAME.state(**{**LADEN, "p1": [0, 0]})
    actions, index = state.outcomes(0)  # the way right is walled off
    assert actions.tolist() == [0, 4]
    assert index.tolist() == [0, 1, 1, 1, 1]
    actions, index = state.outcomes(1)
    assert actions.tolist() == [4]
    assert index.tolist() == [0, 0, 0, 0, 0]


# Observation


def test_observation_plane_by_plane():
    state = GAME.state(**LADEN)
    for player in (0, 1):
        planes = state.observation(player)
        assert planes.shape == GAME.observation_shape == (24, 4, 5)
        own, other = (state.p1, state.p2)[:: 1 if player == 0 else -1]
        for plane, cells in ((0, [own]), (1, [other]), (2, state.cheese)):
            wanted = np.zeros((4, 5))
            for x, y in cells:
                wanted[y, x] = 1
            assert (planes[plane] == wanted).all()
        check_edges(state, planes)
        numbers = {11: 0, 12: 2 / 4, 13: 1.5 / 5, 14: 0.5 / 5, 15: 3 / 64, 16: 14 / 20, 17: 14 / 64}
        if player == 1:
            numbers |= {11: numbers[12], 12: numbers[11], 13: numbers[14], 14: numbers[13]}
        for plane, number in numbers.items():
            assert (planes[plane] == np.float32(number)).all()
        check_paths(state, planes, player)


def turns_to(state, piece):
    """Turns from every cell to a piece, [y, x], by relaxing all edges until nothing changes."""
    walls = {frozenset(map(tuple, wall)) for wall in state.walls}
    mud = {frozenset((tuple(a), tuple(b))): turns for a, b, turns in state.mud}
    turns = np.full((4, 5), np.inf)
    turns[piece[1], piece[0]] = 0
    for _ in range(20):
        for x, y in itertools.product(range(5), range(4)):
            for u, v in ((x, y + 1), (x + 1, y), (x, y - 1), (x - 1, y)):
                edge = frozenset(((x, y), (u, v)))
                if 0 <= u < 5 and 0 <= v < 4 and edge not in walls:
                    turns[y, x] = min(turns[y, x], turns[v, u] + 1 + mud.get(edge, 0))
    return turns


def check_paths(state, planes, player):
    own, other = ((state.p1, state.mud1), (state.p2, state.mud2))[:: 1 if player == 0 else -1]
    wanted = np.zeros((6, 4, 5))
    wanted[5] = 4
    for piece in state.cheese:
        turns = turns_to(state, piece)
        first, second = (turns[cell[1], cell[0]] + mud for cell, mud in (own, other))
        wanted[0, piece[1], piece[0]], wanted[1, piece[1], piece[0]] = first / 16, second / 16
        wanted[2 if first < second else 3 if first > second else 4] += np.round(1024 / (1 + turns)) / 1024
        wanted[5] = np.minimum(wanted[5], turns / 16)
    assert (planes[18:] == wanted).all()


def test_paths_of_pieces_that_nobody_can_reach():
    game = rf.make("pyrat", width=4, height=2)
    state = game.state(p1=[0, 0], p2=[1, 0], cheese=[[3, 0]], walls=[[[1, 0], [2, 0]], [[1, 1], [2, 1]]])
    planes = state.observation(0)
    assert planes[18:20, 0, 3].tolist() == [4, 4]
    assert planes[23, 0].tolist() == [4, 4, 1 / 16, 0]


def check_edges(state, planes):
    walls = {frozenset(map(tuple, wall)) for wall in state.walls}
    mud = {frozenset((tuple(a), tuple(b))): turns for a, b, turns in state.mud}
    for direction, (dx, dy) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
        for x in range(5):
            for y in range(4):
                edge = frozenset(((x, y), (x + dx, y + dy)))
                inside = 0 <= x + dx < 5 and 0 <= y + dy < 4
                assert planes[3 + direction, y, x] == (not inside or edge in walls)
                assert planes[7 + direction, y, x] == mud.get(edge, 0) / 4


def test_observation_is_a_function_of_the_key():
    one, two = GAME.state(**LADEN), GAME.state(**{**LADEN, "misses1": 0})
    assert one.key == two.key
    assert (one.observation(0) == two.observation(0)).all()


def test_observation_without_cheese_is_finite():
    assert np.isfinite(GAME.state(cheese=[]).observation(0)).all()


# Rewards of explicit positions, copies, pickles


def test_returns_of_explicit_positions():
    for reward, wanted in (("cheese", [1.5, 0.5]), ("difference", [1, -1]), ("win", [0, 0])):
        assert rf.make("pyrat", width=5, height=4, reward=reward).state(**LADEN).returns.tolist() == wanted
    over = {**LADEN, "cheese": [], "max_turns": 6}
    assert rf.make("pyrat", width=5, height=4, reward="win").state(**over).returns.tolist() == [1, -1]
    draw = {**over, "score1": 1, "score2": 1}
    assert rf.make("pyrat", width=5, height=4, reward="win").state(**draw).returns.tolist() == [0, 0]


def test_copies_are_independent_and_share_nothing_that_changes():
    state = muddy_game().initial_state(3)
    before, key = state.fields, state.key
    other = state.copy()
    for _ in play_on(other, random.Random(4), 30):
        pass
    assert (state.fields, state.key) == (before, key)
    assert other.fields != before


def test_pickling_mid_game():
    rng = random.Random(5)
    for state in play_on(muddy_game(reward="difference").initial_state(1), rng, 25):
        again = pickle.loads(pickle.dumps(state))
        assert again.fields == state.fields
        assert again.key == state.key
        assert again.returns.tolist() == state.returns.tolist()
        assert again.game == state.game


@pytest.mark.parametrize("params", [{}, {"starts": "random"}, {"starts": ((1, 2), (3, 3)), "reward": "win"}], ids=str)
def test_pickling_a_game(params):
    game = rf.make("pyrat", width=5, height=4, cheese=4, **params)
    again = pickle.loads(pickle.dumps(game))
    assert again == game
    assert again.initial_state(3).key == game.initial_state(3).key
    assert game != rf.make("pyrat", width=5, height=4, cheese=4, starts=((1, 2), (3, 2)))


def test_illegal_actions_change_nothing():
    state = muddy_game().initial_state(0)
    before = state.fields
    for actions in ((5, 0), (0, -1), (0,), (0, 0, 0), (), ("UPP", 0), (1.0, 0), (True, 0)):
        with pytest.raises(rf.IllegalAction):
            state.apply(*actions)
    assert state.fields == before
    for _ in play_on(state, random.Random(1)):
        pass
    with pytest.raises(rf.IllegalAction, match="over"):
        state.apply(4, 4)


def test_action_names():
    state = GAME.state(**PLAIN)
    assert [state.action_name(a, 0) for a in range(5)] == ["UP", "RIGHT", "DOWN", "LEFT", "STAY"]
    assert state.action("LEFT", 1) == 3


# Explicit parts


def test_parts_left_out():
    state = GAME.state(cheese=[[2, 2]])
    assert (state.p1, state.p2, state.max_turns) == ([0, 0], [4, 3], 300)
    assert (state.walls, state.mud, state.turn, state.total) == ([], [], 0, 1)
    assert rf.make("pyrat", width=5, height=4, starts=[[1, 1], [2, 2]]).state(cheese=[]).p2 == [2, 2]
    assert GAME.state(**{**LADEN, "width": 5, "height": 4, "total": 5}).key == GAME.state(**LADEN).key


def test_forms_that_mean_the_same():
    key = GAME.state(**LADEN).key
    backwards = {**LADEN, "walls": [wall[::-1] for wall in LADEN["walls"]], "cheese": LADEN["cheese"][::-1]}
    backwards["mud"] = [(b, a, turns) for a, b, turns in LADEN["mud"]]
    assert GAME.state(**backwards).key == key
    assert GAME.state(**{**LADEN, "cheese": np.array(LADEN["cheese"]), "p1": np.array([1, 1])}).key == key
    assert GAME.state(**{**LADEN, "cheese": {tuple(cell) for cell in LADEN["cheese"]}}).key == key


def test_a_wall_wins_over_mud():
    walled = {**PLAIN, "walls": [[[1, 1], [2, 1]]]}
    state = GAME.state(**walled, mud=[[[2, 1], [1, 1], 4]])
    assert state.mud == []
    assert state.key == GAME.state(**walled).key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"walls": [[[0, 0], [1, 1]]]}, "walls must be between neighbouring cells"),
        (
            {"walls": [[[4, 0], [0, 1]]]},
            "walls must be between neighbouring cells",
        ),  # next in number, not in place
        ({"walls": [[[0, 0], [0, 0]]]}, "walls must be between neighbouring cells"),
        ({"walls": [[[0, 0], [0, 4]]]}, "y from 0 to 3"),
        ({"walls": [[[0, 0], [-1, 0]]]}, "x from 0 to 4"),
        ({"walls": [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]}, "walls lists the edge .* twice"),
        ({"walls": [[[0, 0]]]}, r"walls must be a list of \[\[x, y\], \[x, y\]\]"),
        ({"walls": 3}, "walls must be a list"),
        ({"mud": [[[0, 0], [0, 1]]]}, r"mud must be a list of \[\[x, y\], \[x, y\], turns\]"),
        ({"mud": [[[0, 0], [0, 1], 1]]}, "mud must be a whole number of turns from 2 to 255"),
        ({"mud": [[[0, 0], [0, 1], 256]]}, "from 2 to 255"),
        ({"mud": [[[0, 0], [0, 1], 2.0]]}, "from 2 to 255"),
        ({"mud": [[[0, 0], [0, 1], 2], [[0, 1], [0, 0], 3]]}, "mud lists the edge .* twice"),
        ({"cheese": [[1, 1], [1, 1]]}, r"cheese lists the cell \[1, 1\] twice"),
        ({"cheese": [[5, 0]]}, "x from 0 to 4"),
        ({"cheese": [[1, True]]}, "cheese must be made of cells"),
        ({"p1": [0, 4]}, "p1 must be"),
        ({"p2": "a1"}, "p2 must be"),
        ({"p2": [1]}, "p2 must be"),
        ({"max_turns": 0}, "max_turns must be a whole number from 1 to 65535"),
        ({"max_turns": 65536}, "max_turns must be"),
        ({"turn": 21}, "turn must be a whole number from 0 to 20"),
        ({"turn": -1}, "turn must be"),
        ({"mud1": 256}, "mud1 must be a whole number from 0 to 255"),
        ({"mud2": None}, "mud2 must be"),
        ({"score1": 0.25}, "score1 must be a multiple of 0.5"),
        ({"score1": -1}, "score1 must be a multiple of 0.5 from 0 to 512"),
        ({"score2": float("nan")}, "score2 must be"),
        ({"score2": float("inf")}, "score2 must be"),
        ({"score1": 0.5}, r"score1 \+ score2 must be whole"),
        ({"score1": 512}, "at most 512 cheese, left and taken, not 515"),
        ({"misses1": 1}, "misses1 must be a whole number from 0 to 0"),
        ({"total": 4}, "total must be 3, the cheese left and the points scored, not 4"),
        ({"width": 6}, "width must be 5 as in the game, not 6"),
        ({"height": "4"}, "height must be"),
        ({"chese": []}, "no part 'chese'"),
        ({"max_turns": 2**70}, "does not fit 64 bits"),
    ],
    ids=str,
)
def test_wrong_parts(change, message):
    with pytest.raises(rf.InvalidInput, match=message):
        GAME.state(**{**PLAIN, **change})


def test_parts_that_are_missing():
    with pytest.raises(rf.InvalidInput, match="needs its cheese"):
        GAME.state(p1=[0, 0])
    with pytest.raises(rf.InvalidInput, match="needs p1"):
        rf.make("pyrat", width=5, height=4, starts="random").state(cheese=[])
    with pytest.raises(rf.InvalidInput, match="no text notation"):
        GAME.state("start")


numbers = st.one_of(st.integers(-2, 6), st.sampled_from([0.5, 1.0, 255, 256, 65535, 2**40, -(2**63)]), st.floats())
garbage = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=3), st.binary(max_size=2)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=8,
)
cells = st.lists(numbers, min_size=2, max_size=2) | st.tuples(st.integers(0, 4), st.integers(0, 3))
near_cells = st.lists(cells | garbage, max_size=4)
near_edges = st.lists(st.tuples(cells, cells) | st.tuples(cells, cells, numbers) | garbage, max_size=4)
NAMES = [
    "turn",
    "max_turns",
    "mud1",
    "mud2",
    "score1",
    "score2",
    "misses1",
    "misses2",
    "total",
    "width",
    "height",
]
almost_parts = st.fixed_dictionaries(
    {"cheese": near_cells},
    optional={
        **dict.fromkeys(NAMES, numbers | garbage),
        **dict.fromkeys(("p1", "p2"), cells | garbage),
        **dict.fromkeys(("walls", "mud"), near_edges | garbage),
        "other": garbage,
    },
)


@given(almost_parts)
@settings(max_examples=200, deadline=None)
def test_garbage_is_refused_and_the_rest_is_playable(parts):
    try:
        state = GAME.state(**parts)
    except (rf.InvalidInput, TypeError):
        return
    again = GAME.state(**state.fields)
    assert again.fields == state.fields
    for _ in play_on(state, random.Random(0), 30):
        assert np.isfinite(state.observation(1)).all()
    str(state)


valid_cells = st.tuples(st.integers(0, 4), st.integers(0, 3))
valid_parts = st.fixed_dictionaries(
    {"cheese": st.sets(valid_cells, max_size=8), "p1": valid_cells, "p2": valid_cells},
    optional={"mud1": st.integers(0, 255), "mud2": st.integers(0, 255), "max_turns": st.integers(9, 65535)},
)


@given(valid_parts, st.integers(0, 9), st.integers(0, 16), st.integers(0, 16))
@settings(max_examples=200, deadline=None)
def test_every_sound_position_is_accepted(parts, turn, first, second):
    scores = {"score1": first / 2, "score2": second / 2 + (first + second) % 2 / 2}
    state = GAME.state(**parts, turn=turn, **scores)
    assert state.total == len(parts["cheese"]) + sum(scores.values())
    assert {tuple(cell) for cell in state.cheese} == parts["cheese"]
    assert {name: state.fields[name] for name in scores} == scores
    assert GAME.state(**state.fields).key == state.key
