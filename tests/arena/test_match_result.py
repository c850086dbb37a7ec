"""What a match says about its players: counts, score, Elo and intervals, and a line that reads well."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import ramify as rf
from ramify.arena import Fixture, MatchResult, Memory, Opening, Played, Standings, match, player_config, read_player
from ramify.arena.ratings import elo_text
from tests.arena import helpers

WEAK, STRONG = helpers.DiceConfig(skill=0.0), helpers.DiceConfig(skill=0.9)


def made_up(points: list[float | None]) -> MatchResult:
    """A match in which the first player made these points; None: it forfeited the game."""
    pair, games = (STRONG, WEAK), []
    for number, own in enumerate(points):
        seat = number % 2
        identities = (pair[seat].identity, pair[1 - seat].identity)
        fixture = Fixture("tictactoe", {}, identities, Opening((), None), number // 2)
        winner = {1.0: seat, 0.5: None, 0.0: 1 - seat, None: 1 - seat}[own]
        games.append(Played(fixture, (), (0.0, 0.0), winner, "forfeit" if own is None else "end"))
    return MatchResult(pair, tuple(games))


def test_a_match_is_a_sequence_of_games_with_a_summary() -> None:
    result = match(rf.make("tictactoe"), STRONG, WEAK, 40)
    points = [game.points[game.fixture.players.index(STRONG.identity)] for game in result]
    assert len(result) == len(points) == 40
    assert result[0] is result.games[0]
    assert result[-2:] == list(result.games[-2:])
    assert (result.wins, result.draws, result.losses) == tuple(points.count(kind) for kind in (1.0, 0.5, 0.0))
    assert result.score == sum(points) / 40
    assert result == list(result.games)
    assert result != list(result.games)[1:]
    low, high = result.interval
    assert 0 <= low < result.score < high <= 1


def test_elo_is_that_of_the_rating_list() -> None:
    result = match(rf.make("tictactoe"), STRONG, WEAK, 40)
    listed = Standings(result.players, result.games).ratings(anchor=WEAK.identity)[STRONG.identity]
    assert result.elo == pytest.approx(listed.elo)
    assert result.elo_interval == pytest.approx((listed.low, listed.high))


def test_the_line_says_it_all() -> None:
    result = made_up([1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.0, 0.5])
    assert str(result) == result.summary()
    assert str(result).startswith("test_dice:skill=0.9 vs. test_dice: 5 wins, 2 draws, 1 loss, score 75.0 % (95 %: ")
    assert str(result).count("Elo") == 1
    assert str(result) in repr(result)
    named = replace(result, players=(STRONG.replace(name="strong"), WEAK.replace(name="weak")))
    assert str(named).startswith("strong vs. weak: 5 wins")


def test_the_other_way_round_everything_is_reversed() -> None:
    result = made_up([1.0, 0.5, 1.0, 0.0, 1.0, 1.0])
    other = made_up([0.0, 0.5, 0.0, 1.0, 0.0, 0.0])
    assert other.score == pytest.approx(1 - result.score)
    assert other.interval == pytest.approx(tuple(1 - limit for limit in reversed(result.interval)))
    assert other.elo == pytest.approx(-result.elo)


def test_a_player_against_itself_and_nothing_but_wins() -> None:
    itself = match(rf.make("tictactoe"), WEAK, WEAK, 20)
    assert itself.wins + itself.draws + itself.losses == 20
    assert math.isfinite(itself.elo)
    won = made_up([1.0] * 100)
    assert won.interval[0] == pytest.approx(0.96, abs=0.01)  # Wilson's limit for 100 games is 0.963
    assert won.interval[1] == 1.0


def test_forfeits_are_not_counted() -> None:
    result = made_up([1.0, 0.0, 1.0, None])
    assert (result.wins, result.draws, result.losses, result.forfeits) == (2, 0, 1, 1)
    assert result.score == pytest.approx(2 / 3)
    assert str(result).endswith(", 1 forfeited game not counted")
    nothing = made_up([None, None])
    assert math.isnan(nothing.score)
    assert nothing.interval == (0.0, 1.0)
    assert "2 forfeited games" in str(nothing)


@pytest.mark.parametrize(("strength", "openings", "drawn"), [(0.0, 0.0, 0.0), (0.0, 1.5, 0.0), (1.0, 1.0, 0.3)])
def test_the_interval_contains_the_truth_as_often_as_it_says(strength: float, openings: float, drawn: float) -> None:
    """Also where openings favour a side, so that games of a pair depend on each other, and where many are drawn."""
    rng = np.random.default_rng(7)

    def chance(x):
        return (1 - drawn) / (1 + np.exp(-x)) + drawn / 2

    favour = rng.normal(0, openings, 100_000)
    truth = float(np.mean(chance(strength + favour) + chance(strength - favour)) / 2)
    hits, runs, pairs = 0, 400, 30
    for _ in range(runs):
        favour = rng.normal(0, openings, pairs)
        x = np.stack([strength + favour, strength - favour], axis=1).ravel()
        decided = (rng.random(2 * pairs) < 1 / (1 + np.exp(-x))).astype(float)
        points = np.where(rng.random(2 * pairs) < drawn, 0.5, decided)
        low, high = made_up(points.tolist()).interval
        hits += low <= truth <= high
    assert 0.92 <= hits / runs <= 0.99


def test_a_name_is_a_label_and_not_part_of_the_identity() -> None:
    named, plain = read_player("search:name=strong,simulations=700"), read_player("search:simulations=700")
    assert named.name == "strong"
    assert named.identity == plain.identity
    assert named.label == plain.label == "search:simulations=700"
    assert named.replace(simulations=5).name == "strong"
    assert player_config("random", name="a monkey").name == "a monkey"
    kept = Memory()
    game = rf.make("tictactoe")
    match(game, STRONG, WEAK, 4, results=kept)
    assert len(match(game, STRONG.replace(name="new name"), WEAK, 4, results=kept)) == len(kept.games) == 4


@pytest.mark.parametrize("name", ["", "a,b", "a=b", "two\nlines", "x" * 41])
def test_a_name_that_tables_or_texts_cannot_have(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 40 characters"):
        player_config("random", name=name)


COMMON = "simulations=200,c_puct=1.5,temperature_moves=8"
CHECKPOINT = "search:network=/home/me/runs/hex-5/checkpoints/{}/network.safetensors"
LONG = [f"search:network=runs/a/net.safetensors,{COMMON}", f"search:network=runs/b/net.safetensors,{COMMON}"]


@pytest.mark.parametrize(
    ("labels", "names", "shown"),
    [
        (["random", "alphabeta:depth=3"], None, ["random", "alphabeta:depth=3"]),
        (["search:simulations=50", "search"], None, ["rollout @50", "rollout @800"]),
        (["search:network=hex-7,simulations=50", "network:network=hex-7"], None, ["hex-7 @50", "hex-7 policy"]),
        (["search:network=hex-7", "search:network=hex-7,c_puct=2.0"], None, ["hex-7 @800", "hex-7 @800 c_puct=2.0"]),
        (["search:evaluator=uniform", "search"], None, ["uniform @800", "rollout @800"]),
        ([CHECKPOINT.format(3), CHECKPOINT.format(12)], None, ["hex-5/3 @800", "hex-5/12 @800"]),
        (
            [CHECKPOINT.format(3), CHECKPOINT.format(3).replace("runs", "old")],
            None,
            [f"{x}/hex-5/3 @800" for x in ("runs", "old")],
        ),
        (LONG, None, ["a/net @200", "b/net @200"]),
        ([LONG[0], LONG[1].replace("b/net", "b/old")], None, ["net @200", "old @200"]),
        ([LONG[0], "random"], None, ["net @200", "random"]),
        ([LONG[0], LONG[0] + ",solver=true"], None, ["net @200", "net @200 solver=true"]),
        (LONG, ["new", None], ["new", "net @200"]),
        ([LONG[0], LONG[0]], None, ["net @200", "net @200"]),
        (["uci:command=/opt/engines/bin/stockfish -x,depth=5", "random"], None, ["uci:command=stockfish -x", "random"]),
    ],
)
def test_tables_tell_players_apart_in_few_words(labels: list[str], names, shown: list[str]) -> None:
    assert rf.arena.short_names(labels, names) == shown


def test_elo_is_shown_with_a_sign_except_for_zero() -> None:
    assert [elo_text(elo) for elo in (-0.4, 0.0, 0.4, 12.6, -7.0)] == ["0", "0", "0", "+13", "-7"]
    assert [elo_text(elo, 1) for elo in (-0.04, -0.06)] == ["0.0", "-0.1"]


def test_few_games_are_called_few() -> None:
    few, enough = (str(made_up([1.0, 0.0] * pairs)) for pairs in (2, 20))
    assert few.startswith(enough.partition(":")[0])
    assert "too few games" in few
    assert "too few games" not in enough
    assert "Elo 0 (95 %: -" in enough
