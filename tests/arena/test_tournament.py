"""Tournaments: who meets whom, tables that add up, and nothing played twice."""

from __future__ import annotations

import pytest

import ramify as rf
from ramify.arena import (
    Interrupted,
    Limits,
    MatchConfig,
    Memory,
    Openings,
    ParallelSettings,
    Progress,
    Tournament,
    gauntlet,
    reference_pool,
    round_robin,
)
from tests.arena.helpers import DiceConfig

PLAYERS = [DiceConfig(skill=skill) for skill in (0.0, 0.5, 1.0)]


@pytest.fixture(scope="module")
def tictactoe() -> rf.Game:
    return rf.make("tictactoe")


def test_pairings() -> None:
    a, b, c = PLAYERS
    assert round_robin(PLAYERS) == [(a, b), (a, c), (b, c)]
    assert gauntlet(c, [a, b]) == [(c, a), (c, b)]


def test_a_repeated_tournament_plays_nothing(tictactoe: rf.Game) -> None:
    kept, seen = Memory(), []
    plan = Tournament(tictactoe, tuple(round_robin(PLAYERS)), games=10)
    first = plan.run(results=kept, watch=seen.append)
    assert seen[-1] == Progress(30, 30, 0, seen[-1].seconds, seen[-1].last)
    assert [progress.done for progress in seen] == list(range(31))
    again: list[Progress] = []
    assert plan.run(results=kept, watch=again.append) == first
    assert [(progress.done, progress.found) for progress in again] == [(30, 30)]
    assert again[0].seconds_left is None


def test_only_what_is_missing_is_played(tictactoe: rf.Game) -> None:
    kept, seen = Memory(), []
    Tournament(tictactoe, tuple(round_robin(PLAYERS[:2])), games=10).run(results=kept)
    Tournament(tictactoe, tuple(round_robin(PLAYERS)), games=20).run(results=kept, watch=seen.append)
    assert (seen[0].found, seen[-1].done) == (10, 60)
    fresh = Tournament(tictactoe, tuple(round_robin(PLAYERS)), games=20).run()
    assert {game.key: game for game in fresh.games} == kept.games


@pytest.mark.parametrize(
    "other",
    [
        {"config": MatchConfig(seed=1)},
        {"config": MatchConfig(Openings("none"))},
        {"config": MatchConfig(limits=Limits(max_moves=8))},
        {"game": rf.make("hex", size=3)},
        {"game": rf.make("connect_four")},
    ],
)
def test_other_conditions_are_other_games(tictactoe: rf.Game, other: dict[str, object]) -> None:
    pairings = tuple(round_robin(PLAYERS[:2]))
    keys = {fixture.key for fixture in Tournament(tictactoe, pairings, 10).fixtures()}
    others = {
        fixture.key
        for fixture in Tournament(**{"game": tictactoe, "pairings": pairings, "games": 10, **other}).fixtures()
    }
    assert len(keys) == len(others) == 10
    assert not keys & others


def test_parameters_count_by_value() -> None:
    pairings = tuple(round_robin(PLAYERS[:2]))
    keys = [
        [fixture.key for fixture in Tournament(game, pairings, 2).fixtures()]
        for game in (rf.make("hex", size=5), rf.make("hex", swap=False, size=5), rf.make("hex", size=5, swap=True))
    ]
    assert keys[0] == keys[1] != keys[2]


def test_the_crosstable_adds_up(tictactoe: rf.Game) -> None:
    standings = Tournament(tictactoe, tuple(round_robin(PLAYERS)), games=20).run()
    table, ratings = standings.crosstable(), standings.ratings(anchor=PLAYERS[0].identity)
    assert len(table) == 6
    for (player, other), line in table.items():
        back = table[other, player]
        assert (line.wins, line.draws, line.losses) == (back.losses, back.draws, back.wins)
        assert line.games == 20
        own = [game for game in standings.games if {player, other} == set(game.fixture.players)]
        assert line.points == sum(game.points[game.fixture.players.index(player)] for game in own)
    for rating in ratings.table:
        assert rating.points == sum(line.points for (player, _), line in table.items() if player == rating.player)
        assert rating.games == 40
    assert ratings.table[-1].player == PLAYERS[0].identity
    assert not standings.forfeits


def test_one_player_under_two_names_is_refused(tictactoe: rf.Game) -> None:
    same = DiceConfig(skill=0.5, seconds=0.001)
    with pytest.raises(ValueError, match="same player"):
        Tournament(tictactoe, ((PLAYERS[1], same),)).run()


@pytest.mark.parametrize(("name", "params"), [("hex", {"size": 4}), ("goofspiel", {}), ("tictactoe", {})])
def test_reference_players_can_play_the_game(name: str, params: dict[str, int]) -> None:
    game = rf.make(name, **params)
    pool = reference_pool(game)
    assert len({config.identity for config in pool}) == len(pool) >= 3
    standings = Tournament(game, tuple(round_robin(pool[:3])), games=2).run()
    assert not standings.forfeits


def test_ctrl_c_raises_unless_the_standings_so_far_are_asked_for(tictactoe: rf.Game) -> None:
    plan = Tournament(tictactoe, tuple(round_robin(["random", "alphabeta:depth=1"])), games=8)
    results = Memory()

    def interrupt(progress: Progress) -> None:
        if progress.done == progress.found + 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        plan.run(results=results, parallel=ParallelSettings(concurrency=1), watch=interrupt)
    assert len(stopped.value.played) == 2
    standings = plan.run(
        results=results, parallel=ParallelSettings(concurrency=1), watch=interrupt, on_interrupt="return"
    )
    assert not standings.complete
    assert len(standings.games) == 4
    assert plan.run(results=results).complete
