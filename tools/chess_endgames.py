"""Write positions of chess near the end of the game, from which self-play learns to mate.

    python -m tools.chess_endgames >src/ramify/games/files/shipped/chess-endgames.epd

They come in lots of the same make, each with a seed of its own. In a lot are

- ``PLIES``: positions so many plies before the mate, each from another game that alpha-beta search, which now and then
  moves at random, won against random moves; before an odd number of plies the winner is to move;
- ``EASY``: random positions in which at least this share of the moves mates, so that a player who knows nothing wins
  some games;
- ``ENDINGS``: king and these pieces, at random places, against a king;
- ``AHEAD``: random positions in which one side has far more.

White or black is the stronger side. The player who has just moved is not in check, the game is not over, and no
position comes twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import chess

import ramify as rf

LOTS = 160
PLIES = (1, 1, 1, 1, 2, 3, 3, 3, 4, 5, 5, 6, 7, 9, 12, 17, 24, 35)
EASY = (0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1)
ENDINGS = ("q", "r", "qq", "qr", "rr")
AHEAD = 3
OPENING = 24  # random moves at most before the winner searches
LONGEST = 160  # plies of a game
CARELESS = 0.1  # share of random moves of the winner
STRONG = ("pnbrq", (3, 2, 2, 4, 5))  # pieces of the side that is ahead, and how often each is drawn
MATING = ("nbrq", (1, 1, 5, 6))  # the same where many moves mate
WEAK = ("pnbr", (6, 2, 2, 1))  # of the other side


def before_mate(rng: random.Random, plies: int) -> str:
    """The position so many plies before the end of a game that ends in mate."""
    game = rf.make("chess")
    while True:
        state, winner, seen = game.initial_state(), rng.randrange(2), list[str]()
        opening, depth = rng.randint(0, OPENING), rng.randint(1, 2)
        while not state.is_over and len(seen) < LONGEST:
            seen.append(str(state.fields["fen"]))  # type: ignore[attr-defined]
            careless = len(seen) <= opening or state.current_player != winner or rng.random() < CARELESS
            legal = state.legal_actions().tolist()
            state.apply(rng.choice(legal) if careless else rf.alphabeta(state, depth=depth, table=0).action)
        if state.is_over and state.winner == winner and len(seen) >= plies:
            return " ".join(seen[-plies].split()[:4])


def placed(rng: random.Random, more: Sequence[str], fewer: Sequence[str]) -> chess.Board | None:
    """Kings and these pieces at random places, or None where the rules do not allow what was drawn."""
    board, side = chess.Board(None), rng.random() < 0.5
    for owner, pieces in ((side, more), (not side, fewer)):
        for letter in ("k", *pieces):
            square = rng.randrange(8, 56) if letter == "p" else rng.randrange(64)
            if board.piece_at(square):
                return None
            board.set_piece_at(square, chess.Piece(chess.PIECE_SYMBOLS.index(letter), owner))
    board.turn = rng.random() < 0.5
    return board if board.is_valid() and not board.is_game_over() else None


def ending(rng: random.Random, pieces: str) -> str:
    """A position of king and these pieces against a king."""
    while (board := placed(rng, pieces, "")) is None:
        pass
    return board.epd()


def ahead(rng: random.Random, strong: tuple[str, Sequence[int]] = STRONG, share: float = 0.0) -> str:
    """A position in which one side has three to seven pieces, the other one at most three weaker ones, and at least
    this share of the moves mates."""
    while True:
        more = rng.choices(strong[0], strong[1], k=rng.randint(3, 7))
        fewer = rng.choices(WEAK[0], WEAK[1], k=rng.randint(0, 3))
        board = placed(rng, more, fewer)
        if board is not None and (share == 0 or mates(board) >= share):
            return board.epd()


def mates(board: chess.Board) -> float:
    """The share of mates among the moves."""
    found, moves = 0, list(board.legal_moves)
    for move in filter(board.gives_check, moves):
        board.push(move)
        found += board.is_checkmate()
        board.pop()
    return found / len(moves)


def lot(number: int, seed: int = 0) -> list[str]:
    """The positions of the lot with this number."""
    rng = random.Random(f"{seed} {number}")
    found = [before_mate(rng, plies) for plies in PLIES]
    found += [ahead(rng, MATING, share) for share in EASY]
    found += [ending(rng, pieces) for pieces in ENDINGS]
    return found + [ahead(rng) for _ in range(AHEAD)]


def positions(lots: int = LOTS, seed: int = 0) -> Iterator[str]:
    """The positions of so many lots, each once."""
    seen = set[str]()
    for number in range(lots):
        for one in lot(number, seed):
            if one not in seen:
                seen.add(one)
                yield one


def main() -> None:
    for one in positions():
        print(one)


if __name__ == "__main__":
    main()
