"""Hex games as SGF, as HexGui writes them: GM[11], cells such as a1, swap-pieces, swap-sides and resign.

Black joins top and bottom and is player 0, who starts. Where a file lets White start, or swaps sides instead of pieces,
the game is read as its mirror image: rows and columns exchanged, and White is player 0 from there on.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ramify.games.files.record import GameFileError, GameRecord, MoveNote, Result
from ramify.games.protocol import State
from ramify.games.registry import make

HEX = "11"  # SGF's number of the game
COLOURS = ("Black", "White")
PER_LINE = 10
CELL = re.compile(r"([a-z])([1-9][0-9]*)")
MIRRORED = "The file is shown as its mirror image (rows and columns exchanged), in which player 0 joins top and bottom."
OURS = frozenset({"FF", "GM", "SZ", "CA", "AP", "PB", "PW", "DT", "RE", "RU", "B", "W", "AB", "AW", "AE", "PL"})


@dataclass(frozen=True)
class Property:
    """One property of a node, such as B[a1]."""

    name: str
    values: tuple[str, ...]
    line: int


# --- writing ---


def dumps(record: GameRecord) -> str:
    """The text of the file."""
    game, states = record.start.game, record.states()
    root = f"(;FF[4]GM[{HEX}]CA[UTF-8]AP[ramify]SZ[{game.params['size']}]"
    facts = {"PB": record.players[0], "PW": record.players[1], "DT": record.date, "RE": _outcome(record)}
    if game.params["swap"]:
        facts["RU"] = "swap"
    root += "".join(f"{name}[{_escaped(text)}]" for name, text in {**record.headers, **facts}.items() if text)
    moves = []
    for number, (state, (action,)) in enumerate(zip(states, record.turns, strict=False)):
        name = state.action_name(action)
        note = _note(state, record.notes[number]) if number < len(record.notes) else ""
        moves.append(f";{'BW'[state.acting[0]]}[{'swap-pieces' if name == 'swap' else name}]{note}")
    if record.resigned is not None:
        moves.append(f";{'BW'[record.resigned]}[resign]")
    lines = ["".join(moves[i : i + PER_LINE]) for i in range(0, len(moves), PER_LINE)]
    return "\n".join([root + _setup(record.start), *lines]) + ")\n"


def _note(state: State, note: MoveNote) -> str:
    """A note as a comment; its better line is written out."""
    position, line = state.copy(), []
    for action in note.better:
        line.append(position.action_name(action))
        position.apply(action)
    text = " ".join(filter(None, [note.mark, note.comment, "better: " + " ".join(line) if line else ""]))
    return f"C[{_escaped(text)}]" if text else ""


def _setup(start: State) -> str:
    """The stones of the first position, if there are any."""
    rows: list[str] = start.fields["board"]  # type: ignore[attr-defined]
    text = ""
    for name, symbol in (("AB", "x"), ("AW", "o")):
        cells = [
            f"[{chr(97 + c)}{r + 1}]" for r, row in enumerate(rows) for c, what in enumerate(row) if what == symbol
        ]
        text += name + "".join(cells) if cells else ""
    return f"{text}PL[{'BW'[start.acting[0]]}]" if text and start.acting else text


def _outcome(record: GameRecord) -> str:
    resigned = "Resign" if record.resigned is not None else ""
    return {"1-0": f"B+{resigned}", "0-1": f"W+{resigned}"}.get(record.result, "")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")


# --- reading ---


def loads(text: str) -> GameRecord:
    """The first game in a file of this text, without its variations."""
    properties = list(main_line(text))
    facts = {each.name: each for each in reversed(properties)}
    if "GM" in facts and facts["GM"].values[0].strip() != HEX:
        raise GameFileError(f"GM[{facts['GM'].values[0]}] is another game: Hex is GM[{HEX}]", facts["GM"].line)
    replay = _Replay(_size(facts), properties)
    replay.run()
    names = [facts[name].values[0] if name in facts else "" for name in ("PB", "PW")]
    return GameRecord(
        start=replay.start,
        turns=tuple(replay.turns),
        result=replay.result(facts["RE"].values[0] if "RE" in facts else ""),
        resigned=replay.resigned,
        players=(names[replay.mirrored], names[1 - replay.mirrored]),
        date=facts["DT"].values[0] if "DT" in facts else "",
        headers={each.name: each.values[0] for each in before_moves(properties) if each.name not in OURS},
        note=MIRRORED if replay.mirrored else "",
        notes=_notes(properties, len(replay.turns)),
    )


def _notes(properties: Sequence[Property], turns: int) -> tuple[MoveNote, ...]:
    """The comments at the moves; none if there are none at all."""
    comments: list[str] = []
    for each in properties:
        if each.name in ("B", "W"):
            comments.append("")
        elif each.name == "C" and comments:
            comments[-1] = " ".join([comments[-1], *each.values]).strip()
    return tuple(MoveNote(comment) for comment in comments[:turns]) if any(comments) else ()


def main_line(text: str) -> Iterator[Property]:
    """The properties of the first game, node by node; of every choice between variations, the first one."""
    place = text.find("(")
    if place < 0:
        raise GameFileError("an SGF file begins with (;", 1)
    while True:
        found = re.compile(r"[\s;(]*").match(text, place)
        place = found.end() if found else place
        line = text.count("\n", 0, place) + 1
        if place >= len(text):
            raise GameFileError("the file ends in the middle of a game: a ) is missing", line)
        if text[place] == ")":
            return
        name = re.compile(r"[A-Za-z]+\s*(?=\[)").match(text, place)
        if name is None:
            raise GameFileError(f"a property such as B[a1] should stand where {text[place : place + 10]!r} does", line)
        values, place = _values(text, name.end(), line)
        yield Property("".join(letter for letter in name[0] if letter.isupper()), tuple(values), line)


def before_moves(properties: Sequence[Property]) -> list[Property]:
    """What is said of the whole game."""
    return list(itertools.takewhile(lambda each: each.name not in ("B", "W"), properties))


def _values(text: str, place: int, line: int) -> tuple[list[str], int]:
    """Values in brackets from this place on, and the place behind them."""
    pattern, values = re.compile(r"\s*\[((?:[^\]\\]|\\.)*)\]", re.DOTALL), []
    while found := pattern.match(text, place):
        values.append(re.sub(r"\\(\n|.)", lambda pair: pair[1].strip("\n"), found[1], flags=re.DOTALL))
        place = found.end()
    if not values:
        raise GameFileError("a bracket that is opened here is never closed", line)
    return values, place


def _size(facts: dict[str, Property]) -> int:
    if "SZ" not in facts:
        raise GameFileError("the size of the board is missing, such as SZ[11]", 1)
    width, _, height = facts["SZ"].values[0].partition(":")
    if not width.strip().isdecimal() or height not in ("", width):
        raise GameFileError(f"SZ[{facts['SZ'].values[0]}] is not the size of a square board", facts["SZ"].line)
    return int(width)


@dataclass
class _Replay:
    """Plays the moves of a file."""

    size: int
    properties: Sequence[Property]
    turns: list[tuple[int, ...]] = field(default_factory=list)
    resigned: int | None = None
    mirrored: bool = False

    def run(self) -> None:
        moves = [each for each in self.properties if each.name in ("B", "W")]
        self.start = self._start(moves)
        self.state = self.start.copy()
        for move in moves:
            self._play(move)

    def result(self, text: str) -> Result:
        """What RE says, or the last position."""
        colour = text[:1].upper() if text[1:2] == "+" else ""
        if self.resigned is None and colour and text[2:3].upper() == "R":
            self.resigned = self._player("WB"["BW".index(colour)])
        if self.resigned is not None:
            return "0-1" if self.resigned == 0 else "1-0"
        if colour in ("B", "W"):
            return "0-1" if self._player(colour) else "1-0"
        return "*" if not self.state.is_over else "1-0" if self.state.returns[0] > 0 else "0-1"

    def _start(self, moves: Sequence[Property]) -> State:
        """The first position: empty, or with the stones of AB and AW."""
        swap = any("swap" in each.values[0].lower() for each in self.properties if each.name in ("B", "W", "RU"))
        placed = self._placed()
        stones = {name: [cell for each in placed if each.name == name for cell in each.values] for name in ("AB", "AW")}
        to_move = next((each.values[0].upper()[:1] for each in self.properties if each.name == "PL"), None)
        first = to_move or (moves[0].name if moves else None)
        self.mirrored = len(stones["AW"]) - len(stones["AB"]) == int(first != "W")  # White has started, or starts
        line = next(each.line for each in self.properties if each.name == "SZ")
        try:
            game = make("hex", size=self.size, swap=swap)
            if not placed:
                return game.initial_state()
            line = placed[0].line
            state: State = game.state(board=self._board(stones))  # type: ignore[attr-defined]
        except ValueError as error:
            raise GameFileError(str(error).partition("\n")[0], line) from None
        return state

    def _placed(self) -> list[Property]:
        """The properties that put stones on the board before the first move."""
        placed = [each for each in before_moves(self.properties) if each.name in ("AB", "AW")]
        for each in self.properties:
            if each.name in ("AB", "AW", "AE") and each not in placed:
                raise GameFileError("stones can only be placed, with AB and AW, before the first move", each.line)
        return placed

    def _board(self, stones: dict[str, list[str]]) -> list[str]:
        rows = [["."] * self.size for _ in range(self.size)]
        for name, cells in stones.items():
            for cell in cells:
                row, column = divmod(self._cell(cell), self.size)
                rows[row][column] = "xo"[self._player(name[1])]
        return ["".join(row) for row in rows]

    def _cell(self, text: str) -> int:
        """The number of a cell, in the mirror image where that is read."""
        found = CELL.fullmatch(text.strip().lower())
        column, row = (ord(found[1]) - 97, int(found[2]) - 1) if found else (self.size, self.size)
        if max(row, column) >= self.size:
            raise ValueError(f"{text!r} is not a cell of a board of size {self.size}, such as a1")
        return column * self.size + row if self.mirrored else row * self.size + column

    def _player(self, colour: str) -> int:
        return "BW".index(colour) ^ self.mirrored

    def _play(self, move: Property) -> None:
        text, player = move.values[0].strip().lower(), self._player(move.name)
        if text in ("resign", "forfeit"):
            self.resigned = player
            return
        try:
            if self.state.acting != (player,):
                raise ValueError("the game is over" if self.state.is_over else "it is the other player's turn")
            action = self.size**2 if text.startswith("swap") else self._cell(text)
            if action not in self.state.legal_actions():
                raise ValueError("this is not a legal move here")
        except ValueError as error:
            raise GameFileError(f"{COLOURS['BW'.index(move.name)]} {move.values[0]}: {error}", move.line) from None
        self.turns.append((action,))
        self.state.apply(action)
        if text == "swap-sides":  # no stone moves and White plays on; our swap has mirrored the stone instead
            self.mirrored = not self.mirrored
