"""What recorded searches of a game with simultaneous moves look like, position by position and over a run.

``inspect_games`` reads self-play games and tells how payoff matrices are filled, how visits are spread, how many
equilibria the matrices have, and how policies and values develop. ``ramify inspect`` prints it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ramify._core import InvalidInput
from ramify.engine import equilibria
from ramify.games import Game, State
from ramify.selfplay.records import FoundBySearch, GameRecord

Kind = Literal["unique", "several", "constant", "unknown"]
KINDS: tuple[Kind, ...] = ("unique", "several", "constant", "unknown")
CONSTANT = 1e-4  # payoffs within this span count as equal
MIN_VISITS = 5.0  # per outcome, below which a payoff says little
PARTS = 10  # of a run, for what changes over it
MOST_LISTED = 8  # outcomes per player up to which all equilibria are listed


@dataclass(frozen=True)
class Equilibria:
    """How many equilibria a payoff matrix has.

    ``unknown``: too large a matrix, or too few visits. ``indifferent``: number of players with more than one
    equilibrium strategy. ``pure``: every extreme equilibrium is pure.
    """

    kind: Kind
    indifferent: int = 0
    pure: bool = True


@dataclass(frozen=True)
class Position:
    """One recorded search in which both players act."""

    game: int  # number of the game
    stage: int  # what is left of the game: cheese in PyRat, moves to the end in other games
    shape: tuple[int, int]  # outcomes of the players
    visited: float  # fraction of pairs with at least one visit
    reliable: float  # fraction of pairs with at least MIN_VISITS visits
    largest: float  # fraction of all visits at the most visited pair
    effective: float  # exp(entropy) of the visits over pairs: the number of pairs that they amount to
    entropy: float  # of the visit policies, mean of the players with a choice, in nats
    prior_entropy: float
    equilibria: Equilibria


@dataclass(frozen=True)
class Played:
    """One game as a whole."""

    number: int
    moves: int
    margin: float  # by how much player 0 won
    positions: tuple[Position, ...]
    errors: NDArray[np.float64]  # [recorded, 2]: evaluation and search value, each less what came; player 0 less 1
    came: NDArray[np.float64]  # [recorded]: what was still to come, player 0 less player 1


def equilibria_of(found: FoundBySearch, min_visits: float = MIN_VISITS) -> Equilibria:
    """The number and form of the equilibria of the payoffs that a search found."""
    known = found.visits > 0
    if not known.any() or max(found.visits.shape) > MOST_LISTED:
        return Equilibria("unknown")
    if all(np.ptp(table[known]) <= CONSTANT for table in found.payoffs):
        return Equilibria("constant")
    try:
        solved = equilibria.solve(found.payoffs, found.visits, min_visits=min_visits, all=True)
    except InvalidInput:
        return Equilibria("unknown")
    assert solved.extreme is not None
    assert solved.pairs is not None
    used = [np.unique(solved.pairs[:, player]) for player in (0, 1)]
    pure = all(bool((solved.extreme[p][used[p]].max(axis=1) > 1 - 1e-9).all()) for p in (0, 1))
    indifferent = sum(len(strategies) > 1 for strategies in used)
    return Equilibria("several" if indifferent else "unique", indifferent, pure)


def payoffs_as(game: Game, played: Game, payoffs: NDArray[Any]) -> NDArray[Any]:
    """Payoffs [2, n0, n1] of a search in ``played``, in the reward of ``game``, which is the same otherwise.

    The difference follows from the cheese of both players; any other change raises a ValueError.
    """
    given, wanted = (one.params.get("reward") for one in (played, game))
    if given == wanted:
        return payoffs
    if (given, wanted) == ("cheese", "difference"):
        return np.asarray(payoffs - payoffs[::-1])
    raise ValueError(
        f"these games were played with reward={given}, and the network is for reward={wanted}: play games with "
        f"-p reward={wanted}"
    )


def entropy(weights: NDArray[Any]) -> float:
    """The entropy in nats of weights that need not sum to 1; 0 without any."""
    total = float(weights.sum())
    share = weights[weights > 0] / total if total > 0 else np.ones(1)
    return float(-(share * np.log(share)).sum())


def inspect_position(found: FoundBySearch, game: int, stage: int) -> Position:
    """The facts of one recorded search."""
    visits = found.visits.astype(np.float64)
    total = max(visits.sum(), 1.0)
    choosing = [player for player in (0, 1) if visits.shape[player] > 1]
    policies = [entropy(visits.sum(axis=1 - player)) for player in choosing]
    priors = [entropy(found.priors[player].astype(np.float64)) for player in choosing]
    return Position(
        game,
        stage,
        (visits.shape[0], visits.shape[1]),
        float((visits > 0).mean()),
        float((visits >= MIN_VISITS).mean()),
        float(visits.max() / total),
        float(np.exp(entropy(visits))),
        float(np.mean(policies)) if policies else 0.0,
        float(np.mean(priors)) if priors else 0.0,
        equilibria_of(found),
    )


def stage_of(state: State, to_end: int) -> int:
    """What is left of a game in this position: the cheese in PyRat, otherwise the moves to the end."""
    if state.game.name == "pyrat":
        return len(getattr(state, "fields")["cheese"])  # noqa: B009 - only states of the core have it
    return to_end


def inspect_game(game: Game, record: GameRecord) -> Played:
    """The facts of one game; positions in which one player acts alone are left out of ``positions``."""
    positions, errors, came = list[Position](), list[tuple[float, float]](), list[float]()
    state, paid = record.initial_state(game), np.zeros(2)
    for number, move in enumerate(record.moves):
        if move.found is not None:
            if len(move.acting) == 2:
                stage = stage_of(state, len(record.moves) - number)
                positions.append(inspect_position(move.found, record.number, stage))
            left = record.returns - paid
            came.append(float(left[0] - left[1]))
            errors.append(
                (
                    float(move.found.evaluation[0] - move.found.evaluation[1]) - came[-1],
                    float(move.found.value[0] - move.found.value[1]) - came[-1],
                )
            )
        paid = paid + state.apply(*move.actions)
    first, second = record.returns
    margin = float(first - second) / (
        2 if first == -second else 1
    )  # what one won is what the other lost: count it once
    found = np.array(errors, np.float64).reshape(-1, 2)
    return Played(record.number, len(record.moves), margin, tuple(positions), found, np.array(came, np.float64))


@dataclass(frozen=True)
class Inspection:
    """The facts of many games, in order of their numbers."""

    games: tuple[Played, ...]

    @property
    def positions(self) -> list[Position]:
        return [position for game in self.games for position in game.positions]

    def mean(self, name: str) -> float:
        """The mean of one fact over all positions; 0 without any."""
        return float(np.mean([getattr(position, name) for position in self.positions] or [0.0]))

    def parts(self) -> list[Inspection]:
        """Up to ten parts of the run, of about equally many games."""
        parts = min(PARTS, len(self.games))
        bounds = [len(self.games) * k // max(parts, 1) for k in range(parts + 1)]
        return [Inspection(self.games[i:j]) for i, j in pairwise(bounds)]

    def kinds(self, stages: Sequence[int] | None = None) -> dict[Kind, float]:
        """The fraction of positions with one, several or only constant equilibria; of some stages, or all."""
        counts = Counter(p.equilibria.kind for p in self.positions if stages is None or p.stage in stages)
        total = max(1, counts.total())
        return {kind: counts[kind] / total for kind in KINDS}

    def several(self) -> dict[str, float]:
        """Of the positions with several equilibria: who can choose, and whether all of them are pure."""
        found = [p.equilibria for p in self.positions if p.equilibria.kind == "several"]
        both = [several for several in found if several.indifferent == 2]
        return {
            "one player": sum(several.indifferent == 1 for several in found) / max(1, len(found)),
            "both players": len(both) / max(1, len(found)),
            "pure, of both": sum(several.pure for several in both) / max(1, len(both)),
        }

    def draws(self) -> float:
        """The fraction of games in which both players got the same."""
        return float(np.mean([float(game.margin == 0) for game in self.games] or [0.0]))

    def margin(self) -> float:
        """The mean distance between the players' returns."""
        return float(np.mean([abs(game.margin) for game in self.games] or [0.0]))

    def explained(self, which: Literal["evaluation", "search"]) -> float | None:
        """The fraction of the variance of what came that the evaluation, or the search's value, explains."""
        came = np.concatenate([game.came for game in self.games] or [np.zeros(0)])
        errors = np.concatenate([game.errors for game in self.games] or [np.zeros((0, 2))])
        spread = float(came.var()) if len(came) else 0.0
        return 1 - float(errors[:, 0 if which == "evaluation" else 1].var()) / spread if spread > 0 else None


def inspect_games(game: Game, records: Iterable[GameRecord]) -> Inspection:
    """Inspect games that were played with ``game``."""
    return Inspection(tuple(inspect_game(game, record) for record in sorted(records, key=lambda r: r.number)))
