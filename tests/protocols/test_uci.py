"""``ramify uci``: a scripted conversation for every command, limits and options, and garbage of all kinds."""

from __future__ import annotations

import io
import itertools
import os
import random
import re
import threading
import time
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

import ramify as rf
from ramify.chess import ChessNN, centipawns
from ramify.cli.app import app
from ramify.evaluators import Function
from ramify.protocols.clock import seconds_for_move
from ramify.protocols.tablebases import Tablebases
from ramify.protocols.uci import serve
from ramify.protocols.uci_limits import Limits
from ramify.protocols.uci_options import OPTIONS, UciSettings, changed
from tests.protocols.uci_session import MATE_IN_TWO, PATIENCE, Session, infos

# --- the conversation ---


def test_uci_names_the_engine_and_its_options(session: Session) -> None:
    lines = session.send("uci")
    assert lines[0] == "id name ramify 7.0"
    assert lines[1].startswith("id author ")
    assert lines[-1] == "uciok"
    options = [line for line in lines if line.startswith("option name ")]
    assert len(options) == len(OPTIONS) + 1 == len(lines) - 3
    form = (
        r"option name [A-Za-z_ ]+ type (spin default \d+ min \d+ max \d+|check default (true|false)|button|string .*)"
    )
    assert all(re.fullmatch(form, line) for line in options)
    assert "option name Hash type spin default 256 min 1 max 1048576" in options
    assert "option name SyzygyPath type string default <empty>" in options


def test_isready_is_answered_before_and_during_a_search(session: Session) -> None:
    assert session.send("isready") == ["readyok"]
    before = len(session.lines)
    session.send("go infinite")
    assert session.send("isready")[-1] == "readyok"
    session.send("stop")
    session.until("bestmove", before)


def test_an_info_line_has_everything(session: Session) -> None:
    session.send("position startpos moves e2e4 e7e5")
    lines = session.go("go nodes 200")
    shown = infos(lines)[-1]
    assert set(shown) == {"depth", "seldepth", "multipv", "cp", "wdl", "nodes", "nps", "hashfull", "time", "pv"}
    assert sum(shown["wdl"]) == 1000
    assert shown["nodes"] == 200
    assert shown["seldepth"] >= shown["depth"] == len(shown["pv"]) >= 1
    board = chess.Board()
    for move in ("e2e4", "e7e5", *shown["pv"]):
        board.push_uci(move)  # raises if it is not legal
    assert lines[-1] == f"bestmove {shown['pv'][0]} ponder {shown['pv'][1]}"
    assert "wdl" not in infos([*session.send("setoption name UCI_ShowWDL value false"), *session.go()])[-1]


def test_positions(session: Session) -> None:
    fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
    for command, shown in (
        ("position startpos", chess.STARTING_FEN),
        ("position startpos moves e2e4 c7c5", "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"),
        (f"position fen {fen}", fen),
        (f"position fen {fen} moves e1g1 e8c8", "2kr3r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R4RK1 w - - 2 2"),
    ):
        session.send(command)
        assert session.send("d")[-1] == f"fen {shown}"
    for wrong, why in (
        ("position", "expected: position startpos"),
        ("position fen", "FEN"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "king"),
        ("position startpos moves e2e5", "e2e5 is not a legal move"),
        ("position startpos moves e2e4 0000", "0000 is not a legal move"),
    ):
        assert why in session.send(wrong)[-1]
        assert session.send("d")[-1] == f"fen {shown}"  # still the last one that was understood


