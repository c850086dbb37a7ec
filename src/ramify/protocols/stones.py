"""The board of the HTP engine: stones in any order of colours, and their conversion to a searchable state.

Black joins top and bottom, white left and right. In this protocol a swap moves no stone: the players exchange colours,
so white, whose turn it was, is to move again and the board is as before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from ramify.games import State, make

BLACK, WHITE = 0, 1
COLOURS = ("black", "white")
SWAP = -1  # in a history, where a cell would stand
NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))


@dataclass(frozen=True)
class View:
    """A position for the search. If white is a stone ahead, colours and axes are exchanged: the mirror image, in which
    black moved first, has the same value for the player to move."""

    state: State
    mirrored: bool

    def cell(self, action: int) -> int:
        """The board cell of an action in the state; the same function maps back."""
        size = self.state.game.params["size"]
        return transposed(action, size) if self.mirrored else action


@dataclass
class Stones:
    """Stones by cell (row * size + column) and the moves that put them there."""

    size: int
    stones: dict[int, int] = field(default_factory=dict)
    history: list[tuple[int, int]] = field(default_factory=list)  # colour, cell or SWAP

    def play(self, colour: int, cell: int) -> None:
        """Place a stone; the cell must be empty."""
        self.stones[cell] = colour
        self.history.append((colour, cell))

    def swap(self, colour: int) -> None:
        """The players exchange colours."""
        self.history.append((colour, SWAP))

    def undo(self) -> None:
        """Undo the last move."""
        _, cell = self.history.pop()
        if cell != SWAP:
            del self.stones[cell]

    @property
    def to_move(self) -> int:
        """The colour to move, assuming that colours alternate; after a swap, the colour that swapped."""
        if not self.history:
            return BLACK
        colour, cell = self.history[-1]
        return colour if cell == SWAP else 1 - colour

    @property
    def may_swap(self) -> bool:
        """Whether the next move is the second one of the game."""
        return len(self.history) == 1

    def winner(self) -> int | None:
        """The colour that has connected its edges."""
        return next((colour for colour in (BLACK, WHITE) if self._joined(colour)), None)

    def _joined(self, colour: int) -> bool:
        front = [cell for cell, owner in self.stones.items() if owner == colour and self._place(cell)[colour] == 0]
        seen = set(front)
        while front:
            row, column = self._place(front.pop())
            if (row, column)[colour] == self.size - 1:
                return True
            for down, right in NEIGHBOURS:
                r, c = row + down, column + right
                near = r * self.size + c
                if 0 <= r < self.size and 0 <= c < self.size and near not in seen and self.stones.get(near) == colour:
                    seen.add(near)
                    front.append(near)
        return False

    def _place(self, cell: int) -> tuple[int, int]:
        return divmod(cell, self.size)

    def view(self, colour: int) -> View:
        """The position with this colour to move, for a search; raises a ValueError if colours did not alternate."""
        counts = [list(self.stones.values()).count(owner) for owner in (BLACK, WHITE)]
        ahead = counts[1 - colour] - counts[colour]
        if ahead not in (0, 1):
            raise ValueError(
                f"it cannot be {COLOURS[colour]}'s turn with {counts[0]} black and {counts[1]} white stones: "
                "the colours must alternate"
            )
        # Who has as many stones as the other has started, or is to start; black must be that one.
        mirrored = (colour == WHITE) == (ahead == 0)
        rows = [["."] * self.size for _ in range(self.size)]
        for cell, owner in self.stones.items():
            row, column = divmod(transposed(cell, self.size) if mirrored else cell, self.size)
            rows[row][column] = "xo"[owner ^ mirrored]
        game: Any = make("hex", size=self.size)
        state: State = game.state(board=["".join(row) for row in rows], to_move="xo"[colour ^ mirrored])
        return View(state, mirrored)

    def picture(self) -> str:
        """The board as text without empty lines; B is black, W is white."""
        letters = " ".join(chr(97 + column) for column in range(self.size))
        lines = ["    " + letters]
        for row in range(self.size):
            cells = (self.stones.get(row * self.size + column) for column in range(self.size))
            text = " ".join("." if owner is None else "BW"[owner] for owner in cells)
            lines.append(f"{' ' * row}{row + 1:3d} {text} {row + 1}")
        lines.append(f"{' ' * (self.size + 4)}{letters}")
        return "\n".join(lines)


def transposed(cell: int, size: int) -> int:
    """The cell with row and column exchanged."""
    row, column = divmod(cell, size)
    return column * size + row


def cell_name(cell: int, size: int) -> str:
    """a1 is column a of row 1."""
    row, column = divmod(cell, size)
    return f"{chr(97 + column)}{row + 1}"


def read_cell(name: str, size: int) -> int | None:
    """The cell of that name; None where there is none on the board."""
    found = re.fullmatch(r"([a-z])([1-9][0-9]?)", name.lower())
    if not found:
        return None
    row, column = int(found[2]) - 1, ord(found[1]) - 97
    return row * size + column if row < size and column < size else None


@dataclass(frozen=True)
class ProtocolView:
    """A state of ``make("hex", …)`` in the convention of the protocol.

    In the game a swap mirrors the first stone and leaves the players where they are; in the protocol it leaves the
    stone and exchanges the players' colours. So after one, player 0 is white, and every cell is mirrored.
    """

    stones: Stones
    colour: int  # to move
    swapped: bool

    @classmethod
    def of(cls, state: Any) -> ProtocolView:
        """The view of a state; the numbers of stones tell whether there was a swap."""
        fields, params = state.fields, state.game.params
        cells, size = "".join(fields["board"]), params["size"]
        player = "xo".index(fields["to_move"])
        swapped = params["swap"] and "o" in cells and cells.count("o") - cells.count("x") == 1 - player
        stones = Stones(size)
        for cell in order_of_play(cells, "ox" if swapped else "xo", read_cell(fields["last"] or "", size)):
            colour = "xo".index(cells[cell]) ^ swapped
            stones.play(colour, transposed(cell, size) if swapped else cell)
        return cls(stones, player ^ swapped, swapped)

    def action(self, cell: int) -> int:
        """The action of the state for a cell chosen by the engine."""
        return transposed(cell, self.stones.size) if self.swapped else cell


def order_of_play(cells: str, players: str, last: int | None) -> list[int]:
    """Stones of the two players in alternation, ending with the last move if it is known."""
    each = [[cell for cell, found in enumerate(cells) if found == symbol] for symbol in players]
    for own in each:
        own.sort(key=lambda cell: cell == last)
    turns = zip_longest(*each)
    return [cell for turn in turns for cell in turn if cell is not None]
