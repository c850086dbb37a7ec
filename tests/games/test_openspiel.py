"""OpenSpiel's games through the adapter: against pyspiel itself, and through check_game."""

import builtins
import json
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import ramify as rf
from ramify.games import openspiel

pyspiel = pytest.importorskip("pyspiel")

TYPE = pyspiel.GameType

# Two players and perfect information, but not to be had without parameters, or not at all.
NEEDS_PARAMETERS = {
    "efg_game": "the file of a game tree",
    "nfg_game": "the file of a matrix",
    "normal_form_extensive_game": "game",
    "pathfinding": "players=2 and a grid with two starts",
    "repeated_game": "stage_game and num_repetitions",
}


def suits(kind) -> bool:
    """Whether a game may have two players and perfect information, by what OpenSpiel says of its type."""
    return (
        kind.min_num_players <= 2 <= kind.max_num_players
        and kind.information != TYPE.Information.IMPERFECT_INFORMATION
        and kind.dynamics != TYPE.Dynamics.MEAN_FIELD
    )


KINDS = {kind.short_name: kind for kind in pyspiel.registered_games() if not kind.short_name.startswith("python_")}
PLAYABLE = sorted(name for name, kind in KINDS.items() if suits(kind) and name not in NEEDS_PARAMETERS)
SAMPLE = {
    "tic_tac_toe": {},
    "connect_four": {"rows": 4, "columns": 5},
    "breakthrough": {"rows": 5, "columns": 4},
    "nim": {},
    "mancala": {},
    "go": {"board_size": 5, "komi": 5},
    "goofspiel": {"num_cards": 4},
    "oshi_zumo": {"coins": 8},
    "markov_soccer": {"horizon": 30},
    "matrix_pd": {},
    "pig": {"winscore": 20},
    "backgammon": {"max_player_turns": 10},
    "laser_tag": {"horizon": 25},
    "repeated_game": {"stage_game": {"name": "matrix_pd"}, "num_repetitions": 5},
    "pathfinding": {"players": 2, "grid": "A..b\nB..a", "horizon": 20},
    "misere": {"game": {"name": "tic_tac_toe"}},
    "python_tic_tac_toe": {},
}


@pytest.mark.parametrize(("name", "params"), SAMPLE.items(), ids=SAMPLE)
def test_a_sample_keeps_every_promise(name, params):
    report = rf.check_game(rf.make(f"openspiel:{name}", **params), games=2)
    assert report.games == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYABLE)
def test_every_game_keeps_every_promise(name):
    report = rf.check_game(rf.make(f"openspiel:{name}"), games=2)
    assert report.games == 2


def test_the_list_of_games_is_the_one_we_know():
    """A change in OpenSpiel shows here: games that suit and cannot be loaded are listed with the reason."""
    assert len(PLAYABLE) >= 50
    for name in NEEDS_PARAMETERS:
        with pytest.raises(rf.InvalidInput):
            rf.make(f"openspiel:{name}")
    for name in PLAYABLE:
        game = rf.make(f"openspiel:{name}")
        assert game.name == f"openspiel:{name}"
        assert game.simultaneous == (KINDS[name].dynamics == TYPE.Dynamics.SIMULTANEOUS)
        assert rf.make(game.name, **game.params) == game


# Against pyspiel.


