"""``ramify analyze``: what it shows is what the library finds, and mistakes are one line with exit code 2."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ramify as rf
from ramify.arena.muzero_player import MuZeroPlayerConfig
from ramify.cli import analysis, analyze
from ramify.cli.app import app
from ramify.engine import searcher
from ramify.engine.result_text import ranking
from ramify.evaluators import Planner, Rollout
from ramify.presentation import described

TINY = ["-p", "preset=tiny", "--seed", "3"]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["analyze", *arguments])


def run_json(*arguments: str) -> dict[str, Any]:
    shown = run(*arguments, "--json")
    assert shown.exit_code == 0, shown.output
    return dict(json.loads(shown.stdout))


@pytest.mark.parametrize("given", [None, "uniform", "rollout:3"])
def test_without_an_evaluator_the_command_and_the_library_search_alike(given: str | None) -> None:
    named = {None: None, "uniform": rf.evaluators.Uniform(), "rollout:3": Rollout(3)}[given]
    data = run_json("connect_four", "--simulations", "300", *(["--evaluator", given] if given else []))
    result = rf.search(rf.make("connect_four").initial_state(), named, simulations=300)
    assert data["value"] == result.value.tolist()
    visits = {row["action"]: row["visits"] for row in data["players"][0]["actions"]}
    assert [visits[action] for action in range(7)] == result.visit_counts.tolist()


def test_the_numbers_are_those_of_the_library() -> None:
    data = run_json("tictactoe", "--actions", "b2 a1", "--simulations", "500", "--seed", "4", "-s", "c_puct=2.5")
    state = rf.make("tictactoe").initial_state()
    state.apply(4)
    state.apply(0)
    result = rf.search(state, Rollout(1), simulations=500, seed=4, c_puct=2.5)
    assert data["state"] == str(state)
    assert data["value"] == result.value.tolist()
    assert data["stats"]["simulations"] == 500
    (player,) = data["players"]
    rows = {row["action"]: row for row in player["actions"]}
    assert sorted(rows) == result.outcomes[0].tolist() == state.legal_actions().tolist()
    for i, action in enumerate(result.outcomes[0].tolist()):
        assert rows[action]["visits"] == result.visits[i, 0]
        assert rows[action]["value"] == result.q[0][i]
        assert rows[action]["prior"] == result.priors[0][i]
        assert rows[action]["share"] == result.visits[i, 0] / 499
        assert rows[action]["name"] == state.action_name(action)
    counts = [row["visits"] for row in player["actions"]]
    assert counts == sorted(counts, reverse=True)
    assert player["actions"][0]["action"] == result.action()
    assert data["principal_variation"][0] == player["actions"][0]["name"]


@pytest.mark.parametrize(
    ("game", "parts", "best"),
    [
        ("tictactoe", '{"board": ["xx.", "oo.", "..."]}', "c1"),
        ("openspiel:tic_tac_toe", '{"actions": [0, 3, 1, 4]}', "x(0,2)"),
    ],
)
def test_the_best_action_comes_first_and_wins(game: str, parts: str, best: str) -> None:
    shown = run(game, "--state", parts, "--simulations", "400")
    assert shown.exit_code == 0
    first = re.search(r"^1 +(\S+) +([\d,]+) +\S+ +([\d.]+)% +([+-][\d.]+)", shown.stdout, flags=re.MULTILINE)
    assert first
    assert first[1] == best
    assert float(first[3]) > 90
    assert float(first[4]) > 0.99


@pytest.mark.parametrize(
    ("words", "line", "returns", "plies"),
    [
        (["tictactoe", "--state", '{"board": ["xx.", "oo.", "..."]}'], "player 0 wins in at most 1 ply", [1, -1], 1),
        (["tictactoe", "--actions", "b2 a1 a2 c2"], "a draw", [0, 0], None),
        (
            ["chess", "--network", "material", "--state", "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"],
            "White wins in at most 1 ply",
            [1, -1],
            1,
        ),
        (["goofspiel", "-p", "cards=3"], "a draw", [0, 0], None),
    ],
)
def test_what_the_solver_has_proven_is_said(words: list[str], line: str, returns: list[float], plies: int) -> None:
    shown = run(*words, "-s", "solver=true")
    assert shown.exit_code == 0, shown.output
    assert f"\nproven: {line}, returns {returns[0]:+g} {returns[1]:+g}\n" in shown.stdout
    data = run_json(*words, "-s", "solver=true")
    assert (data["proven"], data["proven_plies"]) == (returns, plies)
    assert "proven" not in run(*words, "--simulations", "20").stdout
    data = run_json(*words, "--simulations", "20")
    assert (data["proven"], data["proven_plies"]) == (None, None)


def test_equal_visits_are_ranked_as_the_library_chooses() -> None:
    """With as many simulations as actions every action has at most one visit."""
    state = rf.make("tictactoe").initial_state()
    for simulations in (1, 2, 5, 9):
        result = rf.search(state, Rollout(1), simulations=simulations)
        assert result.outcomes[0][ranking(result, 0)[0]] == result.action()


def test_the_table_shows_the_position_and_the_statistics() -> None:
    shown = run("hex", "-p", "size=5", "--simulations", "3000", "-s", "graph=true", "--top", "3")
    assert shown.exit_code == 0
    result = rf.search(rf.make("hex", size=5).initial_state(), Rollout(1), simulations=3000, graph=True)
    assert shown.stdout.startswith(str(rf.make("hex", size=5).initial_state()))
    assert result.stats["transpositions"] > 0
    facts = f"{result.stats['nodes']:,} nodes, {result.stats['transpositions']:,} transpositions"
    assert f"{facts}, depth {result.stats['max_depth']}," in shown.stdout
    assert "22 more actions; use --top 25 to show all" in shown.stdout
    assert len(re.findall(r"^\d+ +[a-e]\d ", shown.stdout, flags=re.MULTILINE)) == 3


def test_continuations_can_be_played_and_are_the_most_visited() -> None:
    state = rf.make("connect_four").initial_state()
    engine = rf.Searcher(state.game, Rollout(1), rf.SearchConfig(simulations=4000))
    result = engine.run(state)
    rows = described.describe_player(state, result, 0, None)["actions"]
    assert all(len(row["continuation"]) > 1 for row in rows)
    for row in rows:
        walk = state.copy()
        for name in row["continuation"]:
            walk.apply(walk.action(name))  # raises if it is not legal
        assert row["continuation"][0] == row["name"]
    # After advancing, the graph's own root must show the same favourite: another way to the same counts.
    best = rows[0]
    engine.advance(best["action"])
    state.apply(best["action"])
    report = engine._search.report([])
    favourite = report["outcomes"][1][report["edge_visits"].argmax()]
    assert state.action_name(int(favourite)) == best["continuation"][1]


@pytest.mark.parametrize("simulations", [2, 9, 40, 700])
@pytest.mark.parametrize("graph", [False, True])
def test_the_best_continuation_is_the_principal_variation(simulations: int, graph: bool) -> None:
    """The core follows the graph on its own: both must break ties alike."""
    state = rf.make("tictactoe").initial_state()
    result = rf.search(state, Rollout(1), simulations=simulations, graph=graph)
    assert result.variation(length=99) == result.principal_variation
    assert result.variation(result.action(), length=99) == result.principal_variation
    assert result.variation(length=2) == result.principal_variation[:2]


def test_where_both_act_there_is_a_table_each_and_one_for_both() -> None:
    data = run_json("pyrat", *TINY, "--actions", "RIGHT STAY", "--simulations", "600")
    state = rf.make("pyrat", preset="tiny").initial_state(3)
    state.apply(state.action("RIGHT", 0), state.action("STAY", 1))
    result = rf.search(state, Planner(), simulations=600, seed=3, normalize="remaining")
    assert data["acting"] == [0, 1]
    assert data["joint_visits"] == result.visits.tolist()
    for player in (0, 1):
        marginal = dict(zip(data["joint_actions"][player], result.visits.sum(axis=1 - player).tolist(), strict=True))
        assert {row["name"]: row["visits"] for row in data["players"][player]["actions"]} == marginal
        for row in data["players"][player]["actions"]:
            assert row["continuation"][0].split("/")[player] == row["name"]
    shown = run("pyrat", *TINY, "--actions", "RIGHT STAY", "--simulations", "600").stdout
    assert "player 0 acts simultaneously" in shown
    assert "player 1 acts simultaneously" in shown
    block = shown.partition("(rows: player 0, columns: player 1)\n")[2].partition("\n\n")[0].splitlines()
    assert block[0].split() == data["joint_actions"][1]
    cells = [int(cell.replace(",", "")) for row in block[1:] for cell in row.split()[1:]]
    assert cells == result.visits.ravel().tolist()


def test_pyrat_is_evaluated_by_plans_unless_an_evaluator_is_named() -> None:
    unnamed, named = (
        run_json("pyrat", *TINY, *words, "--simulations", "300") for words in ([], ["--evaluator", "planner"])
    )
    assert unnamed["evaluated_by"] == named["evaluated_by"] == "plans"
    assert unnamed["joint_visits"] == named["joint_visits"]
    other = run_json("pyrat", *TINY, "-s", "normalize=none", "--simulations", "300")
    assert other["joint_visits"] != unnamed["joint_visits"]
    random = run_json("pyrat", *TINY, "--evaluator", "rollout", "--simulations", "300")
    assert random["evaluated_by"] == "random games"


def test_a_large_joint_table_is_left_out() -> None:
    shown = run("goofspiel", "-p", "cards=13", "--simulations", "200")
    assert shown.exit_code == 0
    assert "rows: player 0" not in shown.stdout
    assert len(run_json("goofspiel", "-p", "cards=13", "--simulations", "200")["joint_visits"]) == 13


def test_actions_by_number_and_by_name() -> None:
    by_name = run_json("hex", "-p", "size=3", "--actions", "b2 a1", "--simulations", "50")
    by_number = run_json("hex", "-p", "size=3", "--actions", "#4 #0", "--simulations", "50")
    for data in (by_name, by_number):
        del data["stats"]["seconds"]
    assert by_name == by_number


def test_the_tree_and_the_picture(tmp_path: Path) -> None:
    file = tmp_path / "position.svg"
    shown = run("tictactoe", "--actions", "a1", "--simulations", "60", "--tree", "2", "--svg", str(file))
    state = rf.make("tictactoe").initial_state()
    state.apply(0)
    result = rf.search(state, Rollout(1), simulations=60)
    assert file.read_text(encoding="utf-8") == described.picture(state, result) != state.svg()
    assert result.tree(2) in shown.stdout


def test_the_evaluator_is_the_one_named() -> None:
    uniform = run_json("hex", "-p", "size=3", "--evaluator", "uniform", "--simulations", "2")
    assert uniform["value"] == [0.0, 0.0]
    many = run_json("hex", "-p", "size=3", "--evaluator", "rollout:7", "--simulations", "1")
    state = rf.make("hex", size=3).initial_state()
    assert many["value"] == rf.search(state, Rollout(7), simulations=1).value.tolist()
    assert abs(many["value"][0] * 7 % 2 - 1) < 1e-5  # the mean of seven wins and losses


def test_another_limit_replaces_the_default_number_of_simulations() -> None:
    timed = run_json("tictactoe", "-s", "max_seconds=0.3")["stats"]
    assert timed["simulations"] > analyze.SIMULATIONS  # far more fit into the time even on a slow machine
    assert 0.3 <= timed["seconds"] < 5
    counted = run_json("hex", "-p", "size=5", "-s", "max_evaluations=123")["stats"]
    assert counted["evaluations"] == 123
    assert run_json("tictactoe")["stats"]["simulations"] == analyze.SIMULATIONS


def test_showing_progress_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root noise and min-max bounds belong to a run: progress must not cut it into several."""
    settings = ["-s", "noise_fraction=0.25", "-s", "normalize=minmax", "--simulations", "30000"]
    quiet = run_json("tictactoe", *settings)
    calls = []
    monkeypatch.setattr(analyze, "PATIENCE", 0.0)
    monkeypatch.setattr(analyze, "REDRAW", 0.0)
    monkeypatch.setattr(searcher, "NATIVE_SECONDS", 0.002)
    monkeypatch.setattr(analyze.ProgressBar, "share", lambda _, stats, __: calls.append(stats["simulations"]) or 0.5)
    shown = run_json("tictactoe", *settings)
    assert calls
    assert calls == sorted(calls)
    for data in (quiet, shown):
        del data["stats"]["seconds"]
    assert shown == quiet


