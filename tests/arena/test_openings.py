"""Openings: the same first ones however many are taken, playable, and never a finished game."""

from __future__ import annotations

from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import Opening, Openings


@pytest.mark.parametrize("what", ["none", "random:1", "random:3", "every:1", ["a1 b2", ["c3"]]])
def test_more_openings_extend_fewer(what: str | list[str]) -> None:
    game = rf.make("hex", size=4)
    many = Openings(what).take(game, 30, seed=5)
    assert many[:7] == Openings(what).take(game, 7, seed=5)
    assert not any(opening.play(game)[0].is_over for opening in many)


def test_random_openings_differ_while_they_can_and_depend_on_the_seed() -> None:
    game = rf.make("tictactoe")
    taken = [opening.actions for opening in Openings("random:1").take(game, 25, seed=1)]
    assert len(set(taken[:9])) == 9
    assert len(set(taken)) == 9
    assert taken != [opening.actions for opening in Openings("random:1").take(game, 25, seed=2)]


def test_random_openings_never_end_the_game() -> None:
    """After 5 random turns of tic-tac-toe about one game in eleven is over."""
    game = rf.make("tictactoe")
    for opening in Openings("random:5").take(game, 200, seed=0):
        state, actions = opening.play(game)
        assert not state.is_over
        assert len(actions) == 5
    with pytest.raises(ValueError, match="use fewer"):
        Openings("random:9").take(game, 1, seed=0)


def test_every_opening_of_hex_and_of_a_game_at_once() -> None:
    first = Openings("every:1").take(rf.make("hex", size=3), 12, seed=0)
    assert [opening.actions for opening in first[:3]] == [("a1",), ("b1",), ("c1",)]
    assert len({opening.actions for opening in first}) == 9
    assert first[9].actions == first[0].actions
    both = Openings("every:1").take(rf.make("goofspiel", cards=3), 9, seed=0)
    assert len({opening.actions for opening in both}) == 9
    assert both[1].actions == ("1", "2")


def test_random_starts_are_part_of_an_opening() -> None:
    game = rf.make("pyrat", preset="tiny")
    first, second = Openings("none").take(game, 2, seed=0)
    assert first.play(game)[0].key != second.play(game)[0].key
    assert first.play(game)[0].key == first.play(game)[0].key


def test_an_opening_leads_where_its_actions_lead() -> None:
    game = rf.make("hex", size=5)
    state, actions = Opening(("a1", "#7")).play(game)
    wanted = game.initial_state()
    wanted.apply(0)
    wanted.apply(7)
    assert state.key == wanted.key
    assert actions == [(0,), (7,)]


@pytest.mark.parametrize("what", ["", "random", "random:0", "random:x", "every", "all:2", "none:1", []])
def test_wrong_openings_are_refused(what: str) -> None:
    with pytest.raises(ValueError, match="opening"):
        Openings(what)


@pytest.mark.parametrize(
    ("game", "opening", "words"),
    [("hex", "z9", "z9"), ("tictactoe", "a1 b1 a2 b2 a3 b3", "over"), ("goofspiel", "1", "needs two actions")],
)
def test_openings_that_cannot_be_played_are_refused(game: str, opening: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Openings([opening]).take(rf.make(game), 1, seed=0)


def test_openings_can_be_a_file(tmp_path: Path) -> None:
    from ramify.cli.arena import read_openings

    file = tmp_path / "openings.txt"
    file.write_text("# comment\na1 b2\n\nc3\n")
    assert read_openings(str(file)) == [("a1", "b2"), ("c3",)]


def test_openings_may_be_positions(tmp_path):
    game, fen = rf.make("chess"), "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    openings = Openings([(f"position {fen}",), (f"position {fen}", "e2e4"), "e2e4 e7e5"])
    first, second, third = openings.take(game, 3, 0)
    assert first.play(game)[0].fen == fen
    state, actions = second.play(game)
    assert (state.fen, len(actions)) == ("4k3/8/8/8/4P3/8/8/4K3 b - - 0 1", 1)
    assert second.first_state(game).fen == fen
    assert third.first_state(game).key == game.initial_state().key
    with pytest.raises(ValueError, match="position nothing"):
        Openings([("position nothing",)]).take(game, 1, 0)
