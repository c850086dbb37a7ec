"""Games in the store: killed tournaments go on, several writers share one file, nothing is played twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import Limits, MatchConfig, Memory, Openings, Progress, Tournament, match, round_robin
from tests.arena.helpers import BrokenConfig, DiceConfig

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from ramify.store import Store
from tests.arena import killed_tournament
from tests.store.helpers import saved

ROOT = Path(__file__).resolve().parent.parent.parent


def start(path: Path, log: Path, workers: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.arena.killed_tournament", str(path), str(log), str(workers)]
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True)


def children(pid: int) -> set[int]:
    """Processes below this one."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.add(int(folder.name))
            except OSError:
                continue
    return found


def gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_at_random_points_and_resumed_it_is_the_unbroken_tournament(tmp_path: Path, workers: int) -> None:
    unbroken = killed_tournament.plan().run()
    path, log, rng = tmp_path / "games.db", tmp_path / "log", random.Random(workers)
    counts, kills = [0], 0
    while kills < 3:
        process = start(path, log, workers)
        wanted = counts[-1] + rng.randint(2, 14)
        while process.poll() is None and saved(path) < wanted:
            time.sleep(0.02)
        time.sleep(rng.random() * 0.02)
        below = children(process.pid)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        counts.append(saved(path))
        deadline = time.monotonic() + 20
        while not all(gone(pid) for pid in below):  # workers end themselves: nobody is left to do it
            assert time.monotonic() < deadline
            time.sleep(0.02)
        if counts[-1] == 60:
            break
    assert kills >= 1
    assert counts == sorted(counts)
    seen: list[Progress] = []
    with Store(path) as store:
        before = {game.key: game for game in store.games()}
        resumed = killed_tournament.plan().run(results=store.results(), watch=seen.append)
        assert seen[0].found == counts[-1]
        assert resumed == unbroken
        assert {game.key: game for game in store.games()}.items() >= before.items()
        anchor = resumed.players[0].identity
        assert resumed.ratings(anchor=anchor).table == unbroken.ratings(anchor=anchor).table
    lines = log.stat().st_size
    finished = start(path, log, workers)
    assert finished.wait() == 0
    assert log.stat().st_size == lines  # nobody was asked for a single turn


@pytest.mark.slow
def test_four_processes_write_one_tournament(tmp_path: Path) -> None:
    """They start together on a file that is not there yet."""
    path, log = tmp_path / "games.db", tmp_path / "log"
    processes = [start(path, log, 0) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    unbroken = killed_tournament.plan().run()
    with Store(path) as store:
        assert sorted(store.games(), key=lambda game: game.key) == sorted(unbroken.games, key=lambda game: game.key)
        assert len(store.players()) == 3


@pytest.mark.parametrize(
    ("name", "params"),
    [("hex", {"size": 3}), ("goofspiel", {"cards": 6}), ("pyrat", {"preset": "tiny", "max_turns": 5})],
)
def test_a_game_comes_back_as_it_was(place: str, name: str, params: dict[str, object]) -> None:
    game, kept = rf.make(name, **params), Memory()
    players = [DiceConfig(), BrokenConfig(ply=2)]
    config = MatchConfig(Openings("random:1"), seed=2**40, limits=Limits(max_moves=4))
    games = match(game, players[0], players[1], 12, config=config, results=kept)
    assert {played.reason for played in games} >= {"forfeit"}
    with Store(place) as store:
        results = store.results()
        results.meet(players)
        for played in games:
            results.add(played)
            results.add(played)
    with Store(place) as store:
        results = store.results(forfeits=True)
        assert results.find([played.key for played in games]) == {played.key: played for played in games}
        assert results.find(["nothing"]) == {}
        back = store.games(name, games[0].fixture.params, forfeits=True)
        assert back == games
        assert [played.key for played in back] == [played.key for played in games]
        assert [played.seconds for played in back] == [played.seconds for played in games]
        assert store.games("chess") == store.games(name, {}) == []
        ended = [played for played in games if not played.forfeited]
        assert store.games(name) == ended
        assert store.kinds_of_games() == [(name, dict(games[0].fixture.params), len(ended))]
        stored = store.players()[players[1].identity]
        assert (stored.kind, stored.label, stored.content) == ("test_broken", players[1].label, players[1].content())
        assert stored.versions == players[1].versions()


def test_a_game_of_nobody_is_refused(place: str) -> None:
    """Foreign keys are on: a game needs players that the store has met."""
    from sqlalchemy.exc import IntegrityError

    played = match(rf.make("tictactoe"), DiceConfig(), DiceConfig(skill=1), 2)[0]
    with Store(place) as store, pytest.raises(IntegrityError, match=r"(?i)foreign key"):
        store.results().add(played)


def test_many_keys_at_once(place: str) -> None:
    game = rf.make("tictactoe")
    plan = Tournament(game, tuple(round_robin([DiceConfig(), DiceConfig(skill=1)])), games=600)
    with Store(place) as store:
        standings = plan.run(results=store.results())
        assert plan.run(results=store.results()) == standings