def together(name, seed, **params) -> Iterator[tuple]:
    """A random game of ours beside one of pyspiel's, with pyspiel's chance events taken from ours."""
    rng = np.random.default_rng(seed)
    state = rf.make(f"openspiel:{name}", **params).initial_state(seed)
    theirs = pyspiel.load_game(name, params).new_initial_state()
    while True:
        history = state.position.state.history()
        while theirs.is_chance_node():
            theirs.apply_action(history[len(theirs.history())])
        yield state, theirs
        if state.is_over:
            return
        turn = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
        if theirs.is_simultaneous_node():
            theirs.apply_actions(turn)
        else:
            theirs.apply_action(turn[0])
        state.apply(*turn)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("tic_tac_toe", {}),
        ("connect_four", {}),
        ("mancala", {}),
        ("goofspiel", {"num_cards": 5, "points_order": "random"}),
        ("markov_soccer", {"horizon": 40}),
        ("laser_tag", {"horizon": 100}),
        ("pathfinding", {"players": 2, "grid": "A..b\nB..a", "horizon": 30}),
        ("backgammon", {}),
    ],
)
def test_a_game_equals_pyspiels(name, params):
    for seed in range(3):
        for state, theirs in together(name, seed, **params):
            assert state.is_over == theirs.is_terminal()
            pays = theirs.is_terminal() or KINDS[name].reward_model == TYPE.RewardModel.REWARDS
            expected = theirs.returns() if pays else [0.0, 0.0]
            np.testing.assert_allclose(state.returns, expected, rtol=1e-5, atol=1e-4)
            assert str(state) == str(theirs)
            for player in (0, 1):
                legal = [] if theirs.is_terminal() else theirs.legal_actions(player)
                assert state.legal_actions(player).tolist() == legal
                seen = np.array(theirs.observation_tensor(player), np.float32)
                np.testing.assert_array_equal(state.observation(player).ravel(), seen)
                for action in legal:
                    assert state.action_name(action, player) == theirs.action_to_string(player, action)


def test_rewards_are_paid_when_they_are_earned():
    state = rf.make("openspiel:repeated_game", stage_game={"name": "matrix_pd"}, num_repetitions=3).initial_state()
    assert state.apply(0, 1).tolist() == [0.0, 10.0]
    assert state.apply(0, 0).tolist() == [5.0, 5.0]
    assert state.apply(1, 1).tolist() == [1.0, 1.0]
    assert state.is_over
    assert state.returns.tolist() == [6.0, 16.0]


