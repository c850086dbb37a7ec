"""Help, and the words for what was typed wrongly: a reader of either knows what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ramify.engine import SearchConfig
from ramify.selfplay import PlayConfig
from tests.children import run_command, run_program

EXAMPLE = Path(__file__).parent.parent / "examples/tictactoe_python.py"


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (["analyze", "-s", "help"], SearchConfig),
        (["match", "hex", "--set", "help"], SearchConfig),
        (["selfplay", "hex", "games", "--play", "help"], PlayConfig),
    ],
)
def test_settings_are_listed_with_defaults_and_meanings(run, words: list[str], config: type) -> None:
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    listed = re.findall(r"^(\w+) ", out, flags=re.MULTILINE)
    assert listed == ["setting", *config.model_fields]
    values = {SearchConfig: "puct, gumbel, regret, exp3", PlayConfig: "visits, pruned, nash, average, improved"}
    assert f"One of {values[config]}." in " ".join(out.split())


def test_settings_say_that_games_in_python_are_searched_by_one_thread(run) -> None:
    _, out, _ = run("analyze", "-s", "help")
    (said,) = re.findall(r"^threads .*?(?=^bundle )", out, flags=re.MULTILINE | re.DOTALL)
    assert "Games written in Python, or by other libraries, are always searched by one." in " ".join(said.split())
    _, out, _ = run("selfplay", "--help")
    assert "games written in Python use one" in " ".join(out.replace("│", " ").split())


def test_settings_of_a_group_are_listed_as_they_are_given(run) -> None:
    for words in (["selfplay", "hex", "games", "--play", "help"], ["match", "pyrat", "search:help", "random"]):
        code, out, _ = run(*words)
        assert code == 0
        assert re.findall(r"^(nash\S*) +(\S+)", out, flags=re.MULTILINE) == [
            ("nash", "(group)"),
            ("nash.choose", "centroid"),
            ("nash.min_visits", "5.0"),
            ("nash.pruned", "False"),
        ]
    assert "The strong choice for PyRat is planner" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["analyze", "hex", "-s", "depth=3"],
            r"no search setting 'depth'; there are simulations, .*c_puct.*threads, bundle$",
        ),
        (["analyze", "hex", "-s", "c_put=3"], r"no search setting 'c_put'; did you mean 'c_puct'\?$"),
        (["analyze", "hex", "-s", "c_puct=high"], "search setting c_puct='high': must be a number$"),
        (["analyze", "hex", "-s", "graph=7"], "graph=7: must be true or false$"),
        (["analyze", "hex", "-s", "selection=best"], "must be 'puct', 'gumbel', 'regret' or 'exp3'$"),
        (["analyze", "hex", "-s", "simulations=0.5"], "simulations=0.5: must be a whole number$"),
        (["analyze", "hex", "--simulations", "many"], "'--simulations': must be a whole number$"),
        (["analyze", "hex", "--simulations", "0"], "'--simulations': must be at least 1$"),
        (["match", "hex", "rollout", "random"], "no kind of player 'rollout'; did you mean 'search:evaluator=rollout'"),
        (["match", "hex", "search", "random:depth=1"], "no player setting 'depth'; there are name$"),
        (["match", "hex", "search"], r"Missing argument 'second'\. See 'ramify match --help'\.$"),
        (["analyze", "hex", "--visits", "5"], r"No such option: --visits\b.*\. See 'ramify analyze --help'\.$"),
        (["analyse", "hex"], r"Did you mean 'analyze', 'analysis'\? See 'ramify --help'\.$"),
    ],
)
def test_what_was_typed_wrongly_is_answered_with_what_would_be_right(run, words: list[str], message: str) -> None:
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err), err


def test_play_says_who_moves_first_and_how_to_choose_it(run) -> None:
    code, out, _ = run("play", "--help")
    assert code == 0
    assert "You move first; with --side 1 the opponent does." in " ".join(out.split())


@pytest.mark.parametrize("words", [[], ["gate"], ["tournament"]])
def test_flags_are_not_shown_as_if_a_value_followed(run, words: list[str]) -> None:
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert "--debug" in out
    assert "bool" not in out


START_RUN = """
from pathlib import Path

import ramify as rf
from ramify.base.imports import import_modules
from ramify.training import TrainConfig
from ramify.training.claims import claim

import_modules(["own_game.py"])
claim(TrainConfig(game="tictactoe_python", imports=[str(Path("own_game.py").resolve())]), Path("runs/mine"))
network = rf.networks.make(rf.make("tictactoe_python"), "mlp:1x8")
rf.networks.save(Path("runs/mine/checkpoints/000000/network"), network)
"""
EXPORT = """
from ramify import networks
from ramify.cli import main

networks.export_onnx = lambda file, _: file.touch()  # which takes seconds, and is not what is tested here
main(["export", "runs/mine", "net.onnx"])
"""


def test_a_run_is_meant_by_its_name_and_knows_its_game(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "own_game.py").write_text(EXAMPLE.read_text().partition("\nif __name__")[0])
    assert run_program(START_RUN, folder=tmp_path) == (0, "", "")
    code, _, err = run_command("export", "mine", "net.onnx", folder=tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert "did you mean 'runs/mine'?" in err
    code, out, err = run_program(EXPORT, folder=tmp_path)
    assert (code, err) == (0, "")
    assert "tictactoe_python" in out


def test_brackets_of_an_example_are_shown(run) -> None:
    assert 'fpu: {choices: ["parent", "reduction"]}' in run("sweep", "--help")[1]
