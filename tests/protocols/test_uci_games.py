"""``ramify uci`` in whole games, driven by python-chess."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import chess
import chess.engine
import pytest

from tools.uci_match import OWN, play_match

GOLDEN = Path(__file__).parent.parent / "golden"
COMMAND = [sys.executable, "-m", "ramify", "uci", "--network", "material"]
STOCKFISH = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games:/usr/local/games")
needs_stockfish = pytest.mark.skipif(STOCKFISH is None, reason="needs stockfish, for example apt install stockfish")


@pytest.fixture(scope="module")
def engine():
    started = chess.engine.SimpleEngine.popen_uci(COMMAND, timeout=60)
    yield started
    started.quit()


def test_python_chess_plays_a_whole_game(engine: chess.engine.SimpleEngine) -> None:
    board, game = chess.Board(), object()
    while not board.is_game_over(claim_draw=True) and board.ply() < 160:
        played = engine.play(board, chess.engine.Limit(nodes=12), game=game, info=chess.engine.INFO_ALL)
        assert played.move in board.legal_moves
        assert "score" in played.info
        board.push(played.move)
    assert board.ply() > 10


def test_python_chess_analyses(engine: chess.engine.SimpleEngine) -> None:
    board = chess.Board("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4")
    best, *others = engine.analyse(board, chess.engine.Limit(nodes=200), multipv=3)
    assert best["score"].white() == chess.engine.Mate(1)
    assert best["pv"] == [chess.Move.from_uci("h5f7")]
    assert len(others) == 2
    assert {"depth", "seldepth", "nodes", "nps", "time", "hashfull", "wdl"} <= best.keys()
    with engine.analysis(chess.Board(), options={"Threads": 1, "Hash": 16}) as analysis:  # go infinite, then stop
        for info in analysis:
            if info.get("nodes", 0) > 20:
                break
    only = [chess.Move.from_uci("a2a3")]
    assert engine.play(chess.Board(), chess.engine.Limit(nodes=20), root_moves=only).move == only[0]
    pondering = engine.play(chess.Board(), chess.engine.Limit(white_clock=5, black_clock=5), ponder=True)
    assert pondering.move in chess.Board().legal_moves


@pytest.mark.slow
def test_the_program_starts_quickly() -> None:
    """In processor time, which does not depend on what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(COMMAND, input=b"uci\nisready\nquit\n", capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2.0


@pytest.mark.slow
def test_no_game_against_itself_is_lost_on_time() -> None:
    score = play_match(f"{OWN} --network material", f"{OWN} --network rollout", 10, (2.0, 0.02))
    assert score.faults == score.others == []
    assert sum(score.results.values()) == 10


@pytest.mark.slow
@needs_stockfish
def test_a_match_against_stockfish() -> None:
    """Two hundred games at one second and a hundredth per move: no crash, no illegal move, and no loss on time, unless
    the machine is so busy that Stockfish has as many."""
    assert STOCKFISH is not None
    score = play_match(f"{OWN} --network material", STOCKFISH, 200, (1.0, 0.01))
    late, late_others = ([fault for fault in of if "lost on time" in fault] for of in (score.faults, score.others))
    assert [fault for fault in score.faults if fault not in late] == []
    assert len(late) <= len(late_others)
    assert sum(score.results.values()) == 200


@pytest.mark.slow
def test_every_golden_mate_is_announced() -> None:
    """Within ten seconds each, and nearly always as the shortest one."""
    rows = [json.loads(line) for line in (GOLDEN / "chess_mates.jsonl").read_text().splitlines()]
    engine = chess.engine.SimpleEngine.popen_uci(COMMAND, timeout=60)
    announced = shortest = 0
    for row in rows:
        board = chess.Board(row["fen"])
        found = engine.analyse(board, chess.engine.Limit(time=10), game=object())
        mate = found["score"].pov(board.turn).mate()
        announced += mate is not None and mate >= row["mate_in"]
        shortest += mate == row["mate_in"] and found["pv"][0].uci() in row["winning_moves"]
    engine.quit()
    assert len(rows) == announced == 75
    assert shortest >= 70
