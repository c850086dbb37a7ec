"""Shards: whole or not there, and never read when they are not what was written."""

from __future__ import annotations

import logging
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ramify as rf
from ramify.selfplay import DamagedShard, PlayConfig, SelfPlay, decode, read_folder, read_shard, recover, run
from ramify.selfplay.journal import Journal
from ramify.selfplay.records import shards, write_shard
from ramify.selfplay.run import Progress, first_game, refuse_other_game, warn_of_other_settings


def player(games: int | None = 12, **more: int) -> SelfPlay:
    return SelfPlay(
        rf.make("tictactoe"), None, rf.SearchConfig(simulations=10), PlayConfig(), games=games, parallel_games=4, **more
    )


def some_records() -> list[bytes]:
    return [data for found in player() for data in found]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    listed = some_records()
    write_shard(tmp_path / "a.games", listed, {"game": "tictactoe"})
    header, games = read_shard(tmp_path / "a.games")
    assert header == {"game": "tictactoe", "games": 12}
    assert [repr(game) for game in games] == [repr(decode(data)) for data in listed]
    assert [path.name for path in tmp_path.iterdir()] == ["a.games"]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run(player(10), tmp_path, games_per_shard=4, network="abc", progress=seen.append)
    assert first_game(tmp_path) == 10
    figures = run(player(5, first=10), tmp_path, games_per_shard=4)
    found = list(read_folder(tmp_path))
    assert sorted(game.number for _, games in found for game in games) == list(range(15))
    assert {header["network"] for header, _ in found} == {"abc", None}
    assert figures.games == 5
    assert figures.shards == len(shards(tmp_path))


def test_shards_have_as_many_games_as_asked_for(tmp_path: Path) -> None:
    """Whatever number of games ends in one round; only the last shard may have fewer."""
    run(player(11), tmp_path, games_per_shard=3)
    assert [len(read_shard(path)[1]) for path in shards(tmp_path)] == [3, 3, 3, 2]
    run(player(4, first=11), tmp_path, games_per_shard=1)
    assert [len(read_shard(path)[1]) for path in shards(tmp_path)[4:]] == [1] * 4
    assert sorted(game.number for _, games in read_folder(tmp_path) for game in games) == list(range(15))
    run(player(9, first=15), tmp_path, games_per_shard=1000, shard_seconds=0.0)
    assert len(shards(tmp_path)) > 9  # what is there goes to disk in time


def test_a_journal_keeps_what_no_shard_has(tmp_path: Path) -> None:
    listed = some_records()
    journal = Journal(tmp_path, {"game": "tictactoe"})
    journal.add(listed)
    write_shard(tmp_path / "000000.games", listed[:5], {})
    journal.keep(listed[5:])
    journal.add(listed[:1])  # as if the same game had been finished again: a shard has it
    assert recover(tmp_path) == 7
    assert sorted(repr(game) for _, games in read_folder(tmp_path) for game in games) == sorted(
        repr(decode(data)) for data in listed
    )
    journal.close()
    assert not list(tmp_path.glob(".*journal-*"))


def test_other_settings_in_one_folder_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ramify"):
        run(player(2), tmp_path, network="abc")
        warn_of_other_settings(tmp_path, player(2, first=2, seed=9))  # nothing to say
        assert caplog.text == ""
        (tmp_path / "000009.games").write_bytes(b"RAMIFYGRxx")  # damaged: what came before it counts
        search, play = rf.SearchConfig(simulations=11), PlayConfig(temperature=0.5)
        warn_of_other_settings(tmp_path, SelfPlay(rf.make("tictactoe"), None, search, play, games=1, parallel_games=1))
    for change in (
        "search.simulations 10, now 11",
        "play.temperature 1.0, now 0.5",
    ):
        assert change in caplog.text
    assert "network" not in caplog.text


