"""Games written in Python: the example against the native game, parameters, errors, the registry."""

import ast
import copy
import dataclasses
import itertools
import json
import pickle
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from small_games import Duel, Pile
from table import ROOT, load_example

import ramify as rf
from ramify.games import PythonState, registry, square_symmetries

TicTacToe = load_example().TicTacToe


# The example.


def test_the_example_class_has_at_most_forty_lines():
    source = (ROOT / "examples" / "tictactoe_python.py").read_text()
    (game,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    first = min(node.lineno for node in [game, *game.decorator_list])
    assert game.end_lineno - first + 1 <= 40


def test_the_example_is_a_game_in_good_order():
    game = rf.make("tictactoe_python")
    assert isinstance(game, rf.Game)
    assert isinstance(game.initial_state(), rf.State)
    report = rf.check_game(game, games=20)
    assert report.ok
    assert report.games == 20
    assert report.transpositions > 50


def assert_same(ours, native):
    """Everything but the key is equal."""
    assert ours.acting == native.acting
    assert ours.returns.tolist() == native.returns.tolist()
    for player in (0, 1):
        np.testing.assert_array_equal(ours.legal_actions(player), native.legal_actions(player))
        np.testing.assert_array_equal(ours.observation(player), native.observation(player))
    for action in ours.legal_actions():
        assert ours.action_name(action) == native.action_name(action)


def test_the_example_equals_the_native_game():
    pairs = set()
    for seed in range(100):
        rng = np.random.default_rng(seed)
        ours, native = rf.make("tictactoe_python").initial_state(), rf.make("tictactoe").initial_state()
        while not ours.is_over:
            action = rng.choice(ours.legal_actions())
            np.testing.assert_array_equal(ours.apply(action), native.apply(action))
            assert_same(ours, native)
            pairs.add((ours.key, native.key))
    # Two positions share a key in one game exactly where they do in the other.
    assert len(pairs) == len({key for key, _ in pairs}) == len({key for _, key in pairs}) > 300


def test_square_symmetries_are_those_of_the_native_game():
    for ours, native in zip(TicTacToe.symmetries, rf.make("tictactoe").symmetries, strict=True):
        assert (ours.name, ours.swaps_players) == (native.name, native.swaps_players)
        np.testing.assert_array_equal(ours.actions, native.actions)
        np.testing.assert_array_equal(ours.observation, native.observation)


def test_actions_that_are_no_cells_stay_under_symmetries():
    plain, passing = square_symmetries(3, planes=2), square_symmetries(3, planes=2, others=2)
    for one, other in zip(plain, passing, strict=True):
        assert other.actions.tolist() == [*one.actions.tolist(), 9, 10]
        np.testing.assert_array_equal(one.observation, other.observation)


def test_the_example_runs_as_a_script():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "tictactoe_python.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "no problems found" in done.stdout
    assert "returns:" in done.stdout


UNPLAYABLE = [
    (),
    (0, 1),
    (9,),
    (-1,),
    (4,),
    (1.0,),
    ("no name",),
    (b"a1",),
    (None,),
    (True,),
    (2**40,),
    (np.array([1, 2]),),
]


@pytest.mark.parametrize("actions", UNPLAYABLE, ids=repr)
def test_errors_read_as_those_of_the_native_game(actions):
    lines = []
    for name in ("tictactoe", "tictactoe_python"):
        state = rf.make(name).initial_state()
        state.apply(4)
        with pytest.raises(rf.IllegalAction) as caught:
            state.apply(*actions)
        lines.append(str(caught.value).splitlines()[0])
        assert state.acting == (1,)
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda state: state.observation(2),
        lambda state: state.legal_actions(-1),
        lambda state: state.transform(8),
        lambda state: state.action_name(9),
        lambda state: state.action("z9"),
        lambda state: [state.apply(action) for action in (0, 3, 1, 4, 2, 5)],
    ],
)
def test_other_errors_read_as_those_of_the_native_game(call):
    caught = []
    for name in ("tictactoe", "tictactoe_python"):
        with pytest.raises(ValueError) as error:  # noqa: PT011  # the two are compared with each other
            call(rf.make(name).initial_state())
        caught.append((error.type, str(error.value).splitlines()[0].replace(name, "NAME")))
    assert caught[0] == caught[1]


# The state.


