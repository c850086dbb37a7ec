"""A folder of games and the processes that come and go: one at a time, and nothing is lost, doubled or replaced."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ramify as rf
from ramify.base.files import InUse, locked, write_new
from ramify.selfplay import SelfPlay, decode, records, recover, run
from ramify.selfplay import journal as journals
from ramify.selfplay.journal import LOCK, Journal, held
from ramify.selfplay.records import next_shard, numbers_in, pack_shard, place_shard, read_numbers, shards, write_shard
from ramify.selfplay.run import first_game, games_to_play

WORDS = ["selfplay", "tictactoe", "games", "--evaluator", "uniform", "--simulations", "8", "--seed", "3"]
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have had it ignored
from ramify.cli import main
main(sys.argv[1:])
"""


def player(games: int, **more: Any) -> SelfPlay:
    search = rf.SearchConfig(simulations=8)
    return SelfPlay(
        rf.make("tictactoe"), rf.evaluators.Uniform(), search, games=games, parallel_games=4, **{"seed": 3, **more}
    )


def games_in(folder: Path) -> dict[int, bytes]:
    """The record of every game in a folder, by its number; none is there twice."""
    listed = [record for path in shards(folder) for record in records._unpack(*records._open_shard(path)[1:])]
    found = {decode(record).number: record for record in listed}
    assert len(found) == len(listed)
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command in tmp_path, and go on when it has written a shard or two."""
    with_process: list[subprocess.Popen[str]] = []

    def call(*words: str, before: int = 0) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with_process.append(process)
        while len(shards(tmp_path / "games")) < before + 2 and process.poll() is None:
            time.sleep(0.01)
        return process

    yield call
    for process in with_process:
        process.kill()
        process.communicate()


ENDLESS = [*WORDS, "--games", "10000000", "--games-per-shard", "8", "--parallel-games", "64"]


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path, start: Any, run: Any) -> None:
    process = start(*ENDLESS)
    code, out, err = run(*WORDS, "--games", "3")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"process {process.pid} is already playing games into games: wait for it" in err
    process.kill()
    process.wait()
    code, _, err = run(*WORDS, "--games", "3")
    assert code == 0
    numbers = [number for path in shards(tmp_path / "games") for number, _ in read_numbers(path)]
    assert len(numbers) == len(set(numbers)) >= 19
    assert not list((tmp_path / "games").glob(".*"))


def test_one_process_does_not_play_twice_into_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ramify.selfplay.run"], "WAIT_SECONDS", 0.0)  # not the function
    with (
        held(tmp_path),
        pytest.raises(InUse, match=rf"^process {os.getpid()} is already playing games into {tmp_path}"),
    ):
        run(player(1), tmp_path)
    run(player(1), tmp_path)


def no_locks(*_: Any) -> None:
    raise OSError(errno.ENOTSUP, "Operation not supported")


def no_links(*_: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_without_locks_no_shard_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)

    def meanwhile() -> str:
        if not shards(tmp_path):
            run(player(4, first=100), tmp_path)
        return "abc"

    run(player(4), tmp_path, network=meanwhile)
    assert sorted(games_in(tmp_path)) == [0, 1, 2, 3, 100, 101, 102, 103]


@pytest.mark.parametrize("links", [True, False])
def test_many_write_at_once(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    listed = [data for found in player(40) for data in found]
    with ThreadPoolExecutor(8) as executor:
        list(executor.map(lambda data: place_shard(next_shard(tmp_path), pack_shard([data], {})), listed))
    assert sorted(games_in(tmp_path)) == list(range(40))
    assert len(list(tmp_path.iterdir())) == 40


@pytest.mark.parametrize("links", [True, False])
def test_a_file_is_not_replaced(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    write_shard(tmp_path / "000000.games", [], {"seed": 1})
    before = (tmp_path / "000000.games").read_bytes()
    with pytest.raises(FileExistsError):
        write_shard(tmp_path / "000000.games", [], {"seed": 2})
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "000000.games", b"")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("000000.games", before)]
    place_shard(tmp_path / "000000.games", before)  # as after Ctrl-C that came just then
    assert len(shards(tmp_path)) == 1


def left_journal(folder: Path, games: int = 7) -> list[bytes]:
    listed = [data for found in player(games) for data in found]
    journal = Journal(folder, {"game": "tictactoe", "params": {}})
    journal.add(listed)
    journal.leave()
    return listed


def test_recovering_at_once_doubles_nothing(tmp_path: Path) -> None:
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        left_journal(folder, 40)
        barrier = threading.Barrier(4)

        def work(_: int, folder: Path = folder, barrier: threading.Barrier = barrier) -> int:
            barrier.wait()
            return recover(folder)

        with ThreadPoolExecutor(4) as executor:
            assert sorted(executor.map(work, range(4))) == [0, 0, 0, 40]
        assert sorted(games_in(folder)) == list(range(40))


def test_a_journal_whose_process_id_is_anothers_is_recovered(tmp_path: Path) -> None:
    left_journal(tmp_path)
    [path] = tmp_path.glob(".journal-*")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        path.rename(tmp_path / f".journal-{other.pid}")
        try:
            assert recover(tmp_path) == 7
        finally:
            other.kill()
    assert [path.name for path in tmp_path.iterdir()] == ["000000.games"]


def test_without_locks_a_living_process_keeps_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)
    left_journal(tmp_path)
    [path] = tmp_path.glob(".journal-*")
    path.rename(tmp_path / f".journal-{os.getppid()}")
    (tmp_path / ".000000.games.0123abcd").touch()
    assert recover(tmp_path) == 0
    assert len(list(tmp_path.glob(".*"))) == 2
    os.utime(tmp_path / ".000000.games.0123abcd", (0, 0))
    (tmp_path / f".journal-{os.getppid()}").rename(tmp_path / f".journal-{os.getpid()}")
    assert recover(tmp_path) == 7
    assert not list(tmp_path.glob(".*"))


def test_games_of_another_seed_are_other_games(tmp_path: Path) -> None:
    run(player(7, seed=4), tmp_path)
    left_journal(tmp_path)
    assert recover(tmp_path) == 7


def test_what_was_being_written_is_cleared_away(tmp_path: Path) -> None:
    ours = (".000003.games.0123abcd", ".000003.games.claim", ".next.journal-7-0123abcd", LOCK)
    others = (".000003.games.backup", ".notes", ".journal-notes", ".journal-2024", "readme.0123abcd")
    for name in (*ours, *others):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".journal-8").touch()
    run(player(1), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(("000000.games", *others))


def test_nothing_is_written_where_nothing_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may only be read can be looked through."""
    run(player(1), tmp_path)
    monkeypatch.setattr(journals, "locked", no_locks)
    assert recover(tmp_path) == 0


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_becomes_what_it_would_have_been(tmp_path: Path, start: Any, run: Any, sign: Any) -> None:
    """Ended twice or more and resumed: the same games as an uninterrupted run, those in flight included."""
    for ended in range(1, 20):
        before = len(shards(tmp_path / "games"))
        process = start(*ENDLESS, before=before)
        process.send_signal(sign)
        _, err = process.communicate(timeout=60)
        assert process.returncode == (130 if sign == signal.SIGINT else -sign)
        if sign == signal.SIGINT:
            assert err.startswith("ramify: stopped. ")
            assert "ramify selfplay tictactoe games " in err  # the command that plays the rest
            assert not list((tmp_path / "games").glob(".*"))
        if ended == 1:
            continue
        recover(tmp_path / "games")
        gaps, first = games_to_play(tmp_path / "games", 10**6)
        if gaps:  # by chance, every game before the last one may have ended
            break
    there = games_in(tmp_path / "games")
    assert first == max(there) + 1
    assert len(gaps) + len(there) == first
    assert gaps
    code, _, _ = run(*WORDS, "--games", str(len(gaps) + 5))
    assert code == 0
    expected = {decode(data).number: data for found in player(first + 5) for data in found}
    assert games_in(tmp_path / "games") == expected


