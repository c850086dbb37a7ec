"""The engines over HTP and UCI and the PyRat bot with anything on their input, and players that are bad programs."""

from __future__ import annotations

import io
import json
import os
import random
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import ramify as rf
from ramify.arena import Turn, match
from ramify.protocols import BotSettings, EngineError, HtpConfig, PyRatBot, UciConfig, pyrat_bot
from ramify.protocols.gtp import answer, serve
from ramify.protocols.htp import HtpEngine, HtpSettings
from ramify.protocols.uci import UciEngine
from ramify.protocols.uci import serve as serve_uci
from ramify.protocols.uci_options import OPTIONS, UciSettings
from tools.fuzz.case import expect, target

PATIENCE = 1.0
SLACK = 30.0  # seconds that a busy machine may add
MEMORY = 128 << 20  # bytes that the output of a program may come to occupy; far less than it writes
ARGUMENTS = (
    "black", "white", "B", "w", "red", "a1", "b2", "c3", "D4", "z9", "s19", "swap-pieces", "swap", "resign",
    "simulations", "seconds", "seed", "batch", "solver", "exploration", "allow_swap", "game_time", "0", "1", "3", "4",
    "19", "20", "-1", "none",
    "1e9", "1e-300", "nan", "inf", "99999999999", "18446744073709551616", "#", "é", "\x00", "\t", "=", "?", "name", "١",
)  # fmt: skip


def htp_line(rng: random.Random, engine: HtpEngine) -> str:
    how = rng.random()
    if how < 0.1:
        return "".join(
            chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x2000)])) for _ in range(rng.randrange(100))
        )
    if how < 0.12:
        return rng.choice(ARGUMENTS) * rng.choice([1000, 70_000])
    words = [rng.choice([*engine.commands]), *(rng.choice(ARGUMENTS) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))]
    return " ".join([*([str(rng.randrange(100))] if rng.random() < 0.2 else []), *words])


@target("htp")
def htp(rng: random.Random, _: Path) -> None:
    """Commands and bytes into the HTP program: an answer in the right frame to everything, and no internal error."""
    small = HtpSettings(simulations=5)
    engine = HtpEngine(rng.choice([2, 3, 4]), small, "rollout", "1")
    for _ in range(rng.randint(1, 20)):
        line = htp_line(rng, engine)
        response = answer(engine, line)
        if response is not None:
            expect(re.match(r"[=?]\d* ", response) is not None, f"{line[:200]!r}: {response[:200]!r}")
            whole = response.endswith("\n\n") and "\n\n" not in response[:-2]
            expect(whole and "internal error" not in response, f"{line[:200]!r}: {response[:500]!r}")
        keep = {"seed": engine.settings.seed, "batch": engine.settings.batch, "allow_swap": engine.settings.allow_swap}
        engine.settings = small.replace(**keep)  # whatever was asked for: it stays quick
        if engine.stones.size > 5:
            answer(engine, "boardsize 3")
    engine = HtpEngine(3, small, "rollout", "1")
    pieces = [rng.randbytes(rng.randrange(300)), b"name\n", b"# interrupt\n", b"\n", b"play black a1\r\n", b"7 undo\n"]
    written: list[str] = []
    serve(engine, io.BytesIO(b"".join(rng.choices(pieces, k=rng.randrange(20)))), written.append)  # type: ignore[arg-type]
    expect(all(text.endswith("\n\n") for text in written), f"an answer without its end: {written}")


UCI_WORDS = (
    "uci", "isready", "ucinewgame", "position", "startpos", "fen", "moves", "e2e4", "e7e5", "g1f3", "a7a8q", "0000",
    "8/8/8/8/8/5k2/5q2/7K", "7k/8/8/5K2/6Q1/8/8/8", "w", "b", "-", "KQkq", "go", "nodes", "depth", "mate", "movetime",
    "wtime", "btime", "winc", "binc", "movestogo", "searchmoves", "infinite", "ponder", "stop", "ponderhit", "d",
    "setoption", "name", "value", "Clear", "true", "none", "0", "1", "2", "7", "-1", "1e9", "nan",
    "99999999999999999999", "é", "\x00", "١", "debug", "on", *OPTIONS,
)  # fmt: skip
ANSWERS = ("id ", "option ", "uciok", "readyok", "info ", "bestmove ")


