"""Many processes with one store: no game is lost, none is there twice, ratings are those of a single writer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import ramify as rf
from ramify.arena import Played, Progress, Standings, Tournament, round_robin

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from sqlalchemy import func, select

from ramify.store import Store
from ramify.store.tables import ClaimRow, GameRow
from tests.arena.helpers import DiceConfig
from tests.children import forking_context
from tests.store.server import Server

PATIENCE = 600  # seconds


def plan(games: int, seconds: float = 0.0) -> Tournament:
    players = [DiceConfig(skill=skill, seconds=seconds) for skill in (0.0, 0.3, 0.6, 0.9)]
    return Tournament(rf.make("tictactoe"), tuple(round_robin(players)), games=games)


def run_at_once(target: Any, count: int, *arguments: Any) -> list[Any]:
    """What this many processes answer that begin together."""
    context = forking_context()
    barrier, pipes = context.Barrier(count), [context.Pipe() for _ in range(count)]
    processes = [
        context.Process(target=target, args=(barrier, pipes[number][1], number, count, *arguments))
        for number in range(count)
    ]
    try:
        for process in processes:
            process.start()
        answers = []
        for pipe, _ in pipes:
            assert pipe.poll(PATIENCE)
            answers.append(pipe.recv())
        for process in processes:
            process.join(PATIENCE)
        return answers
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()


def write(barrier: Any, pipe: Any, number: int, count: int, places: list[str], games: list[Played]) -> None:
    """Write a share of the games, and some that others write too, in an order of one's own, to every store."""
    tournament = plan(2)
    chosen = [game for place, game in enumerate(games) if place % count == number or place % 7 == 0]
    random.Random(number).shuffle(chosen)
    barrier.wait(PATIENCE)
    stores = [Store(place) for place in places]
    results = [store.results() for store in stores]
    for one in results:
        one.meet(tournament.players)
    for game in chosen:
        for one in results:
            one.add(game)
    for store in stores:
        store.close()  # raises if a game could not be written
    pipe.send(len(chosen))


def play(barrier: Any, pipe: Any, number: int, count: int, place: str, tournament: Tournament) -> None:
    """Play the tournament; answers how many games were played here, and how it ended."""
    seen: list[Progress] = []
    barrier.wait(PATIENCE)
    with Store(place) as store:
        standings = tournament.run(results=store.results(), watch=seen.append)
    pipe.send((seen[-1].done - seen[-1].found, standings.games))


def check(place: str, wanted: list[Played], single: Standings) -> None:
    """The store has these games, each of them once, and rates as a single writer does."""
    with Store(place) as store:
        found = store.games(forfeits=True)
        assert len(found) == len(wanted)
        assert {game.key: game for game in found} == {game.key: game for game in wanted}
        with store._database.reading() as session:
            assert session.scalar(select(func.count(GameRow.key.distinct()))) == len(wanted)
            assert session.scalar(select(func.count()).select_from(ClaimRow)) == 0
        assert len(store.players()) == len(single.players)
        anchor = single.players[0].identity
        mine, theirs = (standings.ratings(anchor=anchor) for standings in (Standings((), tuple(found)), single))
        assert [row.player for row in mine.table] == [row.player for row in theirs.table]
        for one, other in zip(mine.table, theirs.table, strict=True):
            assert one.elo == pytest.approx(other.elo, abs=1e-6)
            assert (one.games, one.points) == (other.games, other.points)
        assert Standings((), tuple(found)).crosstable() == single.crosstable()


def test_four_processes_write(place: str) -> None:
    single = plan(8).run()
    run_at_once(write, 4, [place], list(single.games))
    check(place, list(single.games), single)


def test_four_processes_share_a_tournament(place: str) -> None:
    unbroken = plan(8).run()
    answers = run_at_once(play, 4, place, plan(8, seconds=0.001))
    assert sum(number for number, _ in answers) == len(unbroken.games)  # nothing was played twice
    assert all(games == unbroken.games for _, games in answers)
    check(place, list(unbroken.games), unbroken)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["sqlite", "both"])
def test_fifty_processes_write_to_all_stores_at_once(
    tmp_path: Path, request: pytest.FixtureRequest, kinds: str
) -> None:
    places = [str(tmp_path / "x.db")]
    if kinds == "both":
        server: Server = request.getfixturevalue("postgres")
        places.append(server.new_place())
    single = plan(60).run()
    run_at_once(write, 50, places, list(single.games))
    for place in places:
        check(place, list(single.games), single)


@pytest.mark.slow
def test_fifty_processes_share_a_tournament(place: str) -> None:
    unbroken = plan(60).run()
    answers = run_at_once(play, 50, place, plan(60, seconds=0.002))
    assert sum(number for number, _ in answers) == len(unbroken.games)
    assert all(games == unbroken.games for _, games in answers)
    check(place, list(unbroken.games), unbroken)
