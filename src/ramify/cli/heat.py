"""The visits of a search for each action: on the board in Hex, as a list in other games."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ramify.cli.boards import STONES, mark, sides
from ramify.games.percent import percentages
from ramify.presentation.chess_lines import move_name

if TYPE_CHECKING:
    from rich.text import Text

    from ramify.engine import SearchResult
    from ramify.games import State

STYLES = {stone.symbol: stone.style for stone in STONES}
# Backgrounds from cold to hot, each from its share of the most visited cell on.
HEAT = ((0.75, "bold black on bright_yellow"), (0.3, "black on yellow"), (0.1, "on dark_orange3"), (0.02, "on grey30"))
SHOWN = 5  # actions of a hint


def heat_text(state: State, result: SearchResult) -> Text:
    """The visits of a search."""
    return hex_heat(state, result) if state.game.name == "hex" else ranking(state, result, None)


def hex_heat(state: State, result: SearchResult) -> Text:
    """The board with the percentage of visits on every empty cell: none where it is 0."""
    from rich.text import Text

    rows: list[str] = state.fields["board"]  # type: ignore[attr-defined]
    size, player = len(rows), result.acting[0]
    visits = result.visits.sum(axis=1 - player)
    outcomes = [int(action) for action in result.outcomes[player]]
    shares = dict(zip(outcomes, visits / max(int(visits.sum()), 1), strict=True))
    percent = dict(zip(outcomes, percentages(visits.tolist()), strict=True))
    most = max(shares.values())
    letters = "".join(f"{chr(97 + column):>4}" for column in range(size))
    text = Text("    " + letters + "\n", "dim")
    for row, symbols in enumerate(rows):
        text.append("  " * row + f"{row + 1:>4}", "dim")
        for column, symbol in enumerate(symbols):
            share = shares.get(row * size + column, 0.0)
            number = percent.get(row * size + column) or "."
            text.append(f"{number if symbol == '.' else symbol:>4}", STYLES.get(symbol, heat_style(share / most)))
        text.append(f"  {row + 1}\n", "dim")
    text.append("  " * size + "    " + letters + "\n", "dim")
    if size * size in percent:
        text.append(f"swap {percent[size * size]} %\n")
    text.append("percent of the visits", "dim")
    return mark(text, [(row + 1, 2 * row + 7 + 4 * column) for row, column in last_cell(state)])


def last_cell(state: State) -> list[tuple[int, int]]:
    """Row and column of the last stone, if there is one."""
    cell: str | None = state.fields["last"]  # type: ignore[attr-defined]
    return [] if cell is None else [(int(cell[1:]) - 1, ord(cell[0]) - 97)]


def heat_style(share: float) -> str:
    """The colours of a cell with this share of the most visits."""
    return next((style for least, style in HEAT if share >= least), "dim")


def ranking(state: State, result: SearchResult, top: int | None) -> Text:
    """The actions of every acting player, most visited first."""
    from rich.text import Text

    text, both = Text(), sides(state.game)
    width = max(len(side.name) for side in both)
    for player in result.acting:
        visits = result.visits.sum(axis=1 - player)
        order = np.lexsort((result.priors[player], result.q[player], visits))[::-1]
        for i in order[:top]:
            name = move_name(state, int(result.outcomes[player][i]), player)
            value = f"value {float(result.q[player][i]):+.2f}" if visits[i] else ""
            noun = "visit" if visits[i] == 1 else "visits"
            who = f"{both[player].name:<{width}}  " if len(result.acting) == 2 else ""
            text.append(f"  {who}{name:<8} {visits[i]:>8,} {noun:<6}  {value}\n")
    text.rstrip()
    return text