def test_the_native_games_agree_with_openspiel():
    """Tic-tac-toe's cells have the same numbers in both."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        ours, theirs = rf.make("tictactoe").initial_state(), rf.make("openspiel:tic_tac_toe").initial_state()
        while not ours.is_over:
            action = rng.choice(ours.legal_actions())
            assert ours.apply(action).tolist() == theirs.apply(action).tolist()
            assert ours.legal_actions().tolist() == theirs.legal_actions().tolist()
        assert theirs.is_over


# Chance.


def test_chance_follows_the_seed():
    game = rf.make("openspiel:backgammon")
    texts = {seed: str(game.initial_state(seed)) for seed in range(30)}
    assert all(str(game.initial_state(seed)) == text for seed, text in texts.items())
    assert len(set(texts.values())) > 10
    assert len({game.initial_state(seed).key for seed in range(30)}) == len(set(texts.values()))


def test_chance_has_the_right_frequencies():
    """The die of pig: 1 ends the turn, one roll in six. 5 standard deviations is a false alarm in 10^6."""
    state = rf.make("openspiel:pig", winscore=100000, horizon=100000).initial_state(0)
    rolls, ones = 0, 0
    while rolls < 3000:
        player = state.acting
        state.apply(0)
        rolls, ones = rolls + 1, ones + (state.acting != player)
    assert abs(ones - rolls / 6) < 5 * (rolls * 5 / 36) ** 0.5


def test_copies_and_pickles_see_the_same_dice():
    state = rf.make("openspiel:backgammon").initial_state(7)
    twin = pickle.loads(pickle.dumps(state))
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.choice(state.legal_actions())
        state.apply(action)
        twin.apply(action)
        assert str(state) == str(twin)
        assert state.key == twin.key


# Explicit positions.


@pytest.mark.parametrize(("name", "params"), SAMPLE.items(), ids=SAMPLE)
def test_fields_are_plain_data_that_give_the_state_back(name, params):
    """Through JSON, and the same dice and rewards afterwards."""
    game, rng = rf.make(f"openspiel:{name}", **params), np.random.default_rng(3)
    state = game.initial_state(11)
    while not state.is_over:
        text = json.dumps(state.fields)
        twin = game.state(**json.loads(text))
        assert json.dumps(twin.fields) == text
        assert (str(twin), twin.key, twin.acting) == (str(state), state.key, state.acting)
        assert twin.returns.tolist() == state.returns.tolist()
        if len(state.fields["actions"]) >= 30:
            break
        turn = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
        assert twin.apply(*turn).tolist() == state.apply(*turn).tolist()
        assert str(twin) == str(state)
    again = game.state(**state.fields)
    assert again.is_over == state.is_over
    assert again.returns.tolist() == state.returns.tolist()


def test_a_position_from_actions_by_number_or_name():
    game = rf.make("openspiel:tic_tac_toe")
    assert game.state(actions=[4, "o(0,0)", [8]]).fields == {"actions": [4, 0, 8]}
    assert game.state([0, 3, 1, 4, 2]).returns.tolist() == [1.0, -1.0]
    assert rf.make("openspiel:goofspiel", num_cards=3).state([[0, 1]]).fields["actions"] == [[0, 1]]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"position": 3}, r"a position has no part 'position' \(it has actions chance_seed\)"),
        ({"actions": 3}, "actions must be a list of turns, not 3"),
        ({"actions": "0 1"}, "actions must be a list of turns, not '0 1'"),
        ({"actions": [0, 0]}, "turn 2 of actions cannot be played: action 0 is not legal for player 1"),
        ({"actions": [0, 99]}, "turn 2 of actions cannot be played: action 99 is not legal"),
        ({"actions": ["z"]}, "turn 1 of actions cannot be played: 'z' names no legal action of player 0"),
        ({"actions": [1.5]}, "an action is a whole number from 0 to 8 or a name, not 1.5"),
        ({"actions": [None]}, "an action is a whole number from 0 to 8 or a name, not None"),
        ({"actions": [[0, 1]]}, "turn 1 of actions cannot be played: one player acts here"),
        ({"actions": [["a", "b", "c"]]}, "turn 1 of actions cannot be played"),
        ({"actions": [0, 3, 1, 4, 2, 5]}, "turn 6 of actions cannot be played: the game is over"),
        ({"chance_seed": "x"}, "chance_seed must be a whole number from 0 to .*, not 'x'"),
        ({"chance_seed": -1}, "chance_seed must be a whole number"),
    ],
)
def test_an_impossible_position_is_refused(parts, message):
    with pytest.raises(rf.InvalidInput, match=message):
        rf.make("openspiel:tic_tac_toe").state(**parts)


# Keys.

SMALL_BOARDS = [
    ("breakthrough", {"rows": 4, "columns": 3}),
    ("clobber", {"rows": 3, "columns": 4}),
    ("connect_four", {"rows": 4, "columns": 4, "x_in_row": 3}),
    ("gomoku", {"size": 3, "connect": 3, "dims": 2, "wrap": True}),
    ("havannah", {"board_size": 3, "swap": True}),
    ("mnk", {"m": 4, "n": 3, "k": 3}),
    ("nim", {}),
    ("othello", {}),
    ("tic_tac_toe", {}),
    ("y", {"board_size": 4}),
]


def one_turn_view(state) -> int:
    """Everything about a state and the keys one turn on, as a hash."""
    parts = [state.is_over, state.returns.tobytes(), state.legal_actions().tobytes()]
    parts += [state.observation(player).tobytes() for player in (0, 1)]
    for action in state.legal_actions().tolist():
        child = state.copy()
        parts += [child.apply(action).tobytes(), child.key]
    return hash(tuple(parts))


def clashes(game, limit) -> tuple[int, int]:
    """Go through positions, each once: how often a known key was met, and how often it looked different."""
    start = game.initial_state()
    views, todo = {start.key: one_turn_view(start)}, [start]
    met = different = 0
    while todo and len(views) < limit:
        state = todo.pop()  # depth first: paths meet where a game nears its end
        for action in state.legal_actions().tolist():
            child = state.copy()
            child.apply(action)
            view = one_turn_view(child)
            if child.key in views:
                met += 1
                different += views[child.key] != view
            else:
                views[child.key] = view
                todo.append(child)
    return met, different


def test_every_game_with_text_keys_is_gone_through():
    assert {name for name, _ in SMALL_BOARDS} == openspiel.TEXT_IS_ALL


@pytest.mark.parametrize(("name", "params"), SMALL_BOARDS, ids=[name for name, _ in SMALL_BOARDS])
def test_text_decides_the_future(name, params):
    met, different = clashes(rf.make(f"openspiel:{name}", **params), 400)
    assert met > 0
    assert different == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), SMALL_BOARDS, ids=[name for name, _ in SMALL_BOARDS])
def test_text_decides_the_future_at_length(name, params):
    met, different = clashes(rf.make(f"openspiel:{name}", **params), 6000)
    assert met > 300
    assert different == 0


def test_text_would_not_do_for_hex(monkeypatch):
    """Why TEXT_IS_ALL lists games that were gone through: the same test, and check_game, fail for Hex."""
    monkeypatch.setattr(openspiel, "TEXT_IS_ALL", {"hex"})
    game = rf.make("openspiel:hex", board_size=3)
    assert clashes(game, 400)[1] > 0
    with pytest.raises(rf.BrokenGame, match="keys"):
        rf.check_game(game)


# What cannot be had.


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("kuhn_poker", {}, "openspiel:kuhn_poker cannot be played here: its information is imperfect"),
        ("goofspiel", {"imp_info": True}, "its information is imperfect"),
        ("catch", {}, "its number of players is 1, not 2"),
        ("matching_pennies_3p", {}, "its number of players is 3, not 2"),
        ("mfg_crowd_modelling", {}, "it is a mean-field game"),
        ("stones_and_gems", {}, "draws chance events in secret"),
        ("python_iterated_prisoners_dilemma", {}, "it offers no tensor to observe"),
        ("chinese_checkers", {"players": 3}, "its number of players is 3, not 2"),
        ("conect_four", {}, "OpenSpiel has no game 'conect_four'; did you mean 'openspiel:connect_four'"),
        ("hex", {"bord_size": 5}, "no parameter 'bord_size'; did you mean 'board_size'"),
        ("hex", {"board_size": "x"}, "OpenSpiel cannot load 'hex' with .*Wrong type"),
        ("misere", {}, "OpenSpiel cannot load 'misere' with .*Missing parameter game"),
    ],
)
def test_unfit_games_are_refused_with_the_reason(name, params, message):
    with pytest.raises(rf.InvalidInput, match=message):
        rf.make(f"openspiel:{name}", **params)


def test_without_openspiel_the_error_says_what_to_install(monkeypatch):
    true_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pyspiel":
            raise ImportError("No module named 'pyspiel'")
        return true_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install ramify\[openspiel\]"):
        rf.make("openspiel:tic_tac_toe")


TREE = """EFG 2 R "two choices" { "first" "second" } ""
p "" 1 1 "" { "l" "r" } 0
p "" 2 1 "" { "L" "R" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -1 1 }
p "" 2 2 "" { "L" "R" } 0
t "" 3 "" { 2 -2 }
t "" 4 "" { 0 0 }
"""


def test_a_game_with_an_information_state_only(tmp_path):
    file = tmp_path / "tree.efg"
    file.write_text(TREE)
    game = rf.make("openspiel:efg_game", filename=str(file))
    assert rf.check_game(game, games=5).ok
    state = game.initial_state()
    theirs = pyspiel.load_game("efg_game", {"filename": str(file)}).new_initial_state()
    assert state.observation(1).tolist() == theirs.information_state_tensor(1)
    state.apply(state.action("r"))
    assert state.apply(state.action("L")).tolist() == [2.0, -2.0]
