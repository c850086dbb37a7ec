"""Games of the user's own on the command line: what is wrong with their code, their parameters, and what they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import Limits, MatchConfig, PlayerConfig, match
from ramify.cli.analyze import FEW
from ramify.cli.watch import SLOW_PLAYERS
from ramify.games.ending import MOST_TURNS
from ramify.games.failures import game_failure
from ramify.selfplay import PlayConfig, SelfPlay
from tests.children import Ended, run_command
from tests.pile import PILE_RULES

GAME = (
    '''
from typing import Annotated

import ramify as rf


@rf.register("pile")
class Pile(rf.PythonGame):
    """Take one to three from a pile.

    Who takes the last one wins."""

    num_actions = 3
    observation_shape = (2,)

    def __init__(self, size: Annotated[int, "stones in the pile"] = 9, *, kind: int = 1):
        self.size = size

    def start(self, rng):
        return self.size, 0

'''
    + PILE_RULES
    + """\


def helper():
    return {}["nothing of that name"]
"""
)
RAISING = GAME.replace("        left, player =", "        position[0] > 5 or helper()\n        left, player =")
RETURNING = GAME.replace(
    "return (left, 1 - player), (win, -win)", "return 5 if left < 5 else ((left, 1 - player), (0, 0))"
)
COMMANDS = {
    "analyze": ["analyze", "pile", "--simulations", "50"],
    "selfplay": ["selfplay", "pile", "games", "--games", "4", "--simulations", "8"],
    "match": ["match", "pile", "random", "search:simulations=20", "--games", "4"],
    "workers": ["match", "pile", "random", "search:simulations=20", "--games", "2", "--workers", "1"],
    "watch": ["watch", "pile", "search:simulations=20", "random"],
}


def ramify(folder: Path, *arguments: str) -> Ended:
    return run_command(*arguments, folder=folder)


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("source", "at", "words"),
    [(RAISING, "nothing of that name", "KeyError"), (RETURNING, "def apply", "rewards")],
    ids=["raises", "returns"],
)
def test_an_error_of_a_game_is_one_line_that_says_where(
    command: str, source: str, at: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "pile_game.py").write_text(source)
    code, _, err = ramify(tmp_path, *COMMANDS[command], "--import", "pile_game.py")
    assert code == 2
    assert err.count("\n") == 1, err
    for part in ("pile", "apply", words, f"pile_game.py:{line_of(source, at)}", "check_game"):
        assert part in err


@pytest.mark.parametrize("command", ["analyze", "selfplay", "match"])
def test_a_game_that_does_not_end_is_said_not_to(command: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(GAME.replace("(position[1],) if position[0] else ()", "(position[1],)"))
    source = (tmp_path / "own.py").read_text().replace("min(position[0], 3)", "3")
    (tmp_path / "own.py").write_text(source)
    code, _, err = ramify(tmp_path, *COMMANDS[command], "--import", "own.py")
    assert (code, err.count("\n")) == (2, 1)
    for part in ("'pile'", f"{MOST_TURNS} turns", "ramify check pile -p size=9 -p kind=1 --import own.py"):
        assert part in err


class Circle(rf.PythonGame):
    """Never ends."""

    num_actions, observation_shape = 1, (1,)

    def start(self, rng):
        return 0

    def acting(self, position):
        return (position,)

    def legal_actions(self, position, player):
        return (0,)

    def apply(self, position, action):
        return 1 - position, (0, 0)

    def observation(self, position, player):
        return [position]


def test_a_match_that_does_not_end_is_an_error_unless_games_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.arena.runner.MOST_TURNS", 50)
    with pytest.raises(rf.BrokenGame, match=r"'circle' was not over .*max_moves"):
        match(Circle(), "random", Second(), 2)
    games = match(Circle(), "random", Second(), 2, config=MatchConfig(limits=Limits(max_moves=60)))
    assert [(game.reason, len(game.actions)) for game in games] == [("cut", 60)] * 2


def test_self_play_that_does_not_end_is_an_error_unless_games_are_cut() -> None:
    with pytest.raises(rf.BrokenGame, match=r"'circle' was not over .*max_moves"):
        SelfPlay(Circle(), rf.evaluators.Uniform())
    how = PlayConfig(max_moves=5)
    played = SelfPlay(Circle(), rf.evaluators.Uniform(), rf.SearchConfig(simulations=2), how, games=2, parallel_games=2)
    assert sum(len(records) for records in played) == 2
    with pytest.raises(rf.BrokenGame, match="evaluator"):
        SelfPlay(Circle(), rf.evaluators.Rollout(), play=how)


def test_check_shows_the_problems_of_a_game_and_that_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GAME)
    code, out, err = ramify(tmp_path, "check", "pile", "-p", "size=7", "--import", "good.py", "--games", "5")
    assert (code, err) == (0, "")
    assert out.startswith("pile(size=7, kind=1): no problems found in 5 games")
    (tmp_path / "bad.py").write_text(RAISING)
    code, out, err = ramify(tmp_path, "check", "pile", "--import", "bad.py", "--json")
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert not found["ok"]
    assert {problem["promise"] for problem in found["problems"]} == {"playing"}
    assert "KeyError" in found["problems"][0]["seen"]


def test_searches_of_a_slow_game_are_small_unless_said_otherwise(tmp_path: Path) -> None:
    """Games in Python take a hundred times as long as those of the core."""
    (tmp_path / "own.py").write_text(GAME)
    code, out, _ = ramify(tmp_path, "analyze", "pile", "--import", "own.py", "--json")
    assert (code, json.loads(out)["stats"]["simulations"]) == (0, FEW)
    code, out, _ = ramify(tmp_path, "watch", "pile", "--import", "own.py")
    assert (code, out.splitlines()[:2]) == (0, [f"player {n}: {player}" for n, player in enumerate(SLOW_PLAYERS)])
    code, out, _ = ramify(tmp_path, "watch", "pile", "random", "--import", "own.py", "-s", "simulations=5")
    assert (code, out.splitlines()[:2]) == (0, ["player 0: random", "player 1: search:simulations=5"])


def test_check_shows_once_what_is_wrong_in_every_game(tmp_path: Path) -> None:
    own = "    def action_name(self, position, player, action):\n        return 5\n\n    def observation"
    (tmp_path / "own.py").write_text(GAME.replace("    def observation", own))
    code, out, _ = ramify(tmp_path, "check", "pile", "--import", "own.py")
    assert (code, out.count("problem: names:")) == (1, 1)


def test_its_traceback_is_shown_for_debug(tmp_path: Path) -> None:
    (tmp_path / "pile_game.py").write_text(RAISING)
    code, _, err = ramify(tmp_path, *COMMANDS["match"], "--import", "pile_game.py", "--debug")
    assert code == 2
    assert "Traceback" in err
    assert "in helper" in err
    assert "check_game" in err.splitlines()[-1]


class Faulty(rf.PythonGame):
    """Fails whenever it is asked for an estimate."""

    num_actions, observation_shape = 2, (1,)

    def start(self, rng):
        return 0

    def acting(self, position):
        return (position % 2,) if position < 4 else ()

    def legal_actions(self, position, player):
        return (0, 1)

    def apply(self, position, action):
        return position + 1, (0, 0)

    def observation(self, position, player):
        return [position]

    def heuristic(self, position):
        raise LookupError("nothing is known")


class Meddling(PlayerConfig):
    """A player that calls the game by itself, wrongly."""

    kind: str = "meddling"  # type: ignore[assignment]

    def open(self, game):
        return self

    def choose(self, turns):
        return [turn.state.game.heuristic(turn.state.position) for turn in turns]

    def close(self):
        pass


class Second(Meddling):
    """Plays the only action that there is."""

    kind: str = "second"  # type: ignore[assignment]

    def choose(self, turns):
        return [0 for _ in turns]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("action_name(self, action)", "action_name(self, position, player, action)"),
        ("text(self)", "text(self, position)"),
        ("key(self)", "key(self, position)"),
    ],
)
def test_a_method_with_other_parameters_is_shown_with_the_right_ones(wrong: str, right: str, tmp_path: Path) -> None:
    own = f"    def {wrong}:\n        return 'x'\n\n    def observation"
    (tmp_path / "own.py").write_text(GAME.replace("    def observation", own), encoding="utf-8")
    code, _, err = ramify(tmp_path, *COMMANDS["analyze"], "--import", "own.py")
    assert code == 2
    assert err.count("\n") == 1, err
    assert f"it must be {right}" in err
    assert "own.py:" in err


def test_an_error_of_a_player_is_not_the_games() -> None:
    games = match(Faulty(), Meddling(), "random", 2)
    assert all(game.reason == "forfeit" for game in games)
    state = Faulty().initial_state()
    with pytest.raises(LookupError) as caught:
        _ = state.heuristic
    assert "faulty" in str(game_failure(caught.value))
    with pytest.raises(rf.IllegalAction) as illegal:
        state.apply(7)
    assert game_failure(illegal.value) is None


@pytest.mark.parametrize("given", [["-p", "size=abc"], ["-p", "kind=many"]])
def test_a_text_where_a_number_belongs_is_named(given: list[str], tmp_path: Path) -> None:
    (tmp_path / "pile_game.py").write_text(GAME.replace('Annotated[int, "stones in the pile"]', "int"))
    for command in (["games", "pile"], ["analyze", "pile"], ["match", "pile", "random", "search"]):
        code, _, err = ramify(tmp_path, *command, *given, "--import", "pile_game.py")
        assert (code, err.count("\n")) == (2, 1)
        name, _, value = given[1].partition("=")
        for part in (name, repr(value), "int", "pile"):
            assert part in err


def test_an_error_of_the_constructor_names_the_parameters(tmp_path: Path) -> None:
    source = GAME.replace("self.size = size", "self.size = size + kind")
    (tmp_path / "pile_game.py").write_text(source)
    code, _, err = ramify(tmp_path, "analyze", "pile", "-p", "size=[1,2]", "--import", "pile_game.py")
    assert (code, err.count("\n")) == (2, 1)
    for part in ("pile", "size=[1, 2]", "TypeError", f"pile_game.py:{line_of(source, 'size + kind')}"):
        assert part in err


def test_games_shows_the_docstring_the_parameters_and_their_annotations(tmp_path: Path) -> None:
    (tmp_path / "pile_game.py").write_text(GAME)
    code, out, _ = ramify(tmp_path, "games", "pile", "-p", "size=5", "--import", "pile_game.py")
    assert code == 0
    for part in (
        "Take one to three",
        "Who takes the last one wins.",
        "size = 5",
        "stones in the pile",
        "9",
        "kind = 1",
    ):
        assert part in out
    code, out, _ = ramify(tmp_path, "games", "pile", "--json", "--import", "pile_game.py")
    shown = json.loads(out)
    assert shown["description"].startswith("Take one")
    rows = {row["name"]: row for row in shown["parameters"]}
    assert rows["size"]["default"] == 9
    assert re.search("int.*stones in the pile", rows["size"]["meaning"])
    assert rows["kind"]["meaning"] == "int"


def test_games_lists_a_game_with_a_parameter_that_has_no_default(tmp_path: Path) -> None:
    (tmp_path / "pile_game.py").write_text(GAME.replace("kind: int = 1", "kind: int"))
    code, out, err = ramify(tmp_path, "games", "--import", "pile_game.py")
    assert (code, err) == (0, "")
    assert re.search(r"kind +required +int", out)
    code, _, err = ramify(tmp_path, "games", "pile", "--import", "pile_game.py")
    assert (code, err.count("\n")) == (2, 1)
    assert "kind" in err


@pytest.mark.parametrize("name", ["notes.txt", "./notes.txt", "pile_game.txt", "./inner", "no-such-module"])
def test_what_is_no_module_is_said_to_be_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "pile_game.txt").write_text(GAME)
    (tmp_path / "pile_game.py").write_text("raise SystemExit('imported instead of the text file')")
    code, _, err = ramify(tmp_path, "games", "pile", "--import", name)
    assert (code, err.count("\n")) == (2, 1)
    assert "instead" not in err
    assert Path(name).name in err


def test_a_module_that_is_missing_from_a_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "pile_game.py").write_text("import no_such_thing")
    err = ramify(tmp_path, "games", "--import", "pile_game")[2]
    assert "pile_game" in err
    assert "no_such_thing" in err
    assert "installed" not in err  # the module that was asked for is there


def test_a_text_file_as_a_network_gets_one_answer(run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    notes = tmp_path / "notes.txt"
    notes.write_text("notes")
    answers = set()
    for command in (
        ["analyze", "hex"],
        ["selfplay", "hex", "games"],
        ["play", "hex"],
        ["match", "hex", "search", "random"],
    ):
        code, _, err = run(*command, "-p", "size=5", "--network", str(notes))
        assert (code, err.count("\n")) == (2, 1)
        answers.add(err)
    assert len(answers) == 1
    assert ".safetensors" in answers.pop()