def test_so_many_games_as_asked_for_and_no_more(tmp_path: Path, run: Any) -> None:
    listed = [data for found in player(9) for data in found]
    write_shard(tmp_path / "games" / "000000.games", [r for r in listed if decode(r).number not in (2, 3, 5)], {})
    for games, numbers in ((2, {2, 3}), (3, {5, 9, 10})):
        before = set(games_in(tmp_path / "games"))
        assert run(*WORDS, "--games", str(games))[0] == 0
        assert set(games_in(tmp_path / "games")) - before == numbers


def test_numbers_that_cannot_be_are_named() -> None:
    with pytest.raises(ValueError, match="unfinished must be an integer of at least 0, not -1"):
        player(2, unfinished=[-1])


def test_the_player_of_a_killed_trainer_is_waited_for(tmp_path: Path, start: Any) -> None:
    process = start(*ENDLESS)
    timer = threading.Timer(0.3, process.kill)
    timer.start()
    try:
        first = first_game(tmp_path / "games")
    finally:
        timer.join()
    assert process.wait() == -signal.SIGKILL
    assert first == max(number for number, _ in numbers_in(tmp_path / "games")) + 1
    assert not list((tmp_path / "games").glob(".*"))


FULL = COMMAND.replace("main(sys", "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)); main(sys")


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    command = [sys.executable, "-c", FULL, *WORDS, "--games", "300"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (2, "ramify: cannot write games to games: file too large\n")
    assert recover(tmp_path / "games") > 0  # what there was room for
    assert not list((tmp_path / "games").glob(".*"))


def test_folders_that_cannot_be_written_to(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "games").write_text("a file")
    assert run(*WORDS)[::2] == (2, "ramify: cannot use games for self-play games: file exists\n")
    (tmp_path / "games").unlink()

    def read_only(*_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(journals, "locked", read_only)
    assert run(*WORDS)[::2] == (2, "ramify: cannot use games for self-play games: read-only file system\n")


def test_a_lock_that_was_left_behind_keeps_nobody_out(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_text("1")
    with locked(file, "busy"):
        assert file.read_text() == str(os.getpid())
        with pytest.raises(InUse, match=f"^process {os.getpid()} is already busy"), locked(file, "busy"):
            pass
    assert not file.exists()
