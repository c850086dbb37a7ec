"""What results of learned models show where the model goes on and the rules do not."""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine import LatentOutput
from ramify.presentation.described import describe

SETTINGS = {"simulations": 200, "c_puct": 2.0}


class Ignorant:
    """A learned model that knows nothing: every action is as good as any other, for ever."""

    def __init__(self, game: Any, acting: str) -> None:
        self.num_actions, self.acting = game.num_actions, acting

    def initial(self, observations: Any) -> LatentOutput:
        return self._output(len(observations), None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        return self._output(len(actions), np.zeros((len(actions), 2), np.float32))

    def _output(self, rows: int, rewards: Any) -> LatentOutput:
        logits = np.zeros((rows, 2, self.num_actions), np.float32)
        return LatentOutput(np.zeros((rows, 1), np.float32), logits, np.zeros((rows, 2), np.float32), rewards)


def in_turn() -> tuple[rf.State, Any]:
    """Tic-tac-toe with three empty cells: c2 and c3 win for x, b3 does not."""
    game = rf.make("tictactoe")
    state = game.initial_state()
    for action in (0, 1, 4, 2, 3, 6):
        state.apply(action)
    return state, Ignorant(game, "alternating")


def at_once() -> tuple[rf.State, Any]:
    game = rf.make("goofspiel", cards=3)
    return game.initial_state(), Ignorant(game, "both")


def searched(state: rf.State, model: Any) -> rf.SearchResult:
    return rf.Searcher(model, config=rf.SearchConfig(**SETTINGS)).run(state)


@pytest.mark.parametrize("position", [in_turn, at_once])
def test_lines_end_where_the_rules_do(position: Any) -> None:
    state, model = position()
    result = searched(state, model)
    players = describe(state, result, None)["players"]
    lines = [row["continuation"] for player in players for row in player["actions"]]
    lines += [describe(state, result, None)["principal_variation"]]
    for line in lines:
        walk = state.copy()
        for turn in line:
            walk.apply(*(walk.action(name, player) for name, player in zip(turn.split("/"), walk.acting, strict=True)))
        assert line, "every action was tried, and is legal"
    assert "continuation" in str(result)
    assert "<table>" in result._repr_html_()


@pytest.mark.parametrize("position", [in_turn, at_once])
def test_trees_show_and_name_what_only_the_model_does(position: Any) -> None:
    state, model = position()
    result = searched(state, model)
    lines = result.tree(depth=2, width=50).splitlines()[1:]
    first, marked = state, 0
    for line in lines:
        names = re.match(r" *(\S+(?: / \S+)?)  visits", line)
        assert names is not None
        words = names[1].split(" / ")
        if not line.startswith(" "):
            first = state.after(*(state.action(word, player) for word, player in zip(words, state.acting, strict=True)))
            assert "illegal" not in line
            continue
        legal = len(first.acting) == len(words) and all(
            word in [first.action_name(int(action), player) for action in first.legal_actions(player)]
            for word, player in zip(words, first.acting, strict=True)
        )
        assert line.endswith("  illegal by the rules") != legal
        marked += not legal
    assert marked > 0
    pictures = [node["picture"] for node in result.explore(depth=2, width=50).nodes]
    assert sum("there is no such position" in picture for picture in pictures) == marked
    assert all(re.match("<svg|<p>A state of the learned model", picture) for picture in pictures)


def test_nodes_that_only_the_model_has_are_found_by_numbers() -> None:
    state, model = in_turn()
    result = searched(state, model)
    for path in ([8], [7, 7], [8, 0, 0]):  # the end; a cell twice; after the end
        report = result.node(path)
        assert (report["ready"], len(report["outcomes"][len(path) % 2])) == (True, 9)
    assert result.node([7, 7])["visits"] == result.node([(7, -1), (-1, 7)])["visits"] > 0
    with pytest.raises(rf.IllegalAction, match="names no legal action"):
        result.node([7, "a1"])
    state, model = at_once()
    result = searched(state, model)
    assert result.node([("3", "3"), (2, 2)])["visits"] == result.node([(2, 2), (2, 2)])["visits"] > 0


def test_debug_logs_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    state, model = in_turn()
    config = rf.SearchConfig(simulations=60)
    plain = rf.Searcher(model, config=config).run(state)
    with caplog.at_level(logging.DEBUG, "ramify"):
        traced = rf.Searcher(model, config=config).run(state)
    assert traced.visits.tolist() == plain.visits.tolist()
    assert sum("path" in message for message in caplog.messages) == 60
