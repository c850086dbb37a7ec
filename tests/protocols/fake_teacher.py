"""A chess program for tests that scores moves by rule: the first moves in alphabetical order, 30 centipawns apart.

Arguments: the manner (``plain``: no win/draw/loss; ``dies``: after so many searches) and a number.
"""

import sys

import chess


def main() -> None:
    manner = sys.argv[1] if len(sys.argv) > 1 else ""
    left = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    board, lines, wdl = chess.Board(), 1, False
    for line in sys.stdin:
        words = line.split()
        if words[0] == "uci":
            print("id name Fake Teacher\noption name MultiPV type spin default 1 min 1 max 500")
            if manner != "plain":
                print("option name UCI_ShowWDL type check default false")
            print("uciok")
        elif words[0] == "isready":
            print("readyok")
        elif words[:3] == ["setoption", "name", "MultiPV"]:
            lines = int(words[4])
        elif words[:3] == ["setoption", "name", "UCI_ShowWDL"]:
            wdl = words[4] == "true"
        elif words[0] == "position":
            start, _, moves = line.strip().removeprefix("position ").partition(" moves ")
            board = chess.Board() if start == "startpos" else chess.Board(start.removeprefix("fen "))
            for move in moves.split():
                board.push_uci(move)
        elif words[0] == "go":
            if manner == "dies" and left == 0:
                sys.exit("out of luck")
            left -= 1
            answer(board, lines, wdl)
        sys.stdout.flush()


def answer(board: chess.Board, lines: int, wdl: bool) -> None:
    moves = sorted(move.uci() for move in board.legal_moves)[:lines]
    for depth in (1, 2):
        for number, move in enumerate(moves, 1):
            score = 60 - 30 * number
            chances = f" wdl {max(0, score * 4)} 600 {400 - max(0, score * 4)}" if wdl else ""
            print(f"info depth {depth} seldepth 3 multipv {number} score cp {score}{chances} nodes 9 pv {move} a1a1")
    print(f"bestmove {moves[0]}")


main()
