"""Reading actions by name."""

from __future__ import annotations

from collections.abc import Sequence

from ramify.games.protocol import State


def read_action(state: State, word: str, player: int) -> int:
    """The action with that name, or with that number after '#'."""
    number = word.removeprefix("#")
    return int(number) if number != word and number.isdecimal() else state.action(word, player)


def play_words(state: State, words: Sequence[str]) -> list[tuple[int, ...]]:
    """Apply the named actions in place and return them by turn; where both players act, two names make a turn."""
    turns: list[tuple[int, ...]] = []
    left = list(words)
    while left:
        if state.is_over:
            raise ValueError(f"the game is over before {left[0]!r}")
        acting = state.acting
        if len(left) < len(acting):
            raise ValueError(
                f"both players act at once, so a turn needs two actions: the second one after {left[0]!r} is missing"
            )
        turns.append(tuple(read_action(state, word, player) for word, player in zip(left, acting, strict=False)))
        state.apply(*turns[-1])
        del left[: len(acting)]
    return turns
