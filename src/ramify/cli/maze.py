"""PyRat's mazes as text: the printed position with the last turn in it, and a smaller drawing for small terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Cell = tuple[int, int]
Left = Mapping[Cell, str]  # cells that the players have left in the last turn: r or p


def full_maze(text: str, height: int, left: Left) -> str:
    """The printed position with these letters in empty cells: three characters and an edge for each cell."""
    lines = text.splitlines()
    for (x, y), letter in left.items():
        number, column = 2 * (height - 1 - y) + 1, 5 + 4 * x
        line = lines[number]
        if line[column - 1 : column + 2].strip() == "":
            lines[number] = line[:column] + letter + line[column + 1 :]
    return "\n".join(lines)


def compact_maze(fields: Mapping[str, Any], left: Left) -> list[str]:
    """One line for each row of cells: what is in a cell, the edge below it, the edge right of it.

    An edge is a wall (``_`` below, ``|`` on the right), the turns that its mud takes, or open. Two players in one cell
    are B, cheese is ``*``.
    """
    width, height = fields["width"], fields["height"]
    walls = {frozenset(map(tuple, wall)) for wall in fields["walls"]}
    mud = {frozenset((tuple(one), tuple(other))): turns for one, other, turns in fields["mud"]}

    def edge(one: Cell, other: Cell, wall: str) -> str:
        outside = not (0 <= other[0] < width and 0 <= other[1] < height)
        pair = frozenset((one, other))
        turns = mud.get(pair)
        return wall if outside or pair in walls else " " if turns is None else str(turns) if turns < 10 else "~"

    content: dict[Cell, str] = {**left, **{tuple(cell): "*" for cell in fields["cheese"]}}
    rat, python = tuple(fields["p1"]), tuple(fields["p2"])
    content.update({rat: "R", python: "B" if rat == python else "P"})
    lines = ["   " + " __" * width]
    for y in reversed(range(height)):
        line = f"{y:>2} |"
        for x in range(width):
            below = edge((x, y), (x, y - 1), "_")
            line += content.get((x, y), "_" if below == "_" else " ") + below + edge((x, y), (x + 1, y), "|")
        lines.append(line)
    lines.append("   " + "".join(f"{x:>3}" for x in range(width)))
    return lines
