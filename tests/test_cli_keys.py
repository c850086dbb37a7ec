"""PyRat in a terminal: moves by keys, the terminal restored, and games that are watched."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import termios
import time
from collections.abc import Iterator

import pytest

from ramify.cli import keys
from tests.test_cli_play import ROLLOUTS, Terminal

BOARD = ["pyrat", "-p", "width=5", "-p", "height=5", "-p", "cheese=4", "-p", "wall_density=0", "-p", "mud_density=0"]
QUICK = ["--simulations", "20", *ROLLOUTS]
ARROWS = {"UP": "\x1b[A", "DOWN": "\x1b[B", "RIGHT": "\x1b[C", "LEFT": "\x1bOD"}  # in both modes of terminals


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal: the person's, and the program's."""
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        *((sent, name) for name, sent in ARROWS.items()),
        ("\x1b[1;5C", "RIGHT"),  # with Ctrl
        ("w", "UP"),
        ("a", "LEFT"),
        ("s", "DOWN"),
        ("d", "RIGHT"),
        (" ", "STAY"),
        ("hint\n", "hint"),
        ("UP\r", "UP"),
        (":save x.json\n", "save x.json"),
        ("\n", ""),
        ("helt\x7fp\n", "help"),
        ("é\x7f\x7f\x7fmoves\n", "moves"),
        ("und\x1b", ""),  # given up
        ("\x1b[3~", ""),  # another key: Delete
    ],
)
def test_keys_and_words(terminal: tuple[int, int], typed: str, line: str) -> None:
    person, program = terminal
    with keys.Keys(program) as reader:
        os.write(person, typed.encode())
        assert reader.read_line("> ") == line


def test_ctrl_d_ends(terminal: tuple[int, int]) -> None:
    person, program = terminal
    with keys.Keys(program) as reader:
        os.write(person, b"\x04")
        with pytest.raises(EOFError):
            reader.read_line("> ")


def test_the_terminal_is_restored_after_an_error(terminal: tuple[int, int]) -> None:
    _, program = terminal
    before, handler = termios.tcgetattr(program), signal.getsignal(signal.SIGTERM)

    def fail() -> None:
        with keys.Keys(program):
            assert not termios.tcgetattr(program)[3] & (termios.ICANON | termios.ECHO)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert termios.tcgetattr(program) == before
    assert signal.getsignal(signal.SIGTERM) == handler


def modes(terminal: Terminal) -> int:
    return int(termios.tcgetattr(terminal.number)[3])


def test_a_game_by_arrow_keys() -> None:
    with Terminal(*BOARD, *QUICK) as terminal:
        usual = modes(terminal)
        assert "arrow keys" in terminal.until("for help.")
        for key, move in ((ARROWS["RIGHT"], "RIGHT"), ("w", "UP"), (" ", "STAY")):
            terminal.until("your move> ")
            terminal.type(key)
            assert move in terminal.until("Opponent: ")
        terminal.until("your move> ")
        assert modes(terminal) != usual
        terminal.type("undo\n")
        assert "turn 2 of" in terminal.until("your move> ")
        terminal.type("quit\n")
        terminal.until("Goodbye.")
        assert terminal.end() == 0
        assert modes(terminal) == usual


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_the_terminal_is_restored_after_a_signal(number: int, code: int) -> None:
    with Terminal(*BOARD, *QUICK) as terminal:
        usual = modes(terminal)
        terminal.until("your move> ")
        deadline = time.monotonic() + 30
        while modes(terminal) == usual and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(terminal.process.pid, number)
        assert terminal.end() == code
        assert modes(terminal) == usual
        assert "Traceback" not in terminal.text


def test_other_games_read_lines() -> None:
    with Terminal("hex", "-p", "size=3", *QUICK) as terminal:
        usual = modes(terminal)
        terminal.until("your move> ")
        assert modes(terminal) & termios.ICANON == usual & termios.ICANON
        terminal.type("a1\n")
        terminal.until("Opponent: ")


# ---------- watch ----------


def test_watch_draws_every_turn_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "ramify", "watch"]
    monkeypatch.setattr("tests.test_cli_play.COMMAND", command)
    arguments = [*BOARD, "-p", "max_turns=6", "--delay", "0.01"]
    with Terminal(arguments[0], "greedy", "random", *arguments[1:], LINES="40") as terminal:
        shown = terminal.until("turns in ")
        turns = int(shown.rpartition("after ")[2].split()[0])
        assert {int(turn) for turn in re.findall(r"turn (\d+) of 6", shown)} == set(range(turns + 1))
        assert "\x1b[1A" in shown  # moves up to draw over the last turn
        plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown)
        assert re.search(r"the rat plays \w+\s+the python plays \w+", plain)
        assert terminal.end() == 0