def test_the_nearest_limit_says_how_far_it_is() -> None:
    config = rf.SearchConfig(simulations=1000, max_evaluations=50, max_seconds=10.0)
    bar = analyze.ProgressBar(None, config.model_dump())  # type: ignore[arg-type]  # nothing is drawn
    assert bar.share({"simulations": 100, "evaluations": 40}, 1.0) == 0.8
    assert bar.share({"simulations": 900, "evaluations": 10}, 1.0) == 0.9
    assert bar.share({"simulations": 100, "evaluations": 10}, 9.5) == 0.95


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tictactoo"], ["no game named 'tictactoo'", "did you mean 'tictactoe'?"]),
        (["openspiel:nothing"], ["nothing"]),
        (["hex", "-p", "sise=5"], ["'sise'", "did you mean 'size'?"]),
        (["hex", "-p", "size"], ["key=value", "'size'"]),
        (["tictactoe", "--actions", "a1 a1"], ["'a1' names no legal action of player 1", "b1"]),
        (["tictactoe", "--actions", "#9"], ["action 9", "not legal"]),
        (["tictactoe", "--actions", "a1 a2 b1 b2 c1"], ["the game is over"]),
        (["tictactoe", "--actions", "a1 a2 b1 b2 c1 c2"], ["the game is over before 'c2'"]),
        (["pyrat", *TINY, "--actions", "UP"], ["a turn needs two actions", "'UP'"]),
        (["tictactoe", "--state", '{"bord": []}'], ["bord"]),
        (["tictactoe", "--state", '{"board"'], ["--state", "JSON"]),
        (["openspiel:tic_tac_toe", "--state", "x"], ["openspiel:tic_tac_toe", "no short text form"]),
        (["openspiel:tic_tac_toe", "--state", '{"actions": [0, 0]}'], ["turn 2 of actions", "action 0 is not legal"]),
        (["tictactoe", "-s", "simlations=3"], ["'simlations'", "did you mean 'simulations'?"]),
        (["tictactoe", "-s", "c_puct=-1"], ["c_puct=-1"]),
        (["tictactoe", "-s", "fpu=high"], ["fpu='high'", "zero"]),
        (
            ["tictactoe", "--evaluator", "network"],
            ["uniform, rollout, rollout:N, greedy, greedy:N or planner", "'network'"],
        ),
        (["tictactoe", "--evaluator", "rollout:0"], ["'rollout:0'"]),
        (["tictactoe", "--svg", "/nowhere/at/all.svg"], ["/nowhere/at/all.svg"]),
        (["tictactoe", "--svg", "board.png"], ["only SVG", "board.svg"]),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], words: list[str]) -> None:
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.count("\n") == 1
    assert shown.stderr.startswith("ramify: ")
    assert [word for word in words if word not in shown.stderr] == []


