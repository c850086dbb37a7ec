"""A chess program for tests: plays the first legal move, or misbehaves in the way its argument says."""

import sys
import time
from pathlib import Path

import chess
from flood import flood


def main() -> None:
    manner = sys.argv[1] if len(sys.argv) > 1 else ""
    board = chess.Board()
    log = open(sys.argv[2], "a") if len(sys.argv) > 2 else None  # noqa: SIM115, PTH123
    for line in sys.stdin:
        words = line.split()
        if log:
            log.write(line)
            log.flush()
        if not words:
            continue
        if words[0] == "uci":
            if manner == "mute":
                time.sleep(1000)
            if manner == "dies at once":
                sys.exit("no network file")
            print("id name Fake 1.0\nid author nobody")
            print("option name Hash type spin default 16 min 1 max 64\noption name Own type check")
            print("option name UCI_LimitStrength type check")
            print("option name UCI_Elo type spin default 1500 min 1000 max 3000")
            print("option name Threads type spin default 1 min 1 max 512\nuciok")
        elif words[0] == "isready":
            print("info string here\nreadyok")
        elif words[0] == "position":
            fen, _, moves = line.strip().removeprefix("position fen ").partition(" moves ")
            board = chess.Board(fen)
            for move in moves.split():
                board.push_uci(move)
        elif words[0] == "go":
            while manner == "meets" and Path(sys.argv[2]).read_text().count("go nodes") < 2:
                time.sleep(0.01)  # until another copy, which writes into the same log, has been asked too
            answer(manner, board)
        elif words[0] == "quit":
            return
        sys.stdout.flush()


def answer(manner: str, board: chess.Board) -> None:
    if manner == "dies":
        print("a bad thing happened", file=sys.stderr)
        sys.exit(3)
    if manner == "hangs":
        time.sleep(1000)
    if manner == "floods":
        flood("info string still here\n")
    if manner == "floods stderr":
        flood("still here\n", sys.stderr)
    if manner == "logs":
        sys.stderr.write("thinking\n" * 1_000_000)
    if manner == "babbles":
        print("x" * 3_000_000)
    print("info depth 1 score cp 3 nodes 20")
    first = min(move.uci() for move in board.legal_moves)
    print("bestmove", {"illegal": "e2e5", "null": "0000", "empty": ""}.get(manner, first), "ponder e7e5")


main()
