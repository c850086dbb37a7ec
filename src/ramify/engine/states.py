"""What the engine asks of any state."""

from __future__ import annotations

from ramify.games import State


def check_state(state: object) -> None:
    """Raise a TypeError unless ``state`` is a state."""
    if hasattr(type(state), "initial_state"):
        raise TypeError(f"state must be a state of a game, such as game.initial_state(), not the game {state!r}")
    if not hasattr(type(state), "legal_actions"):
        raise TypeError(f"state must be a state of a game, not {type(state).__name__}")


def future_key(state: State) -> int:
    """A key that is equal for positions with equal futures, including repetition where the game counts it."""
    return int(getattr(state, "history_key", state.key))