def test_games_of_another_game_are_refused(tmp_path: Path) -> None:
    def hexes(size: int) -> SelfPlay:
        return SelfPlay(rf.make("hex", size=size), None, rf.SearchConfig(simulations=4), games=1, parallel_games=1)

    run(hexes(3), tmp_path)
    run(hexes(3), tmp_path)
    (tmp_path / "000009.games").write_bytes(b"RAMIFYGRxx")  # damaged: what came before it counts
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match=rf"^{tmp_path} has games of hex with other parameters \(size 3, now 4\): "):
        run(hexes(4), tmp_path)
    with pytest.raises(ValueError, match=rf"^{tmp_path} has games of hex, not of tictactoe"):
        run(player(1), tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_parameters_that_are_no_plain_data_are_not_compared(tmp_path: Path) -> None:
    write_shard(tmp_path / "000000.games", [], {"game": "mine", "params": {"size": 3, "rule": "<object at 0x1>"}})
    refuse_other_game(tmp_path, SimpleNamespace(name="mine", params={"size": 3, "rule": object()}))
    with pytest.raises(ValueError, match=r"\(size 3, now 4\)"):
        refuse_other_game(tmp_path, SimpleNamespace(name="mine", params={"size": 4, "rule": object()}))


def damage(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        return data + bytes([rng.randrange(256)])
    place = rng.randrange(len(data))
    if kind == 2:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))


def test_damage_is_reported_and_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_shard(tmp_path / "000000.games", some_records(), {})
    whole = (tmp_path / "000000.games").read_bytes()
    rng = random.Random(0)
    for _ in range(300):
        (tmp_path / "000001.games").write_bytes(damage(whole, rng))
        with pytest.raises(DamagedShard, match="000001"):
            read_shard(tmp_path / "000001.games")
    with caplog.at_level(logging.WARNING, "ramify"):
        assert len(list(read_folder(tmp_path))) == 1
    assert "000001.games" in caplog.text


ENDLESS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have had it ignored
from pathlib import Path
import ramify as rf
from ramify.selfplay import SelfPlay, run
play = SelfPlay(rf.make("tictactoe"), None, rf.SearchConfig(simulations=4), parallel_games=16, first=int(sys.argv[2]))
run(play, Path(sys.argv[1]), games_per_shard=8)
"""


@pytest.mark.parametrize(
    ("sign", "attempts"),
    [
        (signal.SIGKILL, 4),
        (signal.SIGINT, 1),
        *(pytest.param(sign, 12, marks=pytest.mark.slow) for sign in (signal.SIGKILL, signal.SIGINT)),
    ],
)
def test_killed_while_writing(tmp_path: Path, sign: signal.Signals, attempts: int) -> None:
    """Again and again: whatever moment it is, every shard that is there reads back whole."""
    rng, saved = random.Random(int(sign)), 0
    for attempt in range(attempts):
        before = len(shards(tmp_path))
        process = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(tmp_path), str(attempt * 1_000_000)], stderr=subprocess.DEVNULL
        )
        try:
            while len(shards(tmp_path)) < before + 3 and process.poll() is None:
                time.sleep(0.005)
            time.sleep(rng.random() * 0.02)
        finally:
            process.send_signal(sign)
            process.wait(30)
        assert len(shards(tmp_path)) >= before + 3
        saved += recover(tmp_path)
    assert saved > 0 or sign == signal.SIGINT  # what the shards do not have, the journals do
    assert not list(tmp_path.glob(".*journal-*"))
    found = [read_shard(path) for path in shards(tmp_path)]
    numbers = [game.number for _, games in found for game in games]
    assert len(numbers) == len(set(numbers))


def test_ctrl_c_and_errors_lose_no_finished_game(tmp_path: Path) -> None:
    class Failing:
        calls = 0

        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            self.calls += 1
            if self.calls > 150:
                raise KeyboardInterrupt if self.calls % 2 else MemoryError
            return rf.Evaluation(np.zeros((len(batch), 9), np.float32), np.zeros(len(batch), np.float32))

    for attempt in range(6):
        evaluator = Failing()
        evaluator.calls = attempt
        play = SelfPlay(rf.make("tictactoe"), evaluator, rf.SearchConfig(simulations=5), parallel_games=32)
        with pytest.raises((KeyboardInterrupt, MemoryError)):
            run(play, tmp_path / str(attempt), games_per_shard=7)
        saved = sum(len(games) for _, games in read_folder(tmp_path / str(attempt)))
        assert saved == play.counts["games"] > 0


def test_folders_that_are_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        list(read_folder(tmp_path / "missing"))
    (tmp_path / "000003.games").mkdir()
    with caplog.at_level(logging.WARNING, "ramify"):
        assert list(read_folder(str(tmp_path))) == []
    assert "000003" in caplog.text
    figures = run(player(4), str(tmp_path))
    assert figures.games == 4
    assert 5 <= figures.mean_length <= 9