def test_copies_are_independent_and_share_the_position():
    state = rf.make("tictactoe_python").initial_state()
    state.apply(4)
    for twin in (state.copy(), copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert twin.key == state.key
        twin.apply(0)
        assert twin.key != state.key
    assert state.copy().position is state.position


def test_returns_accumulate_and_survive_pickling():
    state = Duel(rounds=3, scale=0.5).initial_state()
    assert state.apply(2, 0).tolist() == [0.5, -0.5]
    assert state.apply(2, 1).tolist() == [0.5, -0.5]
    assert state.returns.tolist() == [1.0, -1.0]
    assert state.returns.dtype == np.float32
    assert pickle.loads(pickle.dumps(state)).returns.tolist() == [1.0, -1.0]
    assert state.transform(1).returns.tolist() == [-1.0, 1.0]


def test_both_players_act_at_once():
    state = Duel().initial_state()
    assert state.acting == (0, 1)
    assert state.legal_actions(0).tolist() == [0, 1, 2]  # sorted, whatever the author gives
    with pytest.raises(rf.InvalidInput, match="both players act here"):
        state.legal_actions()
    with pytest.raises(rf.IllegalAction, match="both players act here, so apply takes 2 actions, not 1"):
        state.apply(1)
    with pytest.raises(rf.IllegalAction, match="action 3 is not legal for player 1"):
        state.apply(1, 3)
    assert rf.check_game(Duel(), games=10).ok


def test_outcomes_group_actions():
    state = Duel(rounds=2).initial_state()
    assert state.outcomes(0)[0].tolist() == [0, 1, 2]
    state.apply(1, 1)
    actions, index = state.outcomes(1)
    assert actions.tolist() == [0, 1]
    assert index.tolist() == [0, 1, 1]
    state.apply(0, 2)
    assert state.outcomes(0)[0].tolist() == []
    assert state.outcomes(0)[1].tolist() == [-1, -1, -1]


def test_canonical_key_is_one_for_all_images():
    state = rf.make("tictactoe_python").initial_state()
    state.apply(0)
    state.apply(1)
    images = [state.transform(k) for k in range(8)]
    assert len({image.key for image in images}) == 8
    assert {image.canonical_key for image in images} == {min(image.key for image in images)}


def test_canonical_key_never_swaps_the_players():
    state = Duel(rounds=2).initial_state()
    state.apply(2, 0)
    assert state.transform(1).key != state.key
    assert [image.canonical_key for image in (state, state.transform(1))] == [state.key, state.transform(1).key]


def test_fields_text_and_picture():
    game = rf.make("tictactoe_python")
    state = game.initial_state()
    state.apply(4)
    assert game.state(**state.fields).key == state.key
    assert str(state) == ". . .\n. x .\n. . ."
    assert repr(state) == "<tictactoe_python()\n. . .\n. x .\n. . .>"
    assert state._repr_svg_() == state.svg()
    assert state.svg().startswith("<svg")
    assert "x" in state.svg()


def test_fields_keep_what_was_paid():
    state = Duel(rounds=3, scale=0.5).initial_state()
    state.apply(2, 0)
    assert state.fields == {"position": (2, 0.5, -0.5), "returns": [0.5, -0.5]}
    for twin in (state.game.state(**state.fields), pickle.loads(pickle.dumps(state)), state.copy()):
        assert twin.returns.tolist() == [0.5, -0.5]
        assert twin.returns.dtype == np.float32
        assert twin.key == state.key
    assert state.game.state((1, 0.0, 0.0)).returns.tolist() == [0, 0]  # nothing said, nothing paid


def test_missing_methods_are_named_with_their_parameters_and_what_they_return():
    whole = {name: getattr(Pile, name) for name in ("start", "acting", "legal_actions", "apply", "observation")}
    for missing in (("acting",), ("legal_actions", "observation"), tuple(whole)):
        body = {name: method for name, method in whole.items() if name not in missing}
        kind = type("Mine", (rf.PythonGame,), {"num_actions": 3, "observation_shape": (2,), **body})
        with pytest.raises(TypeError) as caught:
            kind()
        assert f"Mine has to define {', '.join(missing)}." in str(caught.value)
        for name in whole:
            assert (f"{name}(self, " in str(caught.value)) == (name in missing)
    assert "(0,), (1,), (0, 1), or () when the game is over" in str(caught.value)


class Place(NamedTuple):
    row: int
    column: int


class Holder(rf.PythonGame):
    """Positions of any form: its parameter says which."""

    num_actions, observation_shape = 2, (1,)

    def __init__(self, form: str):
        self.form = form

    def start(self, rng):
        return FORMS[self.form][0]

    def acting(self, position):
        return (0,)

    def legal_actions(self, position, player):
        return (0, 1)

    def apply(self, position, action):
        return position, (0, 0)

    def observation(self, position, player):
        return [0]


FORMS = {  # a first position, and another one
    "tuples": ((0, ()), (3, ((1, 2), (0, (4,))))),
    "lists": ([0, []], [3, [1, 2]]),
    "named": ((0, Place(0, 0)), (1, Place(2, 3))),
    "sets": ((0, frozenset()), (1, frozenset({(1, 2), (3, 4)}))),
    "mapping": ({"at": (0, 0)}, {"at": (1, (2,))}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_position_comes_back_from_json_as_it_was(form):
    game, position = Holder(form), FORMS[form][1]
    fields = json.loads(json.dumps(PythonState(game, position).fields, default=list))
    restored = game.state(**fields)
    assert restored.position == position
    if form == "named":
        assert isinstance(restored.position[1], Place)
    assert game.state(position).position == position


def test_an_array_comes_back_from_json_as_an_array(monkeypatch):
    monkeypatch.setitem(FORMS, "array", ((0, np.zeros(2, np.int8)), None))
    game = Holder("array")
    _, array = game.state([0, [5, 6]]).position
    assert (array.dtype, array.tolist(), array.flags.writeable) == (np.int8, [5, 6], False)
    for wrong in (["x", 1], [1000, 0], [[1], 2]):
        with pytest.raises(rf.InvalidInput, match="is not a position"):
            game.state([0, wrong])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "tictactoe_python: position is required"),
        ({"bord": "." * 9}, r"a position has no part 'bord' \(it has position returns\)"),
        ({"position": 7}, "7 is not a position: acting raised TypeError"),
        ({"position": None}, "None is not a position"),
        ({"position": "x" * 200}, r"'xxxxx.*\.\.\.xxx+' is not a position"),
        ({"position": "x.o"}, r"'x\.o' is not a position: .*raised IndexError"),
        ({"position": "." * 9, "returns": 3}, "returns must be two finite numbers, one per player, not 3"),
        ({"position": "." * 9, "returns": (0, 1e300)}, "returns must be two finite numbers"),
        ({"position": "." * 9, "returns": [1, 2, 3]}, r"not \[1, 2, 3\]"),
        ({"position": "." * 9, "returns": ["a", "b"]}, r"not \['a', 'b'\]"),
        ({"position": "." * 9, "returns": [float("nan"), 0]}, r"not \[nan, 0\]"),
    ],
)
def test_an_impossible_position_is_refused(parts, message):
    with pytest.raises(rf.InvalidInput, match=message):
        rf.make("tictactoe_python").state(**parts)


