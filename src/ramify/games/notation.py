"""Reading actions by name."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ramify.games.protocol import ActionLike, State


class UnclearActionError(ValueError):
    """An ambiguous name of an action; the message lists the possible actions."""


def read_action(state: State, word: str, player: int, *, numbers: bool = False) -> int:
    """The action with that name (case is ignored if unambiguous) or that number after '#'; in chess also SAN.

    ``numbers``: also by its number alone, unless names of legal actions are numbers too.
    """
    number = word.removeprefix("#")
    if number != word and number.isdecimal():
        return int(number)
    try:
        return state.action(word, player)
    except ValueError:
        found = _alike(state, word, player) or (_by_san(state, word) if state.game.name == "chess" else {})
        if not found and numbers and word.isdecimal():
            found = _by_number(state, word, player)
        if not found:
            raise
    if len(found) > 1:
        raise UnclearActionError(f"{word!r} can mean {' or '.join(found)}: write one of them exactly")
    return next(iter(found.values()))


def _alike(state: State, word: str, player: int) -> dict[str, int]:
    """Legal actions whose names differ from the word in case only."""
    names = {state.action_name(int(action), player): int(action) for action in state.legal_actions(player)}
    return {name: action for name, action in names.items() if name.lower() == word.lower()}


def _by_number(state: State, word: str, player: int) -> dict[str, int]:
    """The legal action with that number, if there is one and no name of an action is a number."""
    legal = state.legal_actions(player).tolist()
    if int(word) not in legal:
        return {}
    names = [state.action_name(action, player) for action in legal]
    if any(name.isdecimal() for name in names):
        raise UnclearActionError(
            f"{word!r} names no legal action of player {player}, such as {' or '.join(names[:3])}; "
            f"to give an action by its number, write #{word}"
        )
    return {word: int(word)}


def _by_san(state: State, word: str) -> dict[str, int]:
    """Legal chess moves by their standard algebraic notation: exactly, else in any case and without x, = and +.

    Without python-chess there are none.
    """
    try:
        board = state.board  # type: ignore[attr-defined]
    except ImportError:
        return {}
    try:
        move = board.parse_san(word)
        return {word: state.action(move.uci())}
    except ValueError:  # not exact, ambiguous, or no move at all
        moves = {board.san(move): state.action(move.uci()) for move in board.legal_moves}
        return {san: action for san, action in moves.items() if _plain(san) == _plain(word)}


def _plain(san: str) -> str:
    """A move without optional characters."""
    return san.lower().replace("0", "o").translate(str.maketrans("", "", "x=+#-!?"))


def action_numbers(state: State, actions: Sequence[ActionLike | tuple[ActionLike, ...]]) -> list[int]:
    """The numbers of actions given as for ``state.apply``, by number or by name."""
    given = actions[0] if len(actions) == 1 and isinstance(actions[0], tuple) else actions
    named = zip(given, state.acting, strict=True)
    return [state.action(item, p) if isinstance(item, str) else operator.index(item) for item, p in named]  # type: ignore[arg-type]


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
        turn = zip(left, acting, strict=False)
        turns.append(tuple(read_action(state, word, player, numbers=True) for word, player in turn))
        state.apply(*turns[-1])
        del left[: len(acting)]
    return turns
