"""Write positions of chess with few pieces, from which self-play learns to mate.

    python -m tools.chess_endgames >src/ramify/games/files/shipped/chess-endgames.epd

Kings and up to five other pieces on each side, at random places; in most positions one side has more. The player who
has just moved is not in check, and the game is not over.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import chess

POSITIONS = 1500
PIECES = {
    chess.PAWN: 5,
    chess.QUEEN: 3,
    chess.ROOK: 3,
    chess.BISHOP: 2,
    chess.KNIGHT: 2,
}  # with how often each is drawn
MOST = 5  # of one side, beside its king


def position(rng: random.Random) -> chess.Board | None:
    """A random position, or None where the rules do not allow what was drawn."""
    board = chess.Board(None)
    counts = sorted((rng.randint(1, MOST), rng.randint(0, 2 if rng.random() < 0.7 else MOST)), reverse=True)
    sides = [chess.WHITE, chess.BLACK]
    rng.shuffle(sides)
    for side, count in zip(sides, counts, strict=True):
        for kind in [chess.KING, *rng.choices(list(PIECES), list(PIECES.values()), k=count)]:
            rows = range(1, 7) if kind == chess.PAWN else range(8)
            free = [
                chess.square(file, row)
                for row in rows
                for file in range(8)
                if not board.piece_at(chess.square(file, row))
            ]
            board.set_piece_at(rng.choice(free), chess.Piece(kind, side))
    board.turn = rng.random() < 0.5
    fine = board.is_valid() and not board.is_game_over()
    return board if fine else None


def positions(count: int, seed: int = 0) -> Iterator[chess.Board]:
    rng, seen = random.Random(seed), set[str]()
    while len(seen) < count:
        board = position(rng)
        if board is not None and board.epd() not in seen:
            seen.add(board.epd())
            yield board


def main() -> None:
    for board in positions(POSITIONS):
        print(board.epd())


if __name__ == "__main__":
    main()
