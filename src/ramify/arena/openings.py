"""Openings: both games of a pair start with the same actions, with seats exchanged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ramify.base.seeds import derive
from ramify.games import Game, State
from ramify.games.files.openings import play_opening, start_of_opening

TRIES = 200  # at a random opening that is new and leaves the game open


@dataclass(frozen=True)
class Opening:
    """An initial position and action names played from it; two names per turn where both players act.

    The first word may be a position instead, as in ``ramify.games.files.openings``.
    """

    actions: tuple[str, ...] = ()
    start: int = 0  # seed of the first position, where that is random

    def first_state(self, game: Game) -> State:
        """The position in which the opening starts."""
        return start_of_opening(game, self.actions, self.start)[0]

    def play(self, game: Game) -> tuple[State, list[tuple[int, ...]]]:
        """The position after the opening, and its actions turn by turn."""
        try:
            return play_opening(game, self.actions, self.start)
        except ValueError as error:
            raise ValueError(f"opening {' '.join(self.actions)!r}: {error}") from None


class Openings:
    """A sequence of openings; its beginning does not depend on how many are used, so a match can be extended.

    ``what`` is "none", "random:K" (K random turns, without repetition while possible, never a finished game),
    "every:K" (all sequences of K turns, in order, then again from the first), or a list of openings, each a string or
    a sequence of action names.
    """

    def __init__(self, what: str | Sequence[str | Sequence[str]] = "random:2") -> None:
        self.what = what
        self.kind, self.turns = "list", 0
        if isinstance(what, str):
            self.kind, _, count = what.partition(":")
            self.turns = int(count) if count.isdecimal() else -1
            if self.kind not in ("none", "random", "every") or (self.turns < 1) != (self.kind == "none"):
                raise ValueError(
                    f"openings must be none, random:K or every:K with K at least 1, or a list, not {what!r}"
                )
        elif not what:
            raise ValueError("the list of openings is empty: use 'none' for games from the initial position")

    def take(self, game: Game, count: int, seed: int) -> list[Opening]:
        """The first openings, one per pair of games. An opening that cannot be played raises a ValueError."""
        found = list(itertools.islice(self._all(game, seed), count))
        for opening in found:
            if opening.play(game)[0].is_over:
                raise ValueError(f"opening {' '.join(opening.actions)!r} ends the game")
        return found

    def _all(self, game: Game, seed: int) -> Iterator[Opening]:
        if self.kind == "random":
            yield from self._random(game, seed)
            return
        for number, actions in enumerate(self._given(game)):
            yield Opening(actions, derive(seed, "start", number))

    def _given(self, game: Game) -> Iterator[tuple[str, ...]]:
        if self.kind == "none":
            return itertools.repeat(())
        if self.kind == "every":
            return itertools.cycle(every(game, self.turns))
        return itertools.cycle([tuple(one.split() if isinstance(one, str) else one) for one in self.what])

    def _random(self, game: Game, seed: int) -> Iterator[Opening]:
        seen: set[tuple[str, ...]] = set()
        fresh = True  # while there are openings that have not been drawn
        for number in itertools.count():
            rng, start = np.random.default_rng(derive(seed, "opening", number)), derive(seed, "start", number)
            drawn: tuple[str, ...] | None = None
            for _ in range(TRIES):
                drawn = random_actions(game, start, self.turns, rng) or drawn
                if drawn is not None and not (fresh and drawn in seen):
                    break
            if drawn is None:
                raise ValueError(f"{self.turns} random turns of {game.name} always end the game: use fewer turns")
            fresh = fresh and drawn not in seen
            seen.add(drawn)
            yield Opening(drawn, start)


def random_actions(game: Game, start: int, turns: int, rng: np.random.Generator) -> tuple[str, ...] | None:
    """Names of random actions; None if they end the game."""
    state, names = game.initial_state(start), []
    for _ in range(turns):
        chosen = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
        names += [state.action_name(action, player) for action, player in zip(chosen, state.acting, strict=True)]
        state.apply(*chosen)
        if state.is_over:
            return None
    return tuple(names)


def every(game: Game, turns: int) -> list[tuple[str, ...]]:
    """All sequences of that many turns that do not end the game, by name."""
    lines: list[tuple[tuple[str, ...], State]] = [((), game.initial_state(0))]
    for _ in range(turns):
        longer = []
        for names, state in lines:
            for joint in itertools.product(*(state.legal_actions(player).tolist() for player in state.acting)):
                words = [state.action_name(action, player) for action, player in zip(joint, state.acting, strict=True)]
                after = state.copy()
                after.apply(*joint)
                if not after.is_over:
                    longer.append(((*names, *words), after))
        lines = longer
    if not lines:
        raise ValueError(f"every game of {game.name} is over after {turns} turns: use fewer turns")
    return [names for names, _ in lines]
