"""Syzygy tablebases at the root of a search, probed by python-chess."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIN, DRAW = 2, 0  # a tablebase's results; 1 and -1 are wins and losses that the fifty-move rule turns into draws


@dataclass(frozen=True)
class TablebaseHit:
    """What the tablebases know of a position: the moves that keep its result and come nearer to it, and that result
    for the player to move, from -1 to 1."""

    moves: tuple[str, ...]  # in UCI notation
    value: float


class Tablebases:
    """The tablebases in some folders."""

    def __init__(self, folders: str) -> None:
        try:
            import chess.syzygy
        except ImportError as error:
            raise ImportError("Syzygy tablebases need python-chess: pip install 'ramify[chess]'") from error
        paths = [path for path in folders.split(os.pathsep) if path]
        for path in paths:
            if not Path(path).is_dir():
                raise ValueError(f"SyzygyPath names folders, separated by {os.pathsep!r}; there is no folder {path!r}")
        self._tables: Any = chess.syzygy.Tablebase()
        self.files = sum(self._tables.add_directory(path) for path in paths)

    def probe(self, board: Any) -> TablebaseHit | None:
        """What is known of a position; None if its tables are not there."""
        import chess

        if chess.popcount(board.occupied) > 7 or board.castling_rights:
            return None
        try:
            ranked = {move.uci(): self._rank(board, move) for move in board.legal_moves}
        except KeyError:  # a table is missing
            return None
        if not ranked:
            return None
        best = max(ranked.values())
        value = {WIN: 1.0, -WIN: -1.0}.get(best[0], 0.0)
        return TablebaseHit(tuple(move for move, rank in ranked.items() if rank == best), value)

    def _rank(self, board: Any, move: Any) -> tuple[int, int]:
        """A move's result for its player, and how well it gets on: winning soon, or losing late."""
        zeroing = board.is_zeroing(move)
        board.push(move)
        try:
            if board.is_checkmate():
                return WIN, 0
            if board.is_repetition(3) or board.is_fifty_moves():
                return DRAW, 0
            result = -self._tables.probe_wdl(board)
            distance = 1 if zeroing else 1 + abs(self._tables.probe_dtz(board))
            if abs(result) == WIN and not zeroing and distance + board.halfmove_clock > 100:
                result //= 2  # the fifty-move rule comes first
            return result, -distance if result > 0 else distance if result < 0 else 0
        finally:
            board.pop()

    def close(self) -> None:
        self._tables.close()
