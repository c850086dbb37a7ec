"""Positions on a terminal: stones in colour, the last move in parentheses, and as small as the terminal needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ramify.cli.maze import compact_maze, full_maze

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ramify.games import Game, State

STYLES = ("bold red", "bold blue")  # of the stones of player 0 and player 1
MARK = "bold yellow"
BELOW = 5  # lines that a terminal needs besides the board: the opponent's move, the prompt, a message

Place = tuple[int, int]  # line and column of a character in a printed position


@dataclass(frozen=True)
class Side:
    """What a game calls one of its players, and how to find that player on the printed board."""

    name: str
    symbol: str = ""  # "" where the board uses the name itself
    style: str = "bold"

    def __str__(self) -> str:
        return f"{self.name} ({self.symbol})" if self.symbol else self.name


STONES = (Side("red", "x", STYLES[0]), Side("blue", "o", STYLES[1]))
SIDES = {  # any other game has a player 0 and a player 1
    "tictactoe": STONES,
    "connect_four": STONES,
    "hex": STONES,
    "chess": (Side("white", "capital letters"), Side("black", "small letters")),
    "pyrat": (Side("the rat", "R", STYLES[0]), Side("the python", "P", STYLES[1])),
}


PIECES = str.maketrans("KQRBNPkqrbnp", "♔♕♖♗♘♙♚♛♜♝♞♟")
FIGURES = (Side("white", "♔"), Side("black", "♚"))


def sides(game: Game, figures: bool = False) -> tuple[Side, Side]:
    """The two players as this game calls them; ``figures``: chess pieces are drawn as such."""
    if figures and game.name == "chess":
        return FIGURES
    return SIDES.get(game.name, (Side("player 0"), Side("player 1")))


def board_text(
    state: State, before: State | None = None, room: tuple[int, int] | None = None, *, figures: bool = False
) -> Text:
    """A printed position in which the last turn is marked.

    ``before`` is the position before that turn; Hex and chess know it themselves. ``room`` are the columns and lines of
    the terminal: a maze that needs more is drawn smaller. ``figures``: draw chess pieces instead of letters.
    """
    if state.game.name == "pyrat":
        return colour_maze(maze_text(state, before, room))
    lines = str(state).splitlines()
    if figures and state.game.name == "chess":
        lines[:8] = [line.translate(PIECES) for line in lines[:8]]
    places = list(last_places(state, before))
    if state.game.name == "connect_four":  # its first column needs room on the left
        lines, places = [f" {line}" for line in lines], [(line, column + 1) for line, column in places]
    for line, column in places:
        lines[line] = lines[line].ljust(column + 2)
    return mark(colour("\n".join(lines)), places)


def room_of(console: Console) -> tuple[int, int] | None:
    """Columns and lines of a terminal for a position; None where nobody looks, as in a file."""
    return (console.width, console.height - BELOW) if console.is_terminal else None


def has_figures(console: Console) -> bool:
    """Whether a terminal can show chess pieces."""
    return not console.options.ascii_only


# --- marks ---


def mark(text: Text, places: Iterable[Place]) -> Text:
    """The same text with parentheses around these characters, in place of the spaces beside them."""
    lines = text.plain.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    characters = list(text.plain)
    for line, column in places:
        place = starts[line] + column
        for beside, sign in ((place - 1, "("), (place + 1, ")")):
            characters[beside] = "|" if characters[beside] in "()" else sign  # shared by two marks
            text.stylize(MARK, beside, beside + 1)
    text.plain = "".join(characters)
    return text


def last_places(state: State, before: State | None) -> Iterable[Place]:
    """Where the last turn shows in the printed position; nothing for games without a board that is known here."""
    find = PLACES.get(state.game.name)
    return find(state, before) if find is not None else ()


def _hex_places(state: Any, _: State | None) -> list[Place]:
    cell = state.fields["last"]
    if cell is None:
        return []
    row, column = int(cell[1:]) - 1, ord(cell[0]) - 97
    line = str(state).splitlines()[row + 2]
    return [(row + 2, line.index("O") + 2 + 2 * column)]


def _chess_places(state: Any, _: State | None) -> list[Place]:
    move = state.fields["last_move"] or ""
    squares = [move[i : i + 2] for i in (0, 2) if len(move) >= 4]
    return [(8 - int(square[1]), 3 + 2 * (ord(square[0]) - 97)) for square in squares]


def _changed(state: Any, before: Any) -> list[Place]:
    """Cells whose symbol is another one than before."""
    if before is None:
        return []
    pairs = zip(state.fields["board"], before.fields["board"], strict=True)
    return [
        (r, c) for r, rows in enumerate(pairs) for c, (new, old) in enumerate(zip(*rows, strict=True)) if new != old
    ]


PLACES: dict[str, Callable[[Any, Any], list[Place]]] = {
    "hex": _hex_places,
    "chess": _chess_places,
    "connect_four": lambda state, before: [(row, 2 * column) for row, column in _changed(state, before)],
    "tictactoe": lambda state, before: [(row + 1, 2 * column + 2) for row, column in _changed(state, before)],
}


# --- colours ---


def colour(text: str) -> Text:
    """A printed position with the stones and edges of x in one colour and those of o in another."""
    from rich.text import Text

    painted = Text()
    for line in text.splitlines():
        letters_of_columns = line.split()[:2] == ["a", "b"]
        for number, word in enumerate(line.split(" ")):
            style = {"x": STYLES[0], "o": STYLES[1]}.get(word.lower(), "")
            painted.append(" " if number else "").append(word, "dim" if letters_of_columns else style)
        painted.append("\n")
    return painted


def colour_maze(text: str) -> Text:
    """A maze with both players in their colours, and where they came from in small letters."""
    from rich.text import Text

    painted = Text(f"{text}\n")
    painted.highlight_regex(r"(?<![a-z])[Rr](?![a-z])", STYLES[0])
    painted.highlight_regex(r"(?<![a-z])[Pp](?![a-z])", STYLES[1])
    painted.highlight_regex(r"\*", "yellow")
    return painted


def maze_text(state: Any, before: Any, room: tuple[int, int] | None) -> str:
    """A maze with the cells that the players have left in the last turn; small where the terminal is."""
    fields, left = state.fields, {}
    if before is not None:
        was = before.fields
        left = {tuple(was[name]): letter for name, letter in (("p1", "r"), ("p2", "p")) if was[name] != fields[name]}
    text = full_maze(str(state), fields["height"], left)
    lines = text.splitlines()
    if room is None or (len(lines) <= room[1] and max(map(len, lines)) <= room[0]):
        return text
    return "\n".join([*compact_maze(fields, left), lines[-1]])
