"""Damaged and forged shards and journals: one sentence instead of a traceback, and no other game is lost."""

from __future__ import annotations

import hashlib
import json
import logging
import struct
import tempfile
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ramify as rf
from ramify.selfplay import DamagedShard, PlayConfig, SelfPlay, read_folder, read_shard, records, recover
from ramify.selfplay.journal import Journal
from ramify.selfplay.records import MAGIC, newest_header, pack_shard, read_header, shards, write_shard
from ramify.selfplay.run import first_game, header_of, refuse_other_game

GOLDEN = Path(__file__).parents[1] / "golden" / "tictactoe_v1.games"


@cache
def played() -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """A header and the records of eight games."""
    search = rf.SearchConfig(simulations=6)
    play = SelfPlay(rf.make("tictactoe"), None, search, PlayConfig(), games=8, parallel_games=4)
    return header_of(play), tuple(record for found in play for record in found)


def forge(head: bytes, payload: bytes, size: int | None = None, packed: bytes | None = None) -> bytes:
    """A shard whose checksum is right, whatever is in it."""
    packed = zstandard.ZstdCompressor().compress(payload) if packed is None else packed
    size = len(payload) if size is None else size
    body = MAGIC + struct.pack("<IIQQ", 1, len(head), len(packed), size) + head + packed
    return body + hashlib.blake2b(body, digest_size=32).digest()


def framed(*listed: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(record)) + record for record in listed)


def a_game(moves: bytes, count: int, number: int = 0) -> bytes:
    return struct.pack("<QQffHI", number, 0, 1.0, -1.0, 0, count) + moves


def a_search(first: int, second: int) -> bytes:
    """The bytes of a move with a full search over so many outcomes of both players, none of them visited."""
    start = struct.pack("<BHH4f", 4 | 3, 0, 0, 0, 0, 0, 0)
    return start + b"".join(struct.pack("<H", n) + bytes(8 * n) for n in (first, second)) + struct.pack("<IB", 0, 0)


