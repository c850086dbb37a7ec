"""Elo means points to expect wherever it is used: in lists, in standings of games, and by the test of a gate."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from ramify.arena import Fixture, Opening, Played, SprtConfig, Standings, gate, rate
from ramify.arena.gating import decide
from ramify.arena.played import Winner


def played(first: str, second: str, points: float, pair: int = 0) -> Played:
    """A finished game, by what the first player got."""
    winners: dict[float, Winner] = {1.0: 0, 0.5: None, 0.0: 1}
    fixture = Fixture("tictactoe", {}, (first, second), Opening(), pair)
    return Played(fixture, (), (2 * points - 1, 1 - 2 * points), winners[points])


def test_sixty_two_percent_is_85_whatever_the_draws() -> None:
    wanted = 400 * math.log10(0.62 / 0.38)
    drawn = rate({("a", "b"): (24, 76, 0), ("b", "a"): (0, 76, 24)}, anchor="b")
    assert drawn["a"].elo == pytest.approx(wanted, abs=0.5)
    decided = rate({("a", "b"): (62, 0, 38), ("b", "a"): (38, 0, 62)}, anchor="b")
    assert decided["a"].elo == pytest.approx(wanted, abs=0.5)
    assert decided["a"].high - decided["a"].low > 2 * (drawn["a"].high - drawn["a"].low)


def test_standings_know_their_pairs() -> None:
    """Games that openings decide say that players are equal, and surely so; the same wins in swept pairs do not."""
    split = [game for pair in range(40) for game in (played("a", "b", 1.0, pair), played("b", "a", 1.0, pair))]
    swept = [
        game
        for pair in range(40)
        for game in (played("a", "b", float(pair % 2), pair), played("b", "a", 1.0 - pair % 2, pair))
    ]
    widths = []
    for games in (split, swept):
        rating = Standings((), tuple(games)).ratings(anchor="b")["a"]
        assert rating.elo == pytest.approx(0, abs=1e-6)
        widths.append(rating.high - rating.low)
    assert widths[0] < widths[1] / 4
    alone = Standings((), tuple(game for game in swept if game.fixture.players == ("a", "b"))).ratings(anchor="b")
    assert alone["a"].high - alone["a"].low == pytest.approx(
        widths[1], rel=0.05
    )  # a second game like the first adds none


def test_those_who_never_met_are_not_compared() -> None:
    ratings = rate({("a", "b"): (7, 0, 3), ("c", "d"): (9, 0, 1)}, anchor="b")
    with pytest.raises(ValueError, match="a and c cannot be compared"):
        ratings.difference("a", "c")


def test_gates_by_default_come_to_a_verdict() -> None:
    """Forty gates, candidate and champion equal, no draws: more than half used to end undecided."""
    rng, length = np.random.default_rng(5), inspect.signature(gate).parameters["max_games"].default
    as_first = {points: played("new", "old", points) for points in (0.0, 1.0)}
    as_second = {points: played("old", "new", points) for points in (0.0, 1.0)}
    undecided = 0
    for _ in range(40):
        drawn = rng.integers(0, 2, length).astype(float)
        games = [(as_second if place % 2 else as_first)[points] for place, points in enumerate(drawn)]
        undecided += decide(games, "new", SprtConfig()).verdict is None
    assert undecided <= 4