def test_help_teaches_with_commands_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some of them write a file
    shown = CliRunner(env={"COLUMNS": "120", "TERM": "dumb"}).invoke(app, ["analyze", "--help"])
    examples = re.findall(r"ramify analyze ([a-z_]+ .*?) *│?$", shown.stdout, flags=re.MULTILINE)
    assert len(examples) >= 5
    for example in examples:
        if "--import" in example:
            continue  # needs a file
        words = shlex.split(example.replace("max_seconds=5", "max_seconds=0.1"))
        assert run(*words, "-s", "simulations=20").exit_code == 0, example


def test_bars_grow_with_the_share() -> None:
    bars = [analysis.bar(share, ascii_only=False) for share in np.linspace(0, 1, 65)]
    assert bars[0] == ""
    assert bars[-1] == "█" * analysis.BAR
    assert len(set(bars)) == 65
    assert analysis.bar(0.5, ascii_only=True) == "#" * (analysis.BAR // 2)


def test_ctrl_c_shows_what_was_found() -> None:
    """A terminal of its own: the progress bar appears, then Ctrl-C ends the search with a table."""
    ours, theirs = pty.openpty()
    # Whoever runs the tests in the background of a shell ignores Ctrl-C, and so would the command, for ever.
    listen = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = f"{listen}; from ramify.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", start, "analyze", "tictactoe", "--simulations", "100000000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        seen = b""
        while b"simulations," not in seen:
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    assert "searching" in seen.decode()
    assert re.search(r"^1 +b2 ", out, flags=re.MULTILINE)  # the centre
    assert "stopped early: " in out


def test_only_some_actions_are_searched() -> None:
    data = run_json("tictactoe", "--actions", "b2", "--only", "a1 C3 #1", "--simulations", "100")
    (player,) = data["players"]
    assert sorted(row["name"] for row in player["actions"]) == ["a1", "b1", "c3"]
    data = run_json("tictactoe", "--actions", "4", "--only", "0,8, b1", "--simulations", "100")
    assert sorted(row["name"] for row in data["players"][0]["actions"]) == ["a1", "b1", "c3"]
    data = run_json("matrix", "--only", "/ 0 2", "--simulations", "50")
    assert [sorted(row["action"] for row in player["actions"]) for player in data["players"]] == [[0, 1, 2], [0, 2]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["tictactoe", "--only", "z9"], "z9"),
        (["tictactoe", "--only", "9"], "0 (a1), 1 (b1)"),
        (["tictactoe", "--only", "#9"], "action 9 in actions is not legal"),
        (["tictactoe", "--only", "a1 / b1"], "one list of actions"),
        (["matrix", "--only", "0"], "two lists with '/' between them"),
    ],
)
def test_wrong_actions_of_only_are_named(arguments: list[str], text: str) -> None:
    shown = run(*arguments, "--simulations", "10")
    assert shown.exit_code == 2
    assert text in shown.output


