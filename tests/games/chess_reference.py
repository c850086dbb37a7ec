"""Chess by python-chess: what the native game must agree with, written from its documentation alone."""

from __future__ import annotations

import chess
import numpy as np

QUEEN = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
KNIGHT = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]


def action_of(move: chess.Move, turn: chess.Color) -> int:
    """The AlphaZero index of a move: 73 * from + plane, as the mover sees the board."""
    start, end = ((s if turn == chess.WHITE else s ^ 56) for s in (move.from_square, move.to_square))
    file = chess.square_file(end) - chess.square_file(start)
    rank = chess.square_rank(end) - chess.square_rank(start)
    if move.promotion in (chess.KNIGHT, chess.BISHOP, chess.ROOK):
        plane = 64 + 3 * (move.promotion - chess.KNIGHT) + file + 1
    elif (file, rank) in KNIGHT:
        plane = 56 + KNIGHT.index((file, rank))
    else:
        distance = max(abs(file), abs(rank))
        plane = 7 * QUEEN.index((file // distance, rank // distance)) + distance - 1
    return 73 * start + plane


def reason_of(board: chess.Board, draws: str) -> str | None:
    """Why the game is over: what ends it by itself; with draws="claimed" also what a claim would."""
    outcome = board.outcome()
    names = {
        chess.Termination.SEVENTYFIVE_MOVES: "seventy_five_moves",
        chess.Termination.FIVEFOLD_REPETITION: "fivefold_repetition",
    }
    if outcome and (draws == "automatic" or outcome.termination not in names):
        return names.get(outcome.termination, outcome.termination.name.lower())
    if draws == "claimed":
        if board.is_fifty_moves():
            return "fifty_moves"
        if board.is_repetition(3):
            return "threefold_repetition"
    return None


def observation_of(board: chess.Board, player: int) -> np.ndarray:
    """The 22 planes of the documentation."""
    viewer = chess.WHITE if player == 0 else chess.BLACK
    planes = np.zeros((22, 8, 8), np.float32)

    def mark(plane: int, square: chess.Square) -> None:
        seen = square if viewer == chess.WHITE else chess.square_mirror(square)
        planes[plane, chess.square_rank(seen), chess.square_file(seen)] = 1

    for square, piece in board.piece_map().items():
        mark(piece.piece_type - 1 + (0 if piece.color == viewer else 6), square)
    planes[12] = board.is_repetition(2)
    planes[13] = board.is_repetition(3)
    for offset, colour in ((14, viewer), (16, not viewer)):
        planes[offset] = board.has_kingside_castling_rights(colour)
        planes[offset + 1] = board.has_queenside_castling_rights(colour)
    if board.has_legal_en_passant():
        mark(18, board.ep_square)
    planes[19] = np.float32(board.halfmove_clock) / np.float32(100)
    planes[20] = viewer == chess.WHITE
    planes[21] = viewer == board.turn
    return planes