def test_a_game_goes_on_after_a_draw_that_nobody_claimed(session: Session) -> None:
    shuffle = "g1f3 g8f6 f3g1 f6g8"
    session.send(f"position startpos moves {shuffle} {shuffle}")  # the start for the third time
    assert re.fullmatch("bestmove [a-h][1-8][a-h][1-8].*", session.go()[-1])
    assert session.send(f"position startpos moves {shuffle} {shuffle} {shuffle} e2e4") == []
    assert "4P3" in session.send("d")[-1]
    assert re.fullmatch("bestmove [a-h][1-8][a-h][1-8].*", session.go()[-1])
    session.send("position fen 7k/8/8/8/3R4/8/8/K7 w - - 100 90")
    assert re.fullmatch("bestmove [ad].*", session.go()[-1])
    session.send(f"position startpos moves {shuffle} g1f3")
    session.go()
    session.send(f"position startpos moves {shuffle} {shuffle} e2e4 e7e5")  # over on the way from the last search
    assert infos(session.go("go nodes 20"))[-1]["nodes"] == 20
    assert not any("failed" in line for line in session.lines)


def test_finished_games(session: Session) -> None:
    for fen in ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"):  # stalemate, mate
        session.send(f"position fen {fen}")
        assert session.go("go movetime 100") == ["bestmove (none)"]
    session.send("position fen 7k/8/8/8/8/8/8/K7 w - - 0 1")  # two kings: clients may play on
    assert re.fullmatch("bestmove a1(a2|b1|b2)", session.go("go infinite")[-1])


def test_nodes_limit_a_search_and_repeat_it(session: Session) -> None:
    found = []
    for _ in range(2):
        session.send("ucinewgame", "position startpos moves d2d4")
        lines = session.go("go nodes 120")
        assert infos(lines)[-1]["nodes"] == 120
        found.append((lines[-1], infos(lines)[-1]["pv"]))
    assert found[0] == found[1]
    session.send("setoption name Simulations value 30")
    assert infos(session.go("go nodes 120"))[-1]["nodes"] == 30
    assert infos(session.go("go"))[-1]["nodes"] == 30


def test_movetime_and_clocks_limit_a_search(session: Session) -> None:
    session.send("position startpos")
    for command in (
        "go movetime 150",
        "go wtime 3000 btime 3000 movestogo 10",
        "go wtime 4000 btime 1 winc 100 binc 100",
        "go btime 3000",  # the clock of the player to move is missing: the other one's is used
    ):
        started = time.monotonic()
        assert session.go(command)[-1].startswith("bestmove ")
        assert time.monotonic() - started < 20
    assert infos(session.go("go wtime 1000000 btime 1 movestogo 500"))  # two seconds
    for command in ("go wtime 0 btime 0", "go wtime -100 btime 5 winc 0", "go wtime 1 btime 1 movestogo 1"):
        assert session.go(command)[-1].startswith("bestmove ")  # at once, without a search
        assert not infos(session.go(command))


def test_depth_limits_a_search(session: Session) -> None:
    session.send("position startpos")
    shown = infos(session.go("go depth 3"))[-1]
    assert shown["depth"] >= 3


def test_infinite_waits_for_stop(session: Session) -> None:
    for position in ("position startpos", MATE_IN_TWO):  # also where everything is proven at once
        session.send(position)
        before = len(session.lines)
        session.send("go infinite")
        session.until("info depth", before)
        assert not any(line.startswith("bestmove") for line in session.lines[before:])
        session.send("stop")
        assert session.until("bestmove", before)[-1].startswith("bestmove ")
    assert session.send("stop") == []  # there is nothing to stop


def test_ponder_waits_for_ponderhit(session: Session) -> None:
    for end in ("ponderhit", "stop"):
        session.send("position startpos moves e2e4 e7e5")
        before = len(session.lines)
        session.send("go ponder wtime 2000 btime 2000 winc 50 binc 50")
        session.until("info depth", before)
        assert not any(line.startswith("bestmove") for line in session.lines[before:])
        session.send(end)
        session.until("bestmove", before)
    before = len(session.lines)
    session.send("go ponder nodes 20")
    session.until("info depth", before)
    session.send("ponderhit")
    session.until("bestmove", before)
    assert session.send("ponderhit") == []


