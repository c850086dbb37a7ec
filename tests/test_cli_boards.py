"""Boards on a terminal: the last move is marked, and what can fit 80 columns and 24 lines does."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console

import ramify as rf
from ramify.arena import SearchPlayerConfig
from ramify.cli import boards, watch
from ramify.cli.boards import board_text
from ramify.cli.common import print_position

SMALL = (80, 24 - boards.BELOW)


def after(name: str, moves: str, **params: object):
    """The position after these moves, and the one before the last."""
    state, before = rf.make(name, **params).initial_state(0), None
    for move in moves.split():
        before = state.copy()
        state.apply(state.action(move))
    return state, before


@pytest.mark.parametrize(
    ("name", "params", "moves", "line"),
    [
        ("hex", {"size": 4}, "b2 d4", "     4 O . . .(o)O 4"),
        ("hex", {"size": 4}, "b2 a1", "  1 O(o). . . O 1"),
        ("hex", {"size": 4, "swap": True}, "c1 swap", "    3 O(o). . . O 3"),
        ("hex", {"size": 11}, "f6 k11", "           11 O . . . . . . . . . .(o)O 11"),
        ("chess", {}, "e2e4", "4  . . . .(P). . ."),
        ("chess", {}, "e2e4 e7e5 e1e2 e8e7 e2e3", "2  P P P P(.)P P P"),
        ("chess", {}, "g1f3 g8f6 h1g1", "1  R N B Q K B(R|.)"),
        ("tictactoe", {}, "b2 c3", "3 . .(o)"),
        ("connect_four", {}, "d a", "(o). . x . . ."),
        ("connect_four", {}, "g", " . . . . . .(x)"),
    ],
)
def test_the_last_move_is_marked(name: str, params: dict, moves: str, line: str) -> None:
    state, before = after(name, moves, **params)
    shown = board_text(state, before)
    assert line in [row.rstrip() for row in shown.plain.splitlines()]
    assert shown.plain.count("(") + shown.plain.count("|") == (2 if name == "chess" else 1)
    plain = shown.plain.replace("(", " ").replace(")", " ").replace("|", " ")
    assert [row.strip() for row in plain.splitlines()] == [row.strip() for row in str(state).splitlines()]


def test_chess_pieces_are_drawn_where_the_terminal_can() -> None:
    state, before = after("chess", "e2e4 g8f6")
    letters, drawn = (board_text(state, before, figures=figures).plain.splitlines() for figures in (False, True))
    assert drawn[0] == "8  ♜ ♞ ♝ ♛ ♚ ♝(.)♜"
    assert drawn[4] == "4  . . . . ♙ . . ."
    assert [len(line) for line in drawn] == [len(line) for line in letters]
    assert drawn[8:] == letters[8:]  # files and who is to move
    for encoding, figures in (("utf-8", True), ("ascii", False)):
        console = Console(file=TextIOWrapper(BytesIO(), encoding=encoding))
        assert boards.has_figures(console) is figures


@pytest.mark.parametrize("name", ["hex", "chess", "tictactoe", "connect_four", "pyrat", "goofspiel", "matrix", "pig"])
def test_the_start_has_no_mark(name: str) -> None:
    state = rf.make(name).initial_state(0)
    shown = [line.strip() for line in board_text(state).plain.splitlines()]
    assert shown == [line.strip() for line in str(state).splitlines()]


def test_a_game_without_a_board_is_shown_as_it_is() -> None:
    state = rf.make("goofspiel").initial_state(0)
    before = state.copy()
    state.apply(1, 2)
    assert board_text(state, before).plain.rstrip() == str(state)


def test_a_maze_shows_where_the_players_came_from() -> None:
    state = rf.make("pyrat", width=5, height=3, cheese=1, wall_density=0.0, mud_density=0.0).initial_state(0)
    before = state.copy()
    state.apply(0, 3)  # the rat goes up, the python left
    lines = board_text(state, before).plain.splitlines()
    assert lines[5].startswith(" 0 | r ")
    assert lines[1].rstrip().endswith("p |")
    small = board_text(state, before, (80, 5)).plain.splitlines()
    assert small[3].startswith(" 0 |r_")
    assert small[2].startswith(" 1 |R ")
    assert small[1].endswith("P  p |")


def test_the_small_maze_has_every_wall_mud_and_cheese_of_the_large_one() -> None:
    state = rf.make("pyrat").initial_state(3)
    fields = state.fields
    lines = board_text(state, None, SMALL).plain.splitlines()
    rows = {y: lines[fields["height"] - y] for y in range(fields["height"])}
    walls = {frozenset(map(tuple, wall)) for wall in fields["walls"]}
    mud = {frozenset(map(tuple, edge[:2])): edge[2] for edge in fields["mud"]}
    for x in range(fields["width"]):
        for y in range(fields["height"]):
            cell, below, right = rows[y][4 + 3 * x : 7 + 3 * x]
            assert (cell == "*") == ([x, y] in fields["cheese"])
            for other, shown, wall in (((x, y - 1), below, "_"), ((x + 1, y), right, "|")):
                pair = frozenset([(x, y), other])
                outside = other[1] < 0 or other[0] == fields["width"]
                assert (shown == wall) == (outside or pair in walls)
                assert (shown == str(mud.get(pair))) == (pair in mud)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("hex", {"size": 11}),
        ("chess", {}),
        ("connect_four", {}),
        ("tictactoe", {}),
        ("pyrat", {"preset": "tiny"}),
        ("pyrat", {"preset": "medium"}),
    ],
)
def test_boards_fit_a_small_terminal(name: str, params: dict) -> None:
    state = rf.make(name, **params).initial_state(0)
    lines = board_text(state, None, SMALL).plain.splitlines()
    assert len(lines) <= SMALL[1]
    assert max(map(len, lines)) <= SMALL[0]
    players = [watch.Player(state.game, number, SearchPlayerConfig(simulations=5), number) for number in (0, 1)]
    choices = [player.choose(state) for player in players if player.number in state.acting] * 30
    console = Console(file=StringIO(), width=80, height=24, force_terminal=True, color_system=None)
    drawn = console.render_lines(watch.screen(state, None, players, choices, (80, 24)), pad=False)
    assert len(drawn) <= 24


@pytest.mark.parametrize(
    ("name", "params"),
    [("pyrat", {"width": 64, "height": 3, "cheese": 4}), ("hex", {"size": 19}), ("chess", {}), ("connect_four", {})],
)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_boards_are_cut_off_and_not_wrapped(name: str, params: dict, width: int) -> None:
    state = rf.make(name, **params).initial_state(0)
    lines = board_text(state, None, (width, 99)).plain.rstrip("\n").splitlines()
    players = [watch.Player(state.game, number, SearchPlayerConfig(simulations=5), number) for number in (0, 1)]

    def shown(show, **settings) -> list[str]:
        console = Console(file=StringIO(), width=width, color_system=None, **settings)
        show(console)
        return [line.rstrip() for line in console.file.getvalue().splitlines()]

    whole = shown(lambda console: print_position(console, board_text(state)))
    assert [line.strip() for line in whole if line] == [line.strip() for line in str(state).splitlines()]  # a file
    note = f"(cut off: the board is {max(map(len, lines))} columns wide, the terminal {width})"
    for show in (
        lambda console: print_position(console, board_text(state, None, (width, 99))),
        lambda console: console.print(watch.screen(state, None, players, [], (width, 99))),
    ):
        seen = shown(show, force_terminal=True)
        for line, wanted in zip(seen, lines, strict=False):
            assert line.startswith(wanted[:width].rstrip())
        assert (note in seen) == (max(map(len, lines)) > width)


def test_stones_are_coloured_and_column_letters_are_not() -> None:
    painted = boards.colour("  a b x o\n1 x . o X\nO has won")
    styled = [(painted.plain[span.start : span.end], span.style) for span in painted.spans if span.style]
    red, blue = boards.STYLES
    assert [pair for pair in styled if pair[1] in boards.STYLES] == [("x", red), ("o", blue), ("X", red), ("O", blue)]
    assert painted.plain == "  a b x o\n1 x . o X\nO has won\n"


def test_watch_marks_the_last_move(capsys: pytest.CaptureFixture[str]) -> None:
    state = rf.make("tictactoe").initial_state()
    players = [watch.Player(state.game, number, SearchPlayerConfig(simulations=20), number) for number in (0, 1)]
    watch.watch_plain(Console(), state, players, 0.0)
    out = capsys.readouterr().out
    last = [line for line in out.splitlines() if " plays " in line][-1].split()[2]
    row = next(line for line in out.splitlines() if line.startswith(f"{last[1]} "))
    assert row[2 * (ord(last[0]) - 97) + 1] == "("
    console = Console(force_terminal=True, width=80, height=24)
    state = rf.make("tictactoe").initial_state()
    players = [watch.Player(state.game, number, SearchPlayerConfig(simulations=20), number) for number in (0, 1)]
    watch.watch_live(console, state, players, delay=0.0)
    assert "(" in capsys.readouterr().out.replace("(expects", "")
