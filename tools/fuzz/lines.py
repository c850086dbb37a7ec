"""Text from elsewhere: queries of the analysis, scores of a teacher, files of games and openings."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import ramify as rf
from ramify.games.files import GameFileError, GameRecord, dumps, read_games
from ramify.games.files.openings import play_opening, read_openings
from ramify.protocols.analysis_query import FIELDS, Defaults
from ramify.protocols.json_analysis import AnalysisServer
from ramify.protocols.teacher import parse_lines
from tools.fuzz.case import expect, target

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**70, 1e300, "", "x", "a1", "b2 c3", [], {}, [[]], [0], [1, 0], ["a1", "b2"], [["a1"], []],
    {"size": 3}, {"size": -1}, {"simulations": 3}, {"c_puct": "much"}, "terminate", "clear_cache", "chess",
    "goofspiel", "é\x00",
)  # fmt: skip
SCORES = (
    b"info", b"depth", b"3", b"-7", b"score", b"cp", b"mate", b"0", b"lowerbound", b"wdl", b"multipv", b"pv", b"e2e4",
    b"a7a8q", b"99999999999", b"x", b"\xff", b"nodes", b"string",
)  # fmt: skip


@target("analysis")
def analysis(rng: random.Random, _: Path) -> None:
    """Queries and bytes into the analysis: a line of JSON to everything, and an answer or an error for each query."""
    said: list[str] = []
    server = AnalysisServer(
        said.append, lambda _: rf.evaluators.Uniform(), Defaults("hex", {"size": 3}, {"simulations": 5}), parallel=2
    )
    ids = []
    for number in range(rng.randint(1, 15)):
        query: dict[str, Any] = {"id": number, "game": rng.choice(["hex", "tictactoe", "goofspiel"]), "params": {}}
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            query[rng.choice([*FIELDS, "terminate_id", "other"])] = rng.choice(ODD)
        if isinstance(query.get("simulations"), int) or isinstance(query.get("report_every"), float):
            query["simulations"] = 3  # it stays quick
        query.pop("report_every", None) if rng.random() < 0.9 else None
        line = json.dumps(query)
        ids.append(query.get("id"))
        server.receive(line[: rng.randrange(1, len(line))] if rng.random() < 0.15 else line)
    server.receive(json.dumps({"id": "end", "action": "version"}))
    server.finish()
    answers = [json.loads(text) for text in said]
    expect(all(text.endswith("\n") and text.count("\n") == 1 for text in said), "not one line each")
    expect(all("error" in answer or "final" in answer or "action" in answer for answer in answers), f"{answers}")
    expect(any(answer["id"] == "end" for answer in answers), "the last query has no answer")


@target("scores")
def scores(rng: random.Random, _: Path) -> None:
    """Words in any order as the output of a teacher: scores, or an error that a teacher's caller expects."""
    for _ in range(50):
        output = [b"info " + b" ".join(rng.choices(SCORES, k=rng.randrange(12))) for _ in range(rng.randrange(6))]
        try:
            found = parse_lines(output, rng.randint(1, 4))
        except (ValueError, IndexError):
            continue
        for line in found:
            expect(abs(sum(line.chances) - 1) < 1e-6 or line.wdl is not None, f"{line}")
            expect(line.utility == line.utility, f"{line}")


@target("game-files")
def game_files(rng: random.Random, folder: Path) -> None:
    """Damaged PGN files: games or errors that name the file, and openings or a ValueError."""
    texts = []
    for _ in range(rng.randint(1, 3)):
        start = rf.make("chess").initial_state()
        state, turns = start.copy(), list[tuple[int, ...]]()
        for _ in range(rng.randrange(12)):
            turns.append((int(rng.choice(state.legal_actions())),))
            state.apply(*turns[-1])
        texts.append(dumps(".pgn", GameRecord(start, tuple(turns))))
    data = bytearray("\n".join(texts).encode())
    for _ in range(rng.choice([0, 1, 3, 20])):
        data[rng.randrange(len(data))] = rng.choice([rng.randrange(256), *b'[]{}()\n "0123*$;'])
    file = folder / "game.pgn"
    file.write_bytes(bytes(data))
    try:
        for found in read_games(file):
            if isinstance(found, GameFileError):
                expect(str(file) in str(found), f"{found}")
            else:
                found.states()
        for words in read_openings(f"{file}:4"):
            play_opening(rf.make("chess", draws="automatic"), words)
    except ValueError:
        pass
    finally:
        file.unlink()
