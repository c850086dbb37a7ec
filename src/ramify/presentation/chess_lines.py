"""Chess moves of a search as people read them: in standard algebraic notation, with chances and mates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramify.engine import SearchResult
    from ramify.games import State


def add_chess(state: State, result: SearchResult, rows: list[dict[str, Any]]) -> None:
    """Add to every row what chess has: ``win_draw_loss``, ``mate`` where it is proven, and with python-chess ``san``
    and ``san_line``."""
    from ramify.chess import proven_mate, win_draw_loss

    places = {int(action): place for place, action in enumerate(result.outcomes[result.acting[0]])}
    for row in rows:
        row["win_draw_loss"] = None if row["value"] is None else list(win_draw_loss(row["value"]))
        if (mate := proven_mate(result, places[row["action"]])) is not None:
            row["mate"] = mate
            row["win_draw_loss"] = [1.0, 0.0, 0.0] if mate > 0 else [0.0, 0.0, 1.0]
        line = san_line(state, row["continuation"] or [row["name"]])
        if line:
            row["san"], row["san_line"] = line[0], line


def move_name(state: State, action: int, player: int | None = None) -> str:
    """An action as people call it: in chess in standard algebraic notation, where python-chess is installed."""
    name = state.action_name(action) if player is None else state.action_name(action, player)
    return (san_line(state, [name]) or [name])[0] if state.game.name == "chess" else name


def san_line(state: State, names: list[str]) -> list[str]:
    """Moves in standard algebraic notation, played one after another; none without python-chess."""
    try:
        board = state.board  # type: ignore[attr-defined]
    except ImportError:
        return []
    found = []
    for name in names:
        move = board.parse_uci(name)
        found.append(board.san_and_push(move))
    return found
