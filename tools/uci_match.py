"""Plays ``ramify uci`` against another UCI engine with a clock, and counts what must not happen: crashes, illegal moves
and games lost on time.

    python -m tools.uci_match stockfish --games 200 --clock 1+0.01

Games begin with a few random moves and are played in pairs with exchanged colours. Needs python-chess.
"""

from __future__ import annotations

import argparse
import random
import shlex
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import chess
import chess.engine

OWN = f"{sys.executable} -m ramify uci"
OPENING = 6  # random plies before a game
LONGEST = 400  # plies of a game


@dataclass
class Clock:
    """What both players have left, in seconds."""

    increment: float
    left: list[float]

    def limit(self) -> chess.engine.Limit:
        white, black = (max(0.001, seconds) for seconds in self.left)
        increments = {"white_inc": self.increment, "black_inc": self.increment}
        return chess.engine.Limit(white_clock=white, black_clock=black, **increments)


@dataclass
class Score:
    """Games by how they ended, for the first engine; ``faults`` are its own."""

    results: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    least_left: float = 1e9  # seconds on its clock

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.results.items()))
        faults = f"faults: {len(self.faults)}, of the opponent: {len(self.others)}"
        return f"{counts}; {faults}; least time left {self.least_left:.3f} s"


def opening(rng: random.Random) -> chess.Board:
    """A position after a few random moves from which the game can go on."""
    while True:
        board = chess.Board()
        for _ in range(OPENING):
            board.push(rng.choice(list(board.legal_moves)))
            if board.is_game_over():
                break
        else:
            return board


def play_game(
    engines: list[chess.engine.SimpleEngine], board: chess.Board, clock: Clock, score: Score, own: int
) -> str:
    """Play one game; returns what it was for the engine that plays ``own`` (0 white, 1 black)."""
    game = object()
    while not board.is_game_over(claim_draw=True) and board.ply() < LONGEST:
        player = int(board.turn == chess.BLACK)
        faults = score.faults if player == own else score.others
        started = time.monotonic()
        try:
            played = engines[player].play(board, clock.limit(), game=game).move
        except chess.engine.EngineError as error:  # an illegal move, or a crash
            faults.append(f"{error} in {board.fen()}")
            return "lost" if player == own else "won"
        seconds = time.monotonic() - started
        clock.left[player] -= seconds
        if player == own:
            score.least_left = min(score.least_left, clock.left[player])
        if clock.left[player] < 0:
            late = f"lost on time by {-clock.left[player]:.3f} s at ply {board.ply()}"
            faults.append(f"{late} with a move that took {seconds:.3f} s")
            return "lost" if player == own else "won"
        clock.left[player] += clock.increment
        if played is None:
            faults.append(f"no move in {board.fen()}")
            return "lost" if player == own else "won"
        board.push(played)
    outcome = board.outcome(claim_draw=True)
    if outcome is None or outcome.winner is None:
        return "drawn"
    return "won" if outcome.winner == (own == 0) else "lost"


def play_match(own: str, opponent: str, games: int, clock: tuple[float, float], seed: int = 0) -> Score:
    """Play games in pairs; both engines keep running from game to game."""
    rng, score = random.Random(seed), Score()
    ours, theirs = (chess.engine.SimpleEngine.popen_uci(shlex.split(command)) for command in (own, opponent))
    try:
        for engine in (ours, theirs):
            engine.ping()  # waits for readyok: a network is loaded before a clock runs, as in chess programs
        board = opening(rng)
        for number in range(games):
            board = opening(rng) if number % 2 == 0 else board
            side = number % 2
            engines = [ours, theirs] if side == 0 else [theirs, ours]
            result = play_game(engines, board.copy(), Clock(clock[1], [clock[0], clock[0]]), score, side)
            score.results[result] += 1
    finally:
        for engine in (ours, theirs):
            engine.close()
    return score


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opponent", help="the command line of the other engine")
    parser.add_argument("--own", default=OWN, help="the command line of the engine that is tested")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--clock", default="1+0.01", help="seconds for the game, and per move")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    seconds, _, increment = given.clock.partition("+")
    started = time.monotonic()
    score = play_match(given.own, given.opponent, given.games, (float(seconds), float(increment or 0)), given.seed)
    print(f"{score} ({time.monotonic() - started:.0f} s)")
    for fault in (*score.faults, *(f"opponent: {fault}" for fault in score.others)):
        print(fault)
    return bool(score.faults)


if __name__ == "__main__":
    sys.exit(main())