def test_searchmoves(session: Session) -> None:
    session.send("position startpos", "setoption name MultiPV value 5")
    shown = infos(session.go("go searchmoves a2a3 h2h4 nodes 100"))
    assert {line["pv"][0] for line in shown} == {"a2a3", "h2h4"}
    assert session.go("go nodes 40 searchmoves a2a3")[-1].startswith("bestmove a2a3")
    told = session.go("go nodes 40 searchmoves e7e5 x")
    assert told[-1].startswith("bestmove ")
    assert "info string go: not legal here: e7e5, x, so all moves are searched" in told
    told = session.go("go nodes 40 searchmoves e7e5 a2a3")
    assert told[-1].startswith("bestmove a2a3")
    assert "info string go: not legal here: e7e5" in told


def test_a_draw_for_certain_has_no_other_chances(session: Session) -> None:
    session.send("position fen 8/8/8/8/8/4k3/8/4K2R w K - 99 60")  # the next move makes it fifty
    assert infos(session.go("go nodes 50"))[-1]["wdl"] == [0, 1000, 0]


def test_multipv_shows_lines_in_order(session: Session) -> None:
    session.send("position startpos", "setoption name multipv value 3")
    last = infos(session.go("go nodes 300"))[-3:]
    assert [line["multipv"] for line in last] == [1, 2, 3]
    assert len({line["pv"][0] for line in last}) == 3
    session.send(MATE_IN_TWO)
    last = infos(session.go("go nodes 300"))[-3:]
    assert last[0]["mate"] == 2
    assert len({line["pv"][0] for line in last}) == 3


def test_the_tree_is_kept_from_move_to_move(session: Session) -> None:
    session.send("ucinewgame", "position startpos moves e2e4")
    pv = infos(session.go("go nodes 400"))[-1]["pv"]
    kept = session.engine._search
    session.send(f"position startpos moves e2e4 {pv[0]} {pv[1]}")
    session.go("go nodes 50")
    assert session.engine._search is kept is not None
    result = kept.finish()
    assert result is not None
    assert int(result.visits.sum()) > 50  # more than this search has made
    session.send("position startpos moves d2d4")  # another game: nothing can be kept
    session.go("go nodes 50")
    result = kept.finish()
    assert result is not None
    assert int(result.visits.sum()) == 49
    session.send("setoption name Clear Hash")
    assert session.engine._search is None


def test_commands_during_a_search_stop_it_first(session: Session) -> None:
    for command in ("position startpos moves e2e4", "setoption name MultiPV value 2", "ucinewgame", "go nodes 10"):
        before = len(session.lines)
        session.send("go infinite", command)
        session.until("bestmove", before)
    session.engine.close()


def test_what_is_not_understood_is_said_and_skipped(session: Session) -> None:
    assert "unknown command: frobnicate" in session.send("frobnicate the board")[0]
    assert session.send("") == session.send("   \t ") == []
    assert session.send("well then isready") == ["readyok"]  # as the protocol asks
    assert session.send("debug on", "register later") == []
    assert "ignored depth" in session.go("go nodes 5 depth")[0]
    assert "ignored x" in session.go("go x nodes 5")[0]
    for wrong, why in (
        ("setoption", "expected: setoption name"),
        ("setoption name Ha value 3", "there is no option 'Ha'; the options are Network"),
        ("setoption name Hash value many", "Hash='many'"),
        ("setoption name Hash value 0", "Hash='0'"),
        ("setoption name Ponder value maybe", "must be true or false"),
        ("setoption name CPuct value -1", "CPuct='-1'"),
        ("setoption name Network value /no/such.onnx", "no network"),
        ("setoption name SyzygyPath value /no/such/folder", "no folder '/no/such/folder'"),
    ):
        assert why in session.send(wrong)[0]
    assert session.engine.settings == UciSettings(network="material")  # nothing was changed
    assert session.go()[-1].startswith("bestmove ")


def test_quit_and_the_end_of_the_input() -> None:
    for commands in ("go infinite\nquit\nisready\n", "position startpos\ngo nodes 20", "go infinite\n"):
        session = Session(network="material")
        serve(session.engine, io.BytesIO(commands.encode()))  # type: ignore[arg-type]
        assert session.lines[-1].startswith("bestmove ")
        assert "readyok" not in session.lines