@target("uci")
def uci(rng: random.Random, _: Path) -> None:
    """Commands and bytes into the chess engine: known answers only, and no internal error."""
    pieces = [rng.randbytes(rng.randrange(100)), b"\n", b"go nodes 3\n", b"x" * rng.choice([10, 100_000]), b"stop\n"]
    for _ in range(rng.randint(1, 30)):
        words = rng.choices(UCI_WORDS, k=rng.randint(1, 8))
        pieces.append(" ".join(["go nodes 2 movetime 50", *words] if words[0] == "go" else words).encode() + b"\n")
    rng.shuffle(pieces)
    written: list[str] = []
    engine = UciEngine(written.append, UciSettings(network="material", simulations=5, hash_mb=1))
    serve_uci(engine, io.BytesIO(b"".join(pieces) + b"\nstop\n"))  # type: ignore[arg-type]
    for line in "".join(written).splitlines():
        expect("internal error" not in line, line[:500])
        board = re.match(r"[1-8] |   a b|white|black|draw|checkmate|fen ", line)
        expect(line.startswith(ANSWERS) or board is not None, f"not an answer: {line[:500]!r}")


@target("pyrat-bot")
def bot(rng: random.Random, _: Path) -> None:
    """Messages and bytes into the PyRat bot: one line of JSON to everything, and no internal error."""
    state: Any = rf.make("pyrat", width=rng.randint(2, 6), height=rng.randint(2, 6)).state(
        cheese=[[1, 1]], p1=[0, 0], p2=[1, 0], max_turns=rng.randint(1, 50), walls=[], mud=[]
    )
    odd = [None, True, -1, 2**70, 1e300, "", "x", [], {}, [[0, 0]], [[[0, 0], [0, 1], 3]], [[[0, 0], [0, 1]]], 0.5, 64]
    pieces = [rng.randbytes(rng.randrange(200)), b"\n", b"[" * rng.choice([10, 100_000]), b'{"type": "quit"}\n']
    for _ in range(rng.randint(1, 20)):
        kind = rng.choice(["hello", "game", "game", "turn", "turn", "turn"])
        message = {"type": kind, "player": rng.choice([1, 2]), "seconds": 0.05, **state.fields}
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            message[rng.choice(list(message))] = rng.choice(odd)
        line = json.dumps(message).encode()
        pieces.append((line[: rng.randrange(len(line))] if rng.random() < 0.2 else line) + b"\n")
    rng.shuffle(pieces)
    written: list[str] = []
    pyrat_bot.serve(PyRatBot(BotSettings(simulations=5)), io.BytesIO(b"".join(pieces)), written.append)
    for text in written:
        expect(text.endswith("\n") and text.count("\n") == 1, f"not one line: {text[:500]!r}")
        answer = json.loads(text)
        expect(answer["type"] in ("hello", "ready", "move", "error"), f"{text[:500]!r}")
        expect("internal error" not in answer.get("message", ""), f"{text[:500]!r}")


def peak() -> int:
    """Bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@target("engines", seconds=300.0)
def engines(rng: random.Random, _: Path) -> None:
    """Programs over UCI and HTP that misbehave: an EngineError in time and in few words, a forfeit, and nobody left."""
    command = f"{sys.executable} {Path(__file__).with_name('bad_engine.py')} {rng.randrange(10**9)}"
    chess = rng.random() < 0.5
    game = rf.make("chess") if chess else rf.make("hex", size=3)
    config = (
        UciConfig(command=command, nodes=1, patience=PATIENCE)
        if chess
        else HtpConfig(command=command, patience=PATIENCE)
    )
    before = peak()
    try:
        started = time.monotonic()
        player = config.open(game)
    except EngineError as error:
        check_error(error, started)
        return
    pids = set()
    try:
        for _ in range(4):
            started = time.monotonic()
            pids |= {player._process._process.pid} if player._process is not None else set()
            try:
                player.choose([Turn(game.initial_state(), 0, 0)])
            except EngineError as error:
                check_error(error, started)
                expect(player._process is None, "a program that failed has not been ended")
    finally:
        player.close()
    expect(peak() - before < MEMORY, f"{(peak() - before) >> 20} MiB more memory")
    for pid in pids:
        expect(not alive(pid), f"the process {pid} is still there")
    if not chess:
        check_forfeit(game, config)


def check_error(error: EngineError, started: float) -> None:
    seconds = time.monotonic() - started
    line = str(error).partition("\n")[0]
    expect(len(line) < 1500, f"an error of {len(line)} characters: {line[:300]}")
    expect(seconds < 10 * PATIENCE + SLACK, f"{seconds:.0f} seconds until {line[:300]}")


def check_forfeit(game: rf.Game, config: HtpConfig) -> None:
    """A match goes on, whatever the program does, once it can be opened."""
    try:
        played = match(game, config, "random", games=2)
    except EngineError:  # it could not be started
        return
    for one in played:
        expect(one.reason in ("end", "forfeit"), f"a game ended by {one.reason}")
        expect(len(one.detail) < 2000, f"a game's detail has {len(one.detail)} characters")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