def test_a_learned_model_is_searched_in_place_of_the_rules_if_asked() -> None:
    """As the player muzero:network=… searches: the same visits."""
    words = ["connect_four", "--network", "muzero-connect-four", "--simulations", "40", "--actions", "d d c"]
    data = run_json(*words, "--learned")
    config = MuZeroPlayerConfig(network="muzero-connect-four", simulations=40)
    game = rf.make("connect_four")
    state = game.initial_state()
    for action in (3, 3, 2):
        state.apply(action)
    result = rf.Searcher(config.open_model(game), config=config.search_config()).run(state)
    assert {row["action"]: row["visits"] for row in data["players"][0]["actions"]} == dict(
        zip(result.outcomes[1].tolist(), result.visits.ravel().tolist(), strict=True)
    )
    assert data["evaluated_by"] == "the learned model muzero-connect-four, searched in place of the rules"
    assert run_json(*words)["evaluated_by"] == "the network muzero-connect-four"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--learned needs --network"),
        ("--network connect-four", "is a network of kind 'resnet'"),
        ("--network muzero-chess", "is a network for chess, not for connect_four"),
        ("--network muzero-connect-four --evaluator uniform", "--learned takes no --evaluator"),
        ("--network muzero-connect-four -s graph=true", "graph=true needs the rules of a game"),
        ("--network muzero-connect-four -s simulatons=4", "did you mean 'simulations'"),
    ],
)
def test_what_cannot_be_searched_as_a_learned_model(words: str, message: str) -> None:
    shown = run("connect_four", "--learned", *words.split())
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert message in " ".join(shown.stderr.split())
