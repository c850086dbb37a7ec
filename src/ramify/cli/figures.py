"""Numbers in the tables of a report: texts for people, numbers in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A number and how tables show it; None where there is none."""

    value: float | None
    text: str

    def __str__(self) -> str:
        return self.text


Cell = Figure | str


def whole(number: int) -> Figure:
    return Figure(number, f"{number:,}")


def decimal(number: float | None, digits: int = 3) -> Figure:
    return Figure(None, "-") if number is None else Figure(float(number), f"{number:.{digits}f}")


def percent(share: float | None) -> Figure:
    """A share, which is shown in percent; its number is from 0 to 1."""
    return Figure(None, "-") if share is None else Figure(float(share), f"{100 * share:.1f} %")


def plain(cell: Cell) -> Any:
    """A cell as JSON has it."""
    return cell.value if isinstance(cell, Figure) else cell
