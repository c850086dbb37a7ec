"""Search results in HexGui's formats: labels on cells, a line of play, a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ramify.engine import SearchResult
from ramify.engine.result import action_by
from ramify.protocols.stones import COLOURS, Stones, View, cell_name

ROWS = 10  # moves of the table


@dataclass(frozen=True)
class Analysis:
    """A search of one position for the colour to move."""

    view: View
    colour: int
    result: SearchResult

    @property
    def player(self) -> int:
        """The player of that colour in the searched state."""
        return self.result.acting[0]

    def expected(self) -> float:
        """Value for the colour to move, from -1 to 1; exact if proven."""
        values = self.result.value if self.result.proven is None else self.result.proven
        return float(values[self.player])

    def moves(self) -> list[tuple[str, int, float, float]]:
        """(name, visits, value, prior) of every move, most visited first."""
        result, size = self.result, self.view.state.game.params["size"]
        rows = zip(
            result.outcomes[self.player],
            result.visits.ravel(),
            result.q[self.player],
            result.priors[self.player],
            strict=True,
        )
        named = [
            (cell_name(self.view.cell(int(action)), size), int(visits), float(value), float(prior))
            for action, visits, value, prior in rows
        ]
        return sorted(named, key=lambda row: (-row[1], -row[3], row[0]))

    def line(self) -> list[str]:
        """The most visited continuation."""
        size = self.view.state.game.params["size"]
        line = [action_by(self.player, action) for action in self.result.principal_variation]
        return [cell_name(self.view.cell(action), size) for action in line]


def percent(value: float) -> str:
    """A value from -1 to 1 as a win probability in percent."""
    return f"{50 * (1 + value):.0f}"


def show_visits(found: Analysis, _: Stones) -> str:
    """Pairs of a cell and its visits, without unvisited cells."""
    return "\n" + "\n".join(f"{name} {visits}" for name, visits, _, _ in found.moves() if visits)


def show_values(found: Analysis, _: Stones) -> str:
    """Pairs of a cell and the win probability after it, in percent."""
    return "\n" + "\n".join(f"{name} {percent(value)}" for name, visits, value, _ in found.moves() if visits)


def show_priors(found: Analysis, _: Stones) -> str:
    """Pairs of a cell and its prior, in percent."""
    return "\n" + "\n".join(f"{name} {100 * prior:.1f}" for name, _, _, prior in found.moves())


def show_line(found: Analysis, _: Stones) -> str:
    """The cells of the most visited continuation."""
    return " ".join(found.line())


def show_table(found: Analysis, stones: Stones) -> str:
    """A table of the best moves."""
    stats, rows = found.result.stats, found.moves()
    proof = "" if found.result.proven is None else ", proven"
    lines = [
        f"{COLOURS[found.colour]} to move, wins {percent(found.expected())} %{proof}",
        f"{stats['simulations']} simulations, {stats['seconds']:.2f} s, depth {stats['max_depth']}",
        "move  visits  win %  prior %",
    ]
    for name, visits, value, prior in rows[:ROWS]:
        lines.append(f"{name:<4}  {visits:6d}  {percent(value) if visits else '-':>5}  {100 * prior:7.1f}")
    lines.append(f"line {show_line(found, stones)}")
    return "\n" + "\n".join(lines)


# command: HexGui's type of display, label, and what to answer
ANALYSES: dict[str, tuple[str, str, Callable[[Analysis, Stones], str]]] = {
    "ramify-visits": ("pspairs", "Visits", show_visits),
    "ramify-values": ("pspairs", "Chance To Win", show_values),
    "ramify-priors": ("pspairs", "Priors", show_priors),
    "ramify-line": ("var", "Principal Variation", show_line),
    "ramify-analyze": ("string", "Analysis", show_table),
}
