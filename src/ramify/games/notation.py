"""Actions as people write them."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ramify.games.protocol import ActionLike, State


def read_action(state: State, word: str, player: int) -> int:
    """The action of that name, or of that number behind '#'."""
    number = word.removeprefix("#")
    return int(number) if number != word and number.isdecimal() else state.action(word, player)


def action_numbers(state: State, actions: Sequence[ActionLike | tuple[ActionLike, ...]]) -> list[int]:
    """The numbers of actions that ``state.apply(*actions)`` can play, however they are given."""
    given = actions[0] if len(actions) == 1 and isinstance(actions[0], tuple) else actions
    named = zip(given, state.acting, strict=True)
    return [state.action(item, p) if isinstance(item, str) else operator.index(item) for item, p in named]  # type: ignore[arg-type]


def play_words(state: State, words: Sequence[str]) -> list[tuple[int, ...]]:
    """Apply the actions named, in place, and return them by turns; where both players act, two words make one turn."""
    turns: list[tuple[int, ...]] = []
    left = list(words)
    while left:
        if state.is_over:
            raise ValueError(f"the game is over before {left[0]!r}")
        acting = state.acting
        if len(left) < len(acting):
            raise ValueError(f"both players act at once: two names make a turn, and {left[0]!r} stands alone")
        turns.append(tuple(read_action(state, word, player) for word, player in zip(left, acting, strict=False)))
        state.apply(*turns[-1])
        del left[: len(acting)]
    return turns
