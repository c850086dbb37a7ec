"""PyRat against games played by the reference engine, turn by turn, every field of every state."""

import json
from pathlib import Path

import pytest

import ramify as rf

pytestmark = pytest.mark.core

TRACES = Path(__file__).parents[1] / "golden" / "pyrat_traces.jsonl"
PARTS = ("walls", "mud", "cheese", "p1", "p2", "max_turns")
STATE_FIELDS = ("turn", "p1", "p2", "mud1", "mud2", "score1", "score2", "misses1", "misses2", "cheese")
GAMES = [json.loads(line) for line in TRACES.read_text().splitlines()]


def edges(entries):
    return sorted([*sorted(entry[:2]), *entry[2:]] for entry in entries)


def check_state(state, wanted, context):
    fields = state.fields
    for name in STATE_FIELDS:
        assert fields[name] == wanted[name], (context, name)
    assert state.is_over == wanted["over"], context
    assert state.eff1 == wanted["eff1"], context
    assert state.eff2 == wanted["eff2"], context
    for player, name in enumerate(("eff1", "eff2")):
        actions, index = state.outcomes(player)
        if state.is_over:
            assert actions.size == 0, context
            assert (index == -1).all(), context
        else:
            assert list(actions) == sorted(set(wanted[name])), context
            assert [actions[i] for i in index] == wanted[name], context


def check_turn(before, rewards, after, wanted, context):
    """What happened in one turn, derived from the two states."""
    for player in ("1", "2"):
        assert (before[f"p{player}"] != after[f"p{player}"]) == wanted[f"moved{player}"], context
    taken = [cell for cell in before["cheese"] if cell not in after["cheese"]]
    assert sorted(taken) == sorted(wanted["collected"]), context
    assert rewards.tolist() == [after[score] - before[score] for score in ("score1", "score2")], context


def test_there_are_as_many_games_as_were_recorded():
    assert len(GAMES) == 134
    assert sum(len(game["actions"]) for game in GAMES) == 2995
    assert {game["end"] for game in GAMES} == {"majority", "no_cheese", "max_turns", "not_over"}


@pytest.mark.parametrize("trace", GAMES, ids=lambda trace: str(trace["id"]))
def test_trace(trace):
    game = rf.make("pyrat", width=trace["width"], height=trace["height"])
    state = game.state(**{part: trace[part] for part in PARTS})
    assert edges(state.walls) == edges(trace["walls"])
    assert edges(state.mud) == edges(trace["mud"])
    assert (state.max_turns, state.total) == (trace["max_turns"], len(trace["cheese"]))
    check_state(state, trace["states"][0], (trace["id"], 0))
    for turn, (actions, wanted) in enumerate(zip(trace["actions"], trace["states"][1:], strict=True), start=1):
        before = state.fields
        rewards = state.apply(*actions)
        check_state(state, wanted, (trace["id"], turn))
        check_turn(before, rewards, state.fields, wanted, (trace["id"], turn))
    assert state.end == (None if trace["end"] == "not_over" else trace["end"])
    assert state.returns.tolist() == [state.score1, state.score2]