HEAD = json.dumps({"games": 1}).encode()
FORGED = {
    "deep": forge(b'{"games": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", b""),
    "list": forge(b"[1, 2]", b""),
    "text": forge(b"\xff\xfe\xfa", b""),
    "params": forge(json.dumps({"games": 0, "game": "tictactoe", "params": 3}).encode(), b""),
    "game": forge(json.dumps({"games": 0, "game": ["hex"], "params": {}}).encode(), b""),
    "games": forge(json.dumps({"games": "many"}).encode(), b""),
    "no games": forge(b"{}", b""),
    "too few games": forge(json.dumps({"games": 2}).encode(), framed(a_game(b"", 0))),
    "huge": forge(HEAD, b"", 2**63),
    "claims too much": forge(HEAD, framed(a_game(b"", 0)), 10**6),
    "claims too little": forge(HEAD, framed(a_game(b"", 0), a_game(b"", 0)), 4 + 30),
    "not packed": forge(HEAD, b"", 100, b"\x00" * 100),
    "empty record": forge(HEAD, framed(b"")),
    "long record": forge(HEAD, struct.pack("<I", 2**32 - 1) + bytes(60)),
    "moves that are not there": forge(HEAD, framed(a_game(b"", 2**32 - 1))),
    "moves of nobody": forge(HEAD, framed(a_game(bytes(10**6), 10**6))),
    "a huge matrix": forge(HEAD, framed(a_game(a_search(65535, 65535), 1))),
    "impossible number": forge(HEAD, framed(a_game(b"", 0, 2**64 - 1))),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_shards_are_told_in_one_sentence(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    header, listed = played()
    write_shard(tmp_path / "000000.games", listed, header)
    (tmp_path / "000001.games").write_bytes(FORGED[name])
    with pytest.raises(DamagedShard, match=r"000001\.games: [^\n]+$"):
        read_shard(tmp_path / "000001.games")
    with caplog.at_level(logging.WARNING, "ramify"):
        assert [len(games) for _, games in read_folder(tmp_path)] == [8]
    assert "000001.games" in caplog.text
    refuse_other_game(tmp_path, rf.make("tictactoe"))
    assert first_game(tmp_path) == 8


def test_headers_that_lack_something_say_so(tmp_path: Path) -> None:
    (tmp_path / "000000.games").write_bytes(forge(b"{}", b""))
    with pytest.raises(DamagedShard, match=r"000000\.games: the header has no entry 'games'$"):
        read_header(tmp_path / "000000.games")["games"]


def test_what_is_packed_too_well_does_not_fill_the_memory(tmp_path: Path) -> None:
    size = 200 << 20
    (tmp_path / "000000.games").write_bytes(forge(HEAD, bytes(size)))
    assert (tmp_path / "000000.games").stat().st_size < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(DamagedShard):
            read_shard(tmp_path / "000000.games")
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_games_that_grow_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_DECODED", 10**6)
    move = struct.pack("<BH", 1 | 8, 4)
    (tmp_path / "000000.games").write_bytes(forge(HEAD, framed(a_game(move * 3000, 3000))))
    assert len(read_shard(tmp_path / "000000.games")[1][0].moves) == 3000
    (tmp_path / "000000.games").write_bytes(forge(HEAD, framed(a_game(move * 5000, 5000))))
    with pytest.raises(DamagedShard, match="memory"):
        read_shard(tmp_path / "000000.games")


def test_large_lots_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_WRITTEN", 100)
    assert records.shard_records([b"x" * 60] * 3, 3) == [b"x" * 60]
    assert records.shard_records([b"x" * 30] * 9, 9) == [b"x" * 30] * 3
    assert records.shard_records([b"x" * 300], 1) == [b"x" * 300]


def test_shards_of_the_first_version_open() -> None:
    header, games = read_shard(GOLDEN)
    assert (header["game"], header["seed"], [game.number for game in games]) == ("tictactoe", 7, [0, 1, 2])
    for game in games:
        *_, last = game.states(rf.make("tictactoe"))
        assert last.is_over
        assert list(last.returns) == list(game.returns)


def flipped(data: bytes, place: int, bit: int) -> bytes:
    place %= len(data)
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def test_a_flipped_byte_in_the_newest_header_blocks_nothing(tmp_path: Path) -> None:
    header, listed = played()
    write_shard(tmp_path / "000000.games", listed[:4], header)
    whole = pack_shard(listed[4:], header)
    for place in (0, 8, 13, 20, whole.index(b"tictactoe"), whole.index(b'"params"'), whole.index(b"{"), len(whole) - 1):
        (tmp_path / "000001.games").write_bytes(flipped(whole, place, 1))
        refuse_other_game(tmp_path, rf.make("tictactoe"))
        assert newest_header(tmp_path) == {**header, "games": 4}


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_in_a_shard(place: int, bit: int) -> None:
    header, listed = played()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "000000.games"
        path.write_bytes(flipped(pack_shard(listed, header), place, bit))
        for read in (read_shard, read_header):
            with pytest.raises(DamagedShard, match=r"^[^\n]+$"):
                read(path)
        assert (first_game(Path(folder)), newest_header(Path(folder))) == (0, None)


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
@example(place=0, bit=0)
@example(place=12, bit=1)
def test_a_flipped_bit_in_a_journal_costs_one_game_at_most(place: int, bit: int) -> None:
    header, listed = played()
    head = json.dumps(header, sort_keys=True).encode()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = Journal(folder, header)
        journal.add(listed)
        journal.leave()
        data = journal.path.read_bytes()
        journal.path.write_bytes(flipped(data, place, bit))
        in_records = place % len(data) >= data.index(head, 1) + len(head)
        assert recover(folder) == (7 if in_records else 8)
        found, packed, size = records._open_shard(folder / "000000.games")
        assert {**found, "games": 8} == {**header, "games": 8}
        assert set(records._unpack(packed, size)) <= set(listed)
        assert [path.name for path in folder.iterdir()] == ["000000.games"]


@pytest.mark.parametrize("start", [b"?", b"{}\n", b'{"game": "tictactoz", "params": {}}\n', b"[" * 100_000])
def test_journals_whose_header_is_lost_take_the_newest(tmp_path: Path, start: bytes) -> None:
    """As earlier versions have written them: without a second header, and without checksum of the first."""
    header, listed = played()
    write_shard(tmp_path / "000000.games", listed[:3], header)
    journal = Journal(tmp_path, header)
    journal.add(listed)
    journal.leave()
    data = journal.path.read_bytes()
    head = json.dumps(header, sort_keys=True).encode()
    journal.path.unlink()
    (tmp_path / ".journal-1").write_bytes(start + data[data.index(head, 1) + len(head) :])
    assert recover(tmp_path) == 5
    assert read_shard(shards(tmp_path)[1])[0] == {**header, "games": 5}
    refuse_other_game(tmp_path, rf.make("tictactoe"))


def test_a_forged_folder_can_be_played_into(tmp_path: Path, run: Any) -> None:
    (tmp_path / "games").mkdir()
    for number, data in enumerate(FORGED.values()):
        (tmp_path / "games" / f"{number:06d}.games").write_bytes(data)
    (tmp_path / "games" / ".journal-1").write_bytes(b"[" * 100_000)
    code, _, err = run("selfplay", "tictactoe", "games", "--games", "3", "--simulations", "2")
    assert (code, "Traceback" in err) == (0, False)
    assert len(read_shard(shards(tmp_path / "games")[-1])[1]) == 3