# --- options ---


def test_options_reach_the_search(session: Session) -> None:
    for name, value in (
        ("Threads", "2"), ("Batch", "4"), ("CPuct", "2.5"), ("Noise", "0.25"), ("NoiseAlpha", "0.5"), ("Hash", "1"),
        ("seed", "7"),
    ):  # fmt: skip
        assert session.send(f"setoption name {name} value {value}") == []
    session.go("go nodes 40")
    search = session.engine._search
    assert search is not None
    config = search.searcher.config
    assert (config.threads, config.batch, config.c_puct) == (2, 4, 2.5)
    assert (config.noise_fraction, config.noise_alpha, config.max_nodes) == (0.25, 0.5, 4096)
    assert search.searcher.seed == 7
    session.send("setoption name CPuct value auto")
    session.go("go nodes 4")
    assert session.engine._search is not search
    assert session.engine._search.searcher.config.c_puct == 1.5  # what suits the evaluator


def test_temperature_draws_moves(session: Session) -> None:
    session.send("position startpos", "setoption name Temperature value 1.0")
    moves = set()
    for seed in range(6):
        session.send(f"setoption name Seed value {seed}")
        moves.add(session.go("go nodes 200")[-1].split()[1])
    assert len(moves) > 2


def test_a_network_by_option(session: Session, tmp_path: Path) -> None:
    file = ChessNN({"kind": "resnet", "blocks": 1, "channels": 8}).save_model(tmp_path / "small network.safetensors")
    assert session.send(f"setoption name Network value {file}") == []
    assert type(session.engine._evaluator).__name__ == "Network"
    assert session.go("go nodes 20")[-1].startswith("bestmove ")
    session.send("setoption name Network value rollout")
    assert session.go("go nodes 20")[-1].startswith("bestmove ")
    broken = Session(network=str(file))
    file.unlink()  # after the start, before it is loaded
    assert "by material" in broken.send("isready")[0]
    assert broken.go()[-1].startswith("bestmove ")


def test_a_network_of_another_game_is_refused(session: Session) -> None:
    before = session.engine.settings
    (line,) = session.send("setoption name Network value hex-7")
    assert line.startswith("info string setoption: ")
    assert line.endswith("is a network for hex, not for chess")
    assert session.engine.settings == before
    done = CliRunner().invoke(app, ["uci", "--network", "hex-7"], input="isready\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is a network for hex, not for chess" in done.stderr


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="c_put"):
        Session(search={"c_put": 1})
    with pytest.raises(ValueError, match="is a network for hex, not for chess"):
        Session(network="hex-7")
    with pytest.raises(ValueError, match=r"there is no network 'nowhere\.onnx'"):
        Session(network="nowhere.onnx")
    assert changed(UciSettings(), "move overhead", "100").overhead_ms == 100
    assert changed(UciSettings(syzygy="x"), "SyzygyPath", "<empty>").syzygy == ""


