"""How much a chess search gives away: the loss in expected score of the moves it chooses, by settings of the search.

    python -m tools.chess_regret label positions.jsonl --positions 1500 --engine stockfish
    python -m tools.chess_regret score positions.jsonl NETWORK --simulations 800 --try c_puct=1.4 --try c_puct=2.5

``label`` plays games with an engine that often errs, and lets it score every legal move of some of their positions.
``score`` searches these positions with each group of settings (as ``--set`` has them, several with commas), and prints
the mean loss of the moves chosen, in hundredths of a point: the best move's expected score less that of the chosen one,
and the difference to the first group, each with its standard error. Positions are not those of any match, so settings
chosen by them can be tried in matches afterwards.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shlex
import time
from pathlib import Path
from typing import Any

import chess
import chess.engine
import numpy as np

import ramify as rf
from ramify.arena import network_file
from ramify.cli.common import parse_settings
from ramify.evaluators import Network
from ramify.networks import load
from tools.result_rows import add_row

GAME_NODES = 60  # of the engine's searches that play the games
CARELESS = 0.15  # share of random moves in them
EVERY = 8  # plies between two positions of a game
DECIDED = 500  # centipawns, beyond which a position is not used and a game ends
MATE = 3000  # centipawns that a mate counts as


def expected_score(centipawns: float) -> float:
    """The score to expect of a position, from 0 to 1, by the curve of Elo ratings with a pawn as 100 points."""
    return 1 / (1 + 10 ** (-centipawns / 400))


def move_scores(engine: chess.engine.SimpleEngine, board: chess.Board, nodes: int) -> dict[str, int]:
    """Centipawns of every legal move, for who makes it: the engine searches the position after it."""
    found = dict[str, int]()
    for move in board.legal_moves:
        board.push(move)
        if board.is_game_over(claim_draw=False):
            found[move.uci()] = MATE if board.is_checkmate() else 0
        else:
            score = engine.analyse(board, chess.engine.Limit(nodes=nodes))["score"]
            found[move.uci()] = -score.relative.score(mate_score=MATE)
        board.pop()
    return found


def label(given: argparse.Namespace) -> None:
    """Write positions with the scores of all their moves, one a line."""
    rng, count = random.Random(given.seed), 0
    with chess.engine.SimpleEngine.popen_uci(shlex.split(given.engine)) as engine:
        while count < given.positions:
            board = chess.Board()
            until = rng.randint(6, 14)
            while not board.is_game_over(claim_draw=True) and count < given.positions:
                if board.ply() >= until:
                    until += rng.randint(EVERY // 2, EVERY * 3 // 2)
                    scores = move_scores(engine, board, given.nodes)
                    if len(scores) > 1 and abs(max(scores.values())) < DECIDED:
                        add_row(given.file, {"fen": board.fen(), "scores": scores})
                        count += 1
                    elif abs(max(scores.values())) >= DECIDED:
                        break
                if board.ply() < 4 or rng.random() < CARELESS:
                    board.push(rng.choice(list(board.legal_moves)))
                else:
                    played = engine.play(board, chess.engine.Limit(nodes=GAME_NODES)).move
                    assert played is not None
                    board.push(played)


def losses(searcher: Any, positions: list[tuple[Any, dict[int, float]]]) -> np.ndarray[Any, Any]:
    """The loss in expected score of the move that the search of each position chooses."""
    results = searcher.run_many([state for state, _ in positions])
    pairs = zip(results, positions, strict=True)
    return np.array([max(scores.values()) - scores[int(result.action())] for result, (_, scores) in pairs])


def score(given: argparse.Namespace) -> None:
    """Print a row for each group of settings."""
    game: Any = rf.make("chess")
    positions = list[tuple[Any, dict[int, float]]]()
    for line in given.file.read_text(encoding="utf-8").splitlines()[: given.positions]:
        entry = json.loads(line)
        state = game.state(entry["fen"])
        scores = {int(state.action(move)): expected_score(found) for move, found in entry["scores"].items()}
        positions.append((state, scores))
    evaluator = Network(load(network_file(given.network)), given.device)
    base = rf.SearchConfig(batch=1, solver=True, fpu="reduction", fpu_offset=0.2)
    first: dict[int, np.ndarray[Any, Any]] = {}
    for settings in given.tries or [""]:
        chosen = base.replace(**parse_settings([part for part in settings.split(",") if part]))
        for simulations in given.simulations:
            began = time.perf_counter()
            config = chosen.replace(simulations=simulations)
            found = 100 * losses(rf.Searcher(game, evaluator, config), positions)
            differences = found - first.setdefault(simulations, found)
            row = {
                "simulations": simulations,
                "settings": settings,
                "loss": round(float(found.mean()), 3),
                "error": round(float(found.std(ddof=1)) / math.sqrt(len(found)), 3),
                "difference": round(float(differences.mean()), 3),
                "difference_error": round(float(differences.std(ddof=1)) / math.sqrt(len(found)), 3),
                "seconds": round(time.perf_counter() - began, 1),
            }
            print(json.dumps(row), flush=True)
            add_row(given.results, {"network": given.network, **row})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    labels = tasks.add_parser("label", help="write positions with the scores of all their moves")
    labels.add_argument("file", type=Path, help="JSON lines to append to")
    labels.add_argument("--positions", type=int, default=1500)
    labels.add_argument("--engine", default="stockfish", help="the command that starts the engine")
    labels.add_argument("--nodes", type=int, default=1000, help="of the engine's search after each move")
    labels.add_argument("--seed", type=int, default=0)
    scores = tasks.add_parser("score", help="the loss of the moves that searches choose")
    scores.add_argument("file", type=Path, help="what 'label' has written")
    scores.add_argument("network", help="a saved network, the folder of a run, or the name of a shipped one")
    scores.add_argument("--positions", type=int, help="only the first ones; default: all")
    scores.add_argument("--simulations", nargs="+", type=int, default=[800])
    scores.add_argument("--try", dest="tries", action="append", default=[], metavar="KEY=VALUE,…", help="settings")
    scores.add_argument("--device", default=None)
    scores.add_argument("--results", type=Path, help="JSON lines to append to")
    given = parser.parse_args()
    label(given) if given.task == "label" else score(given)


if __name__ == "__main__":
    main()