def test_a_position_that_the_game_takes_wrongly_is_refused():
    with pytest.raises(rf.InvalidInput, match=r"is not a position: Pile\.acting must return .* not \(5,\)$"):
        Pile().state((7, 5, (0, 0)))


def test_an_own_picture_is_used():
    class Drawn(TicTacToe):
        def svg(self, cells):
            return f"<svg><title>{cells}</title></svg>"

    assert Drawn().initial_state().svg() == "<svg><title>.........</title></svg>"


def test_a_random_start_follows_the_seed():
    class Random(TicTacToe):
        def start(self, rng):
            return "".join(rng.choice([".", "x"], size=9))

    starts = {seed: Random().initial_state(seed).position for seed in range(20)}
    assert all(Random().initial_state(seed).position == start for seed, start in starts.items())
    assert len(set(starts.values())) > 10
    assert len({Random().initial_state().position for _ in range(20)}) > 10


# Parameters.


def test_parameters_are_captured_with_defaults():
    game = Duel(scale=2.0)
    assert game.params == {"rounds": 3, "scale": 2.0}
    assert repr(game) == "duel(rounds=3, scale=2.0)"
    assert Duel(5).params == {"rounds": 5, "scale": 1.0}


def test_games_with_equal_parameters_are_equal():
    assert Duel() == Duel(rounds=3)
    assert hash(Duel()) == hash(Duel(rounds=3))
    assert Duel() != Duel(rounds=4)
    assert Duel() != TicTacToe()
    twin = pickle.loads(pickle.dumps(Duel(rounds=4)))
    assert twin == Duel(rounds=4)
    assert twin.params == {"rounds": 4, "scale": 1.0}


def test_parameters_are_salt_of_the_keys():
    keys = {game.initial_state().key for game in (Duel(rounds=3), Duel(rounds=3, scale=2.0), TicTacToe())}
    assert len(keys) == 3


