"""Training data from game records: one row per recorded position, from the view of the acting player.

Arrays are in the viewer's order, like network outputs: the acting player first, player 0 where both act.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ramify.engine.config import SearchConfig
from ramify.engine.policies import marginal, outcome_weights
from ramify.games import Game, State
from ramify.selfplay.records import FoundBySearch, GameRecord, Move
from ramify.training.cheese import cheese_row, collectors, final_scores
from ramify.training.config import TargetConfig

# Games whose first two planes are the viewer's cells and the other player's: who owns a cell at the end is known.
OWNED = ("hex", "connect_four", "tictactoe")
TRAINABLE = {"ownership": OWNED, "cheese": ("pyrat",), "final_score": ("pyrat",)}  # games by head; others: any game
RETURNS = TargetConfig()  # targets that are the returns of the game alone


@dataclass(frozen=True)
class Samples:
    """Training positions. ``players`` is 1 if the network predicts only for the viewer, else 2.

    Targets of heads that the network does not have are empty: their last dimensions are 0.
    """

    observations: NDArray[np.float32]  # [n, *observation_shape]
    policies: NDArray[np.float32]  # [n, players, num_actions]; zeros without a target
    legal: NDArray[np.bool_]  # [n, players, num_actions]
    values: NDArray[np.float32]  # [n, players]: rewards still to come
    draws: NDArray[np.float32]  # [n]: chance of a draw, where the records have it; otherwise -1
    scores: NDArray[np.float32]  # [n]: the whole game's returns, the viewer's less the other's
    owners: NDArray[np.int8]  # [n, cells]: 1 the viewer's at the end, -1 the other's
    groups: NDArray[np.signedinteger[Any]]  # [n, players, num_actions]: what stands for the outcome; empty: itself
    cheese: NDArray[np.int8]  # [n, cells]: who collects what lies there, as in training/cheese.py
    final_scores: NDArray[np.int16]  # [n, 2]: half points at the end, -1 if unknown
    payoffs: NDArray[np.float32]  # [n, 2, num_actions, num_actions]: of the search, by what stands for outcomes
    pair_visits: NDArray[np.float32]  # [n, num_actions, num_actions]: visits of these pairs
    collected: NDArray[np.float32]  # [n]: rewards still to come, of both players together; with payoffs only
    surprise: NDArray[np.float32]  # [n]: what the policy target tells beyond the prior, in nats
    games: NDArray[np.int64]  # [n]: number of the game

    def __len__(self) -> int:
        return len(self.games)


S = TypeVar("S", bound=Samples)


def join(parts: Sequence[S]) -> S:
    """Concatenate samples of one kind."""
    kind = type(parts[0])
    return kind(**{one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(kind)})


def make_samples(
    game: Game,
    records: Iterable[GameRecord],
    search: SearchConfig,
    targets: TargetConfig,
    players: int,
    heads: Collection[str] = (),
) -> Samples:
    """The recorded positions of games, ordered by game number, with the targets of these heads of the network."""
    check_heads(game, heads, players)
    parts = [game_samples(game, record, search, targets, players, heads) for record in by_number(records)]
    return without_groups(join([blank(game, 0, players, heads), *parts]))


def without_groups(made: S) -> S:
    """The samples without groups if no two actions have the same effect."""
    if np.array_equal(made.groups, np.broadcast_to(np.arange(made.groups.shape[2]), made.groups.shape)):
        return replace(made, groups=made.groups[:, :, :0])
    return made


def by_number(records: Iterable[GameRecord]) -> list[GameRecord]:
    """Games in the order of their numbers."""
    return sorted(records, key=lambda record: record.number)


def check_heads(game: Game, heads: Collection[str], players: int) -> None:
    """Raise a ValueError if there are no targets for a head in this game."""
    for head in heads:
        if game.name not in TRAINABLE.get(head, (game.name,)):
            known = ", ".join(TRAINABLE[head])
            article = "an" if head[0] in "aeiou" else "a"
            raise ValueError(f"{article} {head} head cannot be trained for {game.name}, only for {known}")
    if "payoffs" in heads and not (game.simultaneous and players == 2):
        raise ValueError(
            "a payoffs head can be trained only where both players act at once, for a network with per_player: "
            f"not for {game.name}"
        )


def blank(game: Game, count: int, players: int, heads: Collection[str]) -> Samples:
    """Arrays of zeros for ``count`` positions; every action is in an outcome of its own."""
    actions = (count, players, game.num_actions)
    cells, pairs = int(np.prod(game.observation_shape[1:])), game.num_actions if "payoffs" in heads else 0
    index_type = np.min_scalar_type(-game.num_actions)  # int8 for PyRat
    return Samples(
        observations=np.zeros((count, *game.observation_shape), np.float32),
        policies=np.zeros(actions, np.float32),
        legal=np.zeros(actions, np.bool_),
        values=np.zeros((count, players), np.float32),
        draws=np.full(count, -1, np.float32),
        scores=np.zeros(count, np.float32),
        owners=np.zeros((count, cells if "ownership" in heads else 0), np.int8),
        groups=np.broadcast_to(np.arange(game.num_actions, dtype=index_type), actions).copy(),
        cheese=np.zeros((count, cells if "cheese" in heads else 0), np.int8),
        final_scores=np.zeros((count, 2 if "final_score" in heads else 0), np.int16),
        payoffs=np.zeros((count, 2, pairs, pairs), np.float32),
        pair_visits=np.zeros((count, pairs, pairs), np.float32),
        collected=np.zeros(count, np.float32),
        surprise=np.zeros(count, np.float32),
        games=np.zeros(count, np.int64),
    )


def game_samples(
    game: Game,
    record: GameRecord,
    search: SearchConfig,
    targets: TargetConfig,
    players: int,
    heads: Collection[str],
) -> Samples:
    """The recorded positions of one game."""
    states, rewards = replay(game, record)
    record = cut_by_limits(record, states[-1])
    values = values_and_draws(record, rewards, targets, search.discount)
    returns = value_targets(record, rewards, RETURNS, search.discount).sum(axis=1) if "payoffs" in heads else None
    collected_by = collectors(states, record) if "cheese" in heads else None
    finals = final_scores(states[-1], record) if "final_score" in heads else None
    made = blank(game, sum(move.found is not None for move in record.moves), players, heads)
    made.games[:] = record.number
    row = 0
    for number, (state, move) in enumerate(zip(states, record.moves, strict=False)):
        if move.found is None:
            continue
        both = (move.acting[0], 1 - move.acting[0])
        made.observations[row] = state.observation(both[0])
        made.values[row] = values[number, list(both[:players])]
        made.draws[row] = draw_target(values[number, 2])
        made.scores[row] = record.returns[both[0]] - record.returns[both[1]]
        if "ownership" in heads:
            made.owners[row] = final_owners(states[-1], both[0])
        if collected_by is not None:
            made.cheese[row] = cheese_row(state, collected_by, both[0])
        if finals is not None:
            made.final_scores[row] = finals[list(both)]
        if returns is not None:
            made.collected[row] = returns[number]
            fill_payoffs(made, row, move, move.found)
        fill_policies(made, row, state, move, move.found, both[:players], search, targets)
        row += 1
    return made


def fill_payoffs(made: Samples, row: int, move: Move, found: FoundBySearch) -> None:
    """Write the payoffs and visits of the search where both players act; elsewhere they stay zero."""
    if len(move.acting) < 2:
        return
    pairs = np.ix_(found.outcomes[0], found.outcomes[1])
    made.pair_visits[row][pairs] = found.visits
    for player in (0, 1):
        made.payoffs[row, player][pairs] = np.nan_to_num(found.payoffs[player])  # no visits, no weight


def fill_policies(
    made: Samples,
    row: int,
    state: State,
    move: Move,
    found: FoundBySearch,
    order: tuple[int, ...],
    search: SearchConfig,
    targets: TargetConfig,
) -> None:
    """Write the policy targets of the acting players, the legal actions, and KL(target ‖ prior)."""
    by_visits = targets.policy == "visits" and not targets.skip_uninformative  # the rest of the root is not needed
    root = None if by_visits else found.root(search)
    skipped = root is not None and targets.skips_policy(root)
    for place, player in enumerate(order):
        if player not in move.acting:
            continue
        if skipped:
            made.legal[row, place, state.legal_actions(player)] = True
            continue
        if root is None:
            weights = marginal(found.visits, player)
        else:
            weights = outcome_weights(root, player, targets.policy, targets.nash)
        total = weights.sum()
        share = weights / total if total > 0 else found.priors[player].astype(np.float64)
        made.policies[row, place, found.outcomes[player]] = share
        legal = state.legal_actions(player)
        made.legal[row, place, legal] = True
        if len(found.outcomes[player]) < len(legal):
            stand, outcome = state.outcomes(player)
            made.groups[row, place, legal] = stand[outcome[legal]]
        positive = share > 0
        prior = np.maximum(found.priors[player][positive], 1e-9)
        made.surprise[row] += max(0.0, float((share[positive] * np.log(share[positive] / prior)).sum()))


def replay(game: Game, record: GameRecord) -> tuple[list[State], NDArray[np.float64]]:
    """All positions, the final one included, and the rewards [moves, 2]; a resignation is paid at the last move."""
    state = record.initial_state(game)
    states, rewards = [state.copy()], np.zeros((len(record.moves), 2))
    for number, move in enumerate(record.moves):
        rewards[number] = state.apply(*move.actions)
        states.append(state.copy())
    if len(rewards):
        rewards[-1] += record.returns - rewards.sum(axis=0)
    return states, rewards


def cut_by_limits(record: GameRecord, last: State) -> GameRecord:
    """The record, as a cut one if a limit has ended the game (``truncated``): there too, what follows is unknown."""
    return replace(record, cut=True) if getattr(last, "truncated", False) else record


def value_targets(
    record: GameRecord, rewards: NDArray[np.float64], targets: TargetConfig, discount: float
) -> NDArray[np.float64]:
    """The value target of each position and player, [moves, 2]."""
    return values_and_draws(record, rewards, targets, discount)[:, :2]


def values_and_draws(
    record: GameRecord, rewards: NDArray[np.float64], targets: TargetConfig, discount: float
) -> NDArray[np.float64]:
    """As ``mixed_values``, of a record."""
    found = [
        None if move.found is None else np.array([*move.found.value, known_draw(move.found)], np.float64)
        for move in record.moves
    ]
    drawn = float(record.returns[0] == record.returns[1])
    return mixed_values(found, rewards, record.cut, targets, discount, drawn)


def draw_target(mixed: Any) -> Any:
    """Chances of a draw as rows have them: -1 where they are not known (nan)."""
    return np.nan_to_num(mixed, nan=-1.0)


def known_draw(found: FoundBySearch) -> float:
    return np.nan if found.draw is None else found.draw


def mixed_values(
    found: Sequence[NDArray[np.float64] | None],
    rewards: NDArray[np.float64],
    cut: bool,
    targets: TargetConfig,
    discount: float,
    drawn: float,
) -> NDArray[np.float64]:
    """The targets of every move, [moves, 3]: value of each player, and chance of a draw (nan where no search tells it).

    ``found`` has the same three numbers of every search. The remaining rewards of a cut game are unknown; the value of
    the last search estimates them from its position on. The targets of earlier positions therefore use that value and
    only the rewards before it. Moves after the last search are not recorded.
    """
    if discount == 1 and targets.short_share == 0:
        return _undiscounted(found, rewards, cut, targets.root_share, drawn)
    fade = 1 - 1 / max(targets.short_moves, 1.0)
    own = 1 - targets.root_share - targets.short_share
    values = np.zeros((len(found), 3))
    to_come = short = np.array([0.0, 0.0, drawn])
    gained, factors = np.zeros(3), np.array([discount, discount, 1.0])
    estimated = cut
    for number in range(len(found) - 1, -1, -1):
        root = found[number]
        gained[:2] = rewards[number]
        to_come, short = gained + factors * to_come, gained + factors * short
        if estimated and root is not None:
            to_come = short = root
            estimated = False
        short = short if root is None else (1 - fade) * root + fade * short
        root = to_come if root is None else root
        values[number] = own * to_come + targets.root_share * root + targets.short_share * short
    return values


def _undiscounted(
    found: Sequence[NDArray[np.float64] | None],
    rewards: NDArray[np.float64],
    cut: bool,
    root_share: float,
    drawn: float,
) -> NDArray[np.float64]:
    """``mixed_values`` of the usual targets, for all moves at once; the numbers are the same bit for bit."""
    searched = [number for number, root in enumerate(found) if root is not None]
    gains = np.zeros((len(found) + 1, 3))
    gains[:-1, :2] = rewards
    gains[-1, 2] = drawn
    if cut and searched:  # what came after the last search is unknown: its value stands for it
        gains[searched[-1]] = found[searched[-1]]
        gains[searched[-1] + 1 :] = 0
    to_come: NDArray[np.float64] = np.cumsum(gains[::-1], axis=0)[::-1][:-1]
    roots = to_come.copy()
    if searched:
        roots[searched] = [found[number] for number in searched]
    return (1 - root_share) * to_come + root_share * roots


def final_owners(state: State, viewer: int) -> NDArray[np.int8]:
    """The owner of each cell at the end: 1 the viewer, -1 the other player."""
    planes: NDArray[Any] = state.observation(viewer)[:2].reshape(2, -1)
    owners: NDArray[np.int8] = (planes[0] - planes[1]).astype(np.int8)
    return owners
