"""Chess move generation: the native perft against python-chess's, in one run.

Both count leaves one by one, playing every move. Times are CPU times of this process; the best of a few
rounds counts, and the two sides take turns so that a busy machine slows both alike.

    python benchmarks/chess_perft.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import chess

import ramify as rf

TARGET = 100.0  # times python-chess
ROUNDS = 3
POSITIONS = {  # name: FEN, depth for python-chess, depth for the native game
    "start": (chess.STARTING_FEN, 3, 5),
    "kiwipete": ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 2, 4),
    "endgame": ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4, 6),
}


def python_perft(board: chess.Board, depth: int) -> int:
    """Leaves of the tree of legal moves, the plain way."""
    if depth == 0:
        return 1
    leaves = 0
    for move in board.legal_moves:
        board.push(move)
        leaves += python_perft(board, depth - 1)
        board.pop()
    return leaves


def leaves_per_second(count: Callable[[], int]) -> float:
    start = time.process_time()
    leaves = count()
    return leaves / (time.process_time() - start)


def rows() -> list[dict[str, Any]]:
    """One row per position: how many times python-chess's speed."""
    table = []
    for name, (fen, shallow, deep) in POSITIONS.items():
        board, state = chess.Board(fen), rf.make("chess").state(fen)  # type: ignore[attr-defined]
        if state.perft(shallow) != python_perft(board, shallow):
            raise AssertionError(f"the two perfts disagree on {name}")
        python = native = 0.0
        for _ in range(ROUNDS):
            python = max(python, leaves_per_second(lambda: python_perft(board, shallow)))  # noqa: B023
            native = max(native, leaves_per_second(lambda: state.perft(deep)))  # noqa: B023
        ratio = native / python
        table.append(
            {
                "name": f"chess perft, {name} ({native / 1e6:.1f} M leaves/s against {python / 1e6:.3f} M)",
                "value": ratio,
                "unit": "times python-chess",
                "target": TARGET,
                "ok": ratio >= TARGET,
            }
        )
    return table


if __name__ == "__main__":
    for row in rows():
        verdict = "ok" if row["ok"] else "MISSED"
        print(f"{row['name']}: {row['value']:.0f} {row['unit']}, target {row['target']:.0f}: {verdict}")