class FakeTables:
    """Tablebases of a king and a queen against a king: won in so many plies as the distance of the kings."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def add_directory(self, folder: str) -> int:
        self.folders.append(folder)
        return 3

    def probe_wdl(self, board: chess.Board) -> int:
        if not board.queens:
            return 0
        return 2 if board.turn == chess.WHITE else -2

    def probe_dtz(self, board: chess.Board) -> int:
        kings = chess.square_distance(board.king(chess.WHITE), board.king(chess.BLACK))  # type: ignore[arg-type]
        return kings if board.turn == chess.WHITE else -kings

    def close(self) -> None:
        pass


def test_tablebases_choose_at_the_root(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import chess.syzygy

    monkeypatch.setattr(chess.syzygy, "Tablebase", FakeTables)
    assert session.send(f"setoption name SyzygyPath value {tmp_path}{os.pathsep}{tmp_path}") == [
        "info string found 6 tablebase files"
    ]
    session.send("position fen 7k/8/8/8/8/8/8/KQ6 w - - 0 1")
    lines = session.go("go nodes 30")
    assert lines[-1].split()[1] == "a1b2"  # the only king move that brings the kings closer
    assert (infos(lines)[-1]["cp"], infos(lines)[-1]["wdl"]) == (centipawns(1.0), [1000, 0, 0])
    assert infos(lines)[-1]["tbhits"] > 10
    tables = Tablebases(str(tmp_path))
    hit = tables.probe(chess.Board("7k/8/8/8/8/8/8/KQ6 b - - 0 1"))
    assert hit is not None
    assert (hit.value, hit.moves) == (-1.0, ("h8g8",))  # the other square is nearer
    taking = tables.probe(chess.Board("K7/8/8/8/8/8/2k5/1Q6 b - - 0 1"))
    assert taking is not None
    assert (taking.value, taking.moves) == (0.0, ("c2b1",))
    assert tables.probe(chess.Board()) is None
    late = tables.probe(chess.Board("7k/8/8/8/8/8/8/KQ6 w - - 98 90"))
    assert late is not None
    assert late.value == 0.0  # too late for the fifty-move rule


# --- time ---


def test_a_clock_never_runs_out_on_paper() -> None:
    """Thousands of moves at every pace, each of which takes all the time it is given and a delay on top."""
    rng = random.Random(1)
    for left, increment, to_go in itertools.product((0.1, 1.0, 60.0), (0.0, 0.01, 2.0), (None, 40)):
        clock, moves = left, to_go
        for number in range(400):
            seconds = seconds_for_move(clock, increment, moves, 0.015)
            assert 0 <= seconds <= clock
            clock -= seconds + rng.uniform(0.0, min(0.002, 0.05 * increment + clock / 1000))
            assert clock > 0, (left, increment, to_go, number)
            clock += increment
            if moves is not None:
                moves = moves - 1 or to_go
                clock += left if moves == to_go else 0.0
    assert seconds_for_move(1.0, 0.01, None, 0.015) > 0.02
    assert seconds_for_move(0.02, 0.0, 1, 0.015) < 0.001


def test_an_evaluation_that_takes_too_long_does_not_hold_up_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = threading.Event()
    ready.set()

    def evaluate(batch: rf.Batch) -> Any:
        ready.wait(PATIENCE)
        return np.zeros((len(batch), 4672), np.float32), np.zeros(len(batch), np.float32)

    session = Session()
    monkeypatch.setattr(session.engine, "_open", lambda _: Function(evaluate))
    session.send("isready")
    ready.clear()
    started = time.monotonic()
    lines = session.go("go movetime 200")
    assert lines[-1].startswith("bestmove ")
    assert "info string no search in time" in lines
    session.send("position startpos moves e2e4")  # while the first search is still waiting for its evaluation
    again = session.go("go movetime 200")
    assert (
        chess.Move.from_uci(again[-1].split()[1]) in chess.Board(session.send("d")[-1].removeprefix("fen ")).legal_moves
    )
    assert not infos(again)  # nothing of the search of the other position
    assert time.monotonic() - started < PATIENCE / 2
    ready.set()
    session.engine.close()


def test_an_evaluator_that_fails_still_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluate(batch: rf.Batch) -> Any:
        raise RuntimeError("out of memory")

    session = Session()
    monkeypatch.setattr(session.engine, "_open", lambda _: Function(evaluate))
    lines = session.go("go nodes 20")
    assert "info string the search failed: out of memory" in lines
    assert lines[-1].startswith("bestmove ")


def test_limits() -> None:
    read = Limits.read(["searchmoves", "e2e4", "d2d4", "wtime", "5", "btime", "-7", "infinite", "nodes", "9" * 5000])
    assert read.moves == ("e2e4", "d2d4")
    assert (read.numbers["wtime"], read.get("btime"), read.infinite) == (5, 1, True)
    assert read.get("nodes") == 10**12
    assert Limits.read(["nodes", "٣", "movetime"]).unknown == ("nodes", "٣", "movetime")
