"""Analysis over JSON lines: every query gets its answers, whatever the lines around it are."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.protocols.analysis_query import Defaults
from ramify.protocols.json_analysis import AnalysisServer


def served(queries: list[Any], parallel: int = 2, evaluator: Any = None, **defaults: Any) -> list[dict[str, Any]]:
    """The answers to these queries; text is sent as it is."""
    said: list[str] = []
    chosen = evaluator if evaluator is not None else rf.evaluators.Rollout()
    known = Defaults(defaults.pop("game", None), defaults, {"simulations": 20})
    server = AnalysisServer(said.append, lambda _: chosen, known, parallel=parallel, version="1")
    server.serve(query if isinstance(query, str) else json.dumps(query) for query in queries)
    return [json.loads(line) for line in said]


def test_queries_of_several_games() -> None:
    answers = served(
        [
            {"id": "t", "game": "tictactoe", "actions": "b2 a1", "turns": [0, 1, 2], "simulations": 30},
            {"id": "h", "game": "hex", "params": {"size": 3}, "actions": ["b2"], "top": 2},
            {"id": "c", "game": "chess", "position": "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", "only": ["g5g7", "g5h4"]},
            {"id": "p", "game": "goofspiel", "actions": [["1", "2"]], "settings": {"selection": "regret"}},
            {"id": 5, "game": "tictactoe", "position": {"board": ["xx.", "oo.", "..."]}, "settings": {"solver": True}},
        ]
    )
    by_id = {(answer["id"], answer["turn"]): answer for answer in answers}
    assert by_id.keys() == {("t", 0), ("t", 1), ("t", 2), ("h", 1), ("c", 0), ("p", 1), (5, 0)}
    assert all(answer["final"] for answer in answers)
    assert [by_id["t", turn]["acting"] for turn in (0, 1, 2)] == [[0], [1], [0]]
    assert by_id["t", 2]["stats"]["simulations"] == 30
    assert sum(row["visits"] for row in by_id["t", 2]["actions"]) == 29
    assert len(by_id["h", 1]["actions"]) == 2
    assert {row["name"] for row in by_id["c", 0]["actions"]} == {"g5g7", "g5h4"}
    assert by_id["c", 0]["actions"][0]["name"] == "g5g7"
    assert {row["player"] for row in by_id["p", 1]["actions"]} == {0, 1}
    assert by_id[5, 0]["proven"] == [1, -1]
    assert by_id[5, 0]["line"] == ["c1"]


@pytest.mark.parametrize(
    ("query", "field", "problem"),
    [
        ("{nonsense", None, "not a JSON object"),
        ("[1, 2]", None, "must be a JSON object"),
        ("[" * 100_000, None, "not a JSON object"),
        ({"game": "hex"}, "id", "needs an id"),
        ({"id": 1}, "game", "needs a game"),
        ({"id": 1, "game": "chekers"}, "game", "chekers"),
        ({"id": 1, "game": "hex", "params": {"size": 99}}, "params", "size"),
        ({"id": 1, "game": "hex", "moves": []}, "moves", "no field 'moves'"),
        ({"id": 1, "game": "hex", "simulations": "many"}, "simulations", "must be of type int"),
        ({"id": 1, "game": "hex", "simulations": True}, "simulations", "must be of type int"),
        ({"id": 1, "game": "hex", "simulations": 0}, "settings", "simulations"),
        ({"id": 1, "game": "hex", "settings": {"c_put": 1}}, "settings", "c_puct"),
        ({"id": 1, "game": "hex", "actions": ["a1", "a1"]}, "actions", "a1"),
        ({"id": 1, "game": "hex", "turns": [3]}, "turns", "from 0 to 0"),
        ({"id": 1, "game": "chess", "position": "nothing"}, "position", "FEN"),
        ({"id": 1, "game": "tictactoe", "actions": "a1 b1 a2 b2 a3"}, "turns", "is over"),
        ({"id": 1, "game": "tictactoe", "only": ["z9"]}, "only", "z9"),
        ({"id": 1, "game": "hex", "seed": -1}, "seed", "at least 0"),
        ({"id": 1, "game": "hex", "report_every": 0}, "report_every", "above 0"),
        ({"id": 1, "action": "dance"}, "action", "no action 'dance'"),
        ({"id": 1, "action": "terminate"}, "terminate_id", "needs the terminate_id"),
    ],
)  # fmt: skip
def test_a_wrong_query_gets_an_error_and_the_next_one_its_answer(query: Any, field: str | None, problem: str) -> None:
    answers = served([query, {"id": "ok", "game": "tictactoe", "simulations": 3}], parallel=1)
    wrong, right = sorted(answers, key=lambda answer: answer["id"] == "ok")
    assert problem in wrong["error"]
    assert wrong.get("field") == field
    assert wrong["id"] == (query.get("id") if isinstance(query, dict) else None)
    assert right["final"]


class Slow:
    """An evaluator that counts what it is asked, and waits until it may go on."""

    def __init__(self) -> None:
        self.go, self.asked = threading.Event(), 0

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        self.asked += len(batch)
        self.go.wait(10)
        return rf.Evaluation(np.zeros((len(batch), 2, 9), np.float32), np.zeros((len(batch), 2), np.float32))


def wait_until(said: Any) -> None:
    deadline = time.monotonic() + 10
    while not said() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert said()


def test_terminate_ends_what_runs_and_what_waits() -> None:
    said, slow = list[str](), Slow()
    server = AnalysisServer(said.append, lambda _: slow, Defaults("tictactoe", {}, {"simulations": 10**6}), parallel=1)
    for name in "abc":
        server.receive(json.dumps({"id": name}))
    wait_until(lambda: slow.asked)
    server.receive(json.dumps({"id": "x", "action": "terminate", "terminate_id": "b"}))
    server.receive(json.dumps({"id": "y", "action": "terminate_all"}))
    slow.go.set()
    server.finish()
    answers = {answer["id"]: answer for answer in map(json.loads, said)}
    assert answers.keys() == {"a", "b", "c", "x", "y"}
    assert answers["a"]["stats"]["simulations"] < 10**6  # with what was found by then
    assert (answers["b"]["no_results"], answers["c"]["no_results"]) == (True, True)
    assert (answers["x"]["terminated"], answers["y"]["terminated"]) == (1, 2)


def test_priorities_and_reports_on_the_way() -> None:
    said, slow = list[str](), Slow()
    server = AnalysisServer(said.append, lambda _: slow, Defaults("tictactoe", {}, {"simulations": 20_000}), parallel=1)
    server.receive(json.dumps({"id": "first", "report_every": 0.02}))
    wait_until(lambda: slow.asked)
    for name, priority in (("low", 0), ("high", 7)):
        server.receive(json.dumps({"id": name, "priority": priority, "simulations": 2}))
    slow.go.set()
    server.finish()
    answers = [json.loads(line) for line in said]
    assert [answer["id"] for answer in answers if answer["final"]] == ["first", "high", "low"]
    partial = [answer for answer in answers if not answer["final"]]
    assert partial
    assert all(answer["id"] == "first" for answer in partial)
    spent = [answer["stats"]["simulations"] for answer in answers if answer["id"] == "first"]
    assert spent == sorted(spent)


def test_plans_are_searched_with_the_settings_that_suit_them() -> None:
    plain = {"game": "pyrat", "params": {"preset": "tiny"}, "simulations": 300}
    queries = [{"id": 0, **plain}] + [
        {"id": number, **plain, "settings": {"normalize": how}} for number, how in enumerate(("remaining", "none"), 1)
    ]
    answers = {answer["id"]: answer for answer in served(queries, evaluator=rf.evaluators.Planner())}
    visits = [[action["visits"] for action in answers[number]["actions"]] for number in range(3)]
    assert visits[0] == visits[1] != visits[2]


def test_the_cache_is_shared_by_queries_until_it_is_cleared() -> None:
    slow = Slow()
    slow.go.set()
    query = {"id": 1, "game": "tictactoe", "simulations": 30}
    served([query], 1, slow)
    once = slow.asked
    served([query, query], 1, slow)
    assert slow.asked <= 2 * once + 1  # the root is evaluated again
    said: list[str] = []
    server = AnalysisServer(said.append, lambda _: slow, Defaults(None, {}, {"simulations": 5}), parallel=1)
    before = slow.asked
    server.receive(json.dumps(query))
    wait_until(lambda: len(said) == 1)
    server.receive(json.dumps({"id": "c", "action": "clear_cache"}))
    server.receive(json.dumps(query))
    server.finish()
    assert slow.asked == before + 2 * once
    assert json.loads(said[1]) == {"id": "c", "action": "clear_cache"}


def test_an_evaluator_that_fails_fails_its_query_alone() -> None:
    class Broken:
        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            raise ArithmeticError("no more numbers")

    answers = served([{"id": 1, "game": "hex", "params": {"size": 3}}, {"id": 2, "action": "version"}], 1, Broken())
    assert {answer["id"]: answer.get("error") for answer in answers} == {1: "no more numbers", 2: None}


def test_the_command() -> None:
    queries = '{"id": 1, "simulations": 9}\nnot json\n{"id": 2, "game": "tictactoe", "simulations": 4}\n'
    command = [sys.executable, "-m", "ramify", "analysis", "hex", "-p", "size=4"]
    done = subprocess.run(command, input=queries, capture_output=True, text=True, timeout=60, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == {1, None, 2}
    assert len(next(answer for answer in answers if answer["id"] == 1)["actions"]) == 16
    assert done.stderr == ""