def test_an_unknown_parameter_is_named_with_its_nearest():
    with pytest.raises(
        rf.InvalidInput, match=r"no parameter 'round'; did you mean 'rounds'\? \(it has rounds, scale\)"
    ):
        Duel(round=3)
    with pytest.raises(rf.InvalidInput, match="no parameter 'size'; it takes none"):
        rf.make("tictactoe_python", size=3)
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        Duel(rounds=0)


class Open(TicTacToe):
    def __init__(self, **options):
        self.options = options


@dataclasses.dataclass(frozen=True)
class Sized(TicTacToe):
    size: int = 3


def test_open_ended_and_dataclass_parameters():
    assert Open(a=1, b="x").params == {"a": 1, "b": "x"}
    assert pickle.loads(pickle.dumps(Open(a=1))) == Open(a=1)
    assert Sized(size=4).params == {"size": 4}
    assert Sized(4) == Sized(size=4) != Sized()
    assert pickle.loads(pickle.dumps(Sized(4))) == Sized(4)
    with pytest.raises(rf.InvalidInput, match="did you mean 'size'"):
        Sized(sice=4)


def test_nameless_parameters_are_refused():
    class Nameless(TicTacToe):
        def __init__(self, *sizes):
            self.sizes = sizes

    with pytest.raises(TypeError, match=r"must not have \*args"):
        Nameless(3)


# What an author can get wrong.


class Good(TicTacToe):
    """Stands for a game with one method replaced, below."""


def variant(**members):
    return type("Variant", (Good,), members)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"num_actions": None}, "num_actions must be a whole number, not None"),
        ({"num_actions": 0}, "num_actions must be at least 1, not 0"),
        ({"num_actions": True}, "num_actions must be a whole number, not True"),
        ({"observation_shape": [2, 3, 3]}, r"observation_shape must be a tuple of positive whole numbers"),
        ({"observation_shape": (2, 0)}, r"observation_shape must be a tuple of positive whole numbers"),
    ],
)
def test_declarations_are_checked_when_the_game_is_made(members, message):
    with pytest.raises((TypeError, ValueError), match=message):
        variant(**members)()


def test_missing_declarations_and_methods_are_named():
    class Empty(rf.PythonGame):
        pass

    with pytest.raises(TypeError, match=r"Empty has to define start, acting, legal_actions, apply, observation\."):
        Empty()
    methods = {name: getattr(TicTacToe, name) for name in Empty.__abstractmethods__}
    with pytest.raises(TypeError, match="Silent has no num_actions: set it on the class"):
        type("Silent", (rf.PythonGame,), methods)()


BROKEN = {
    "acting": [
        (lambda self, cells: (2,), r"must return \(0,\), \(1,\), \(0, 1\) or \(\), not \(2,\)"),
        (lambda self, cells: 0, "not 0"),
        (lambda self, cells: None, "not None"),
        (lambda self, cells: (1, 0), r"not \(1, 0\)"),
        (lambda self, cells: (0, 1), "does not say simultaneous = True"),
    ],
    "legal_actions": [
        (lambda self, cells, player: [0, 9], "returned 9, but actions must be from 0 to 8"),
        (lambda self, cells, player: [-1, 0], "returned -1"),
        (lambda self, cells, player: [0, 0], "returned an action twice"),
        (lambda self, cells, player: [], "returned no action for player 0"),
        (lambda self, cells, player: [0.5], "must return whole numbers"),
        (lambda self, cells, player: itertools.count(), "returned 9, but actions must be from 0 to 8"),
    ],
    "apply": [
        (lambda self, cells, cell: cells, r"must return \(position, rewards\)"),
        (lambda self, cells, cell: (cells, 0), "a finite reward for each player; its rewards are 0"),
        (lambda self, cells, cell: (cells, (0, 0, 0)), "with a finite reward for each player"),
        (lambda self, cells, cell: (cells, (float("nan"), 0)), "with a finite reward for each player"),
        (lambda self, cells, cell: (cells, "win"), "with a finite reward for each player"),
    ],
    "observation": [
        (lambda self, cells, player: np.zeros((3, 3)), r"must have shape \(2, 3, 3\), not \(3, 3\)"),
        (lambda self, cells, player: [[1, 2], [3]], "must return numbers"),
        (lambda self, cells, player: "board", "must return numbers"),
    ],
    "key": [
        (lambda self, cells: -1, r"must return a whole number from 0 to 2\*\*64 - 1, not -1"),
        (lambda self, cells: 2**64, "must return a whole number"),
        (lambda self, cells: "abc", "must return a whole number"),
    ],
    "action_name": [(lambda self, cells, player, cell: 7, "must return a string, not 7")],
    "outcomes": [
        (lambda self, cells, player: [[0, 1]], "must put every legal action in one group"),
        (lambda self, cells, player: [range(9), [0]], "must put every legal action in one group"),
    ],
}
USE = {
    "acting": lambda state: state.acting,
    "legal_actions": lambda state: state.legal_actions(0),
    "apply": lambda state: state.apply(0),
    "observation": lambda state: state.observation(),
    "key": lambda state: state.key,
    "action_name": lambda state: state.action_name(0),
    "outcomes": lambda state: state.outcomes(),
}


@pytest.mark.parametrize(
    ("method", "function", "message"),
    [(method, *case) for method, cases in BROKEN.items() for case in cases],
)
def test_a_wrong_form_is_blamed_on_the_method(method, function, message):
    state = variant(**{method: function})().initial_state()
    before = state.position
    with pytest.raises(rf.BrokenGame, match=rf"^Variant\.{method} .*{message}") as caught:
        USE[method](state)
    assert caught.value.method == method
    assert ". . ." in str(caught.value)
    assert state.position is before
    assert state.returns.tolist() == [0, 0]


def test_symmetries_need_a_transform():
    class Untransformed(rf.PythonGame):
        num_actions, observation_shape, symmetries = 9, (2, 3, 3), TicTacToe.symmetries
        start, acting, legal_actions = TicTacToe.start, TicTacToe.acting, TicTacToe.legal_actions
        apply, observation, has_line = TicTacToe.apply, TicTacToe.observation, TicTacToe.has_line

    state = Untransformed().initial_state()
    assert state.transform(0).key == state.key
    with pytest.raises(rf.BrokenGame, match="does not define transform"):
        state.transform(1)


def test_errors_of_the_author_surface_as_they_are():
    def apply(self, cells, cell):
        return 1 // 0

    state = variant(apply=apply)().initial_state()
    with pytest.raises(ZeroDivisionError) as caught:
        state.apply(0)
    assert caught.traceback[-1].name == "apply"
    assert str(caught.traceback[-1].path) == __file__
    assert state.acting == (0,)


def test_a_broken_text_does_not_hide_the_problem():
    state = variant(text=lambda self, cells: 1 // 0, acting=lambda self, cells: 7)().initial_state()
    with pytest.raises(rf.BrokenGame, match=r"Variant\.acting"):
        _ = state.acting


def test_broken_game_can_be_pickled():
    error = pickle.loads(pickle.dumps(rf.BrokenGame("text", "apply")))
    assert (str(error), error.method, error.report) == ("text", "apply", None)


# The registry.


@pytest.fixture
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_python_games", dict(registry._python_games))


@pytest.mark.usefixtures("_own_registry")
def test_register_with_a_name_without_and_again():
    first = rf.register("some_game")(type("First", (TicTacToe,), {}))
    assert rf.make("some_game").name == "some_game"
    assert type(rf.make("some_game")) is first
    second = rf.register("some_game")(type("First", (TicTacToe,), {}))  # a notebook cell that runs twice
    assert type(rf.make("some_game")) is second

    @rf.register
    class Named(TicTacToe):
        name = "other_game"

    @rf.register()
    class Unnamed(TicTacToe):
        pass

    assert type(rf.make("other_game")) is Named
    assert type(rf.make("unnamed")) is Unnamed
    assert {"some_game", "other_game", "unnamed"} <= set(rf.list_games())


@pytest.mark.usefixtures("_own_registry")
def test_a_factory_can_be_registered():
    rf.register("long_duel")(lambda scale=1.0: Duel(rounds=50, scale=scale))
    assert rf.make("long_duel", scale=2.0) == Duel(50, 2.0)


@pytest.mark.parametrize("name", ["", "a:b", 3])
def test_impossible_names_are_refused(name):
    with pytest.raises(ValueError, match="name must be a string without ':'"):
        rf.register(name)(TicTacToe)


def test_native_names_are_taken():
    with pytest.raises(ValueError, match="'tictactoe' is the name of a native game"):
        rf.register("tictactoe")(TicTacToe)
    with pytest.raises(ValueError, match="'tictactoe' is the name of a native game"):
        rf.register(type("TicTacToe", (TicTacToe,), {}))


def test_states_are_python_states():
    assert isinstance(rf.make("tictactoe_python").initial_state(), PythonState)
