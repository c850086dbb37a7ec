"""``ramify play``: driven over a pipe and over a terminal, in games in turn and at once."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import ramify as rf
from ramify.cli import main
from ramify.cli.heat import heat_style, hex_heat, ranking
from tests.children import run_command

COMMAND = [sys.executable, "-m", "ramify", "play"]
FAKE_HTP = Path(__file__).parent / "protocols" / "fake_htp.py"
FAKE_UCI = Path(__file__).parent / "protocols" / "fake_uci.py"


def piped(*arguments: str, typed: str) -> list[str]:
    """What a process shows when these lines are typed."""
    ended = run_command("play", *arguments, folder=Path(), typed=typed)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


@pytest.fixture
def played(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """The same within this process, which is quicker: played(*arguments, typed=lines) -> lines shown."""

    def call(*arguments: str, typed: str) -> list[str]:
        lines = iter(typed.splitlines())

        def read(prompt: str) -> str:
            print(prompt, end="")
            try:
                return next(lines)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", read)
        with pytest.raises(SystemExit) as ended:
            main(["play", *arguments])
        shown = capsys.readouterr()
        assert (ended.value.code, shown.err) == (0, "")
        return shown.out.splitlines()

    return call


def stones(lines: list[str]) -> list[tuple[int, int]]:
    """Numbers of x and o in every board shown."""
    text = "\n".join(lines)
    boards = re.findall(r"^ +X[ X]*\n(.*?)^ +X", text, flags=re.MULTILINE | re.DOTALL)
    return [(board.count("x"), board.count("o")) for board in boards]


def test_a_game_of_hex_with_every_command(tmp_path: Path) -> None:
    typed = "help\nz9\nb2\nhint\nheat\nmoves\nboard\nundo\nb2\nsave {}\nnew\nsave\nsave /no/where.json\nquit\n"
    typed = typed.format(tmp_path / "game.json")
    lines = piped("hex", "-p", "size=4", "--simulations", "60", typed=typed)
    text = "\n".join(lines)
    assert re.match(r"You are red \(x\), .*first.*, against a search guided by random games", lines[0])
    assert "'z9' is not a legal move here" in text
    assert stones(lines) == [(0, 0), (1, 1), (1, 1), (0, 0), (1, 1), (0, 0)]
    assert lines[-1].endswith("Goodbye.")
    assert "Cannot write /no/where.json" in text
    assert "a file name that ends in .json, .sgf or .svg" in text
    assert "\x1b" not in text
    saved = json.loads((tmp_path / "game.json").read_text())
    assert saved["actions"][0] == "b2"
    assert len(saved["actions"]) == 2
    assert (saved["game"], saved["parameters"]["size"], saved["over"]) == ("hex", 4, False)
    state = rf.make("hex", **saved["parameters"]).state(**saved["start"])
    for name in saved["actions"]:
        state.apply(state.action(name))


def test_a_whole_game_is_played_to_its_end_and_on() -> None:
    """A person who always takes the first cell that is free loses, may undo, and may play again."""
    cells = [f"{column}{row}" for row in range(1, 4) for column in "abc"]
    typed = "\n".join([*cells, "moves", "hint", "heat", "undo", "new", "quit", ""])
    lines = piped("hex", "-p", "size=3", "--simulations", "500", "--side", "1", typed=typed)
    text = "\n".join(lines)
    assert "You lose (-1 to 1)" in text
    assert text.count("game over> The game is over.") >= 3
    assert stones(lines)[0] == (0, 0)
    assert stones(lines)[1] == (1, 0)  # the opponent starts


def test_a_person_can_win(played) -> None:
    lines = played("hex", "-p", "size=3", "--actions", "a1 b1 a2 c1", "--simulations", "5", typed="a3\n")
    assert "You win (1 to -1). Type 'new' for another game." in lines
    assert stones(lines) == [(2, 2), (3, 2)]


def test_moves_are_taken_in_any_case(played) -> None:
    lines = played("hex", "-p", "size=4", "--simulations", "20", typed="B2\nMOVES\nQUIT\n")
    assert stones(lines) == [(0, 0), (1, 1)]
    assert "b2" not in next(line for line in lines if "a1" in line and "d4" in line)
    assert lines[-1].endswith("Goodbye.")


def test_chess_takes_san_and_uci(played) -> None:
    pytest.importorskip("chess")
    program = f"uci:command={sys.executable} {FAKE_UCI},depth=1"
    lines = played("chess", "--against", program, typed="e4\nNf3\nf1C4\nO-O\nb5\nquit\n")
    assert sum("Opponent: " in line for line in lines) == 4
    assert "1  ♖ ♘ ♗ ♕ . ♖ ♔ ." in lines
    assert lines[0].startswith("You are white (♔)")
    assert "your move> 'b5' is not a legal move here." in "\n".join(lines)


def test_a_move_that_can_be_two_is_asked_about(played) -> None:
    pytest.importorskip("chess")
    position = "4k3/8/8/8/8/2p5/1P1B4/4K3 w - - 0 1"
    lines = played("chess", "--state", position, "--simulations", "20", typed="BXC3\nquit\n")
    assert "'BXC3' can mean" in "\n".join(lines)
    assert not any("Opponent" in line for line in lines)


def test_a_person_can_resign_and_change_their_mind(played, tmp_path: Path) -> None:
    saved = tmp_path / "given_up.json"
    typed = f"b2\nresign\nresign\nmoves\nhint\nb3\nsave {saved}\nundo\nmoves\nquit\n"
    lines = played("hex", "-p", "size=4", "--simulations", "20", typed=typed)
    text = "\n".join(lines)
    assert "You resign, and the opponent wins." in text
    assert "game over> The game is already over." in text
    assert text.count("game over> The game is over.") == 3
    content = json.loads(saved.read_text())
    assert (content["result"], content["resigned"], content["over"]) == ("0-1", 0, False)
    assert lines[-1].startswith("your move> ")


@pytest.mark.parametrize(
    ("arguments", "move", "extension"),
    [
        (["hex", "-p", "size=4"], "b2", "json"),
        (["hex", "-p", "size=4", "-p", "swap=true", "--side", "1"], "swap", "sgf"),
        (["chess"], "e2e4", "json"),
        (["chess", "--state", "4k3/P7/8/8/8/8/8/4K3 w - - 0 1"], "a8=R", "pgn"),
        (["connect_four"], "d", "json"),
        (["pyrat", "-p", "preset=tiny"], "UP", "json"),
        (["goofspiel"], "3", "json"),
        (["pig", "-p", "target=40"], "roll", "json"),
    ],
)
def test_a_saved_game_is_loaded_and_goes_on(played, tmp_path: Path, arguments, move: str, extension: str) -> None:
    file = tmp_path / f"game.{extension}"
    limits = ["--simulations", "20"]
    before = played(*arguments, *limits, typed=f"{move}\nsave {file}\nboard\nquit\n")
    assert f"your move> Saved to {file}." in before
    side = ["--side", "1"] if extension == "sgf" else []
    after = played("--load", str(file), *side, *limits, typed="undo\nboard\nquit\n")
    shown = "\n".join(before).rpartition(f"Saved to {file}.\n")[2].partition("\n\n")[0].removeprefix("your move> ")
    assert shown in "\n".join(after).partition("your move> ")[0]
    assert "You have not made a move yet." not in "\n".join(after)


def test_a_picture_of_the_position_is_saved(played, tmp_path: Path) -> None:
    played(
        "hex", "-p", "size=3", "--simulations", "20", typed=f"save {tmp_path / 'x.svg'}\nsave {tmp_path / 'x.pgn'}\n"
    )
    assert (tmp_path / "x.svg").read_text() == rf.make("hex", size=3).initial_state().svg()
    assert not (tmp_path / "x.pgn").exists()


def test_a_game_that_is_over_can_be_loaded_and_undone(played, tmp_path: Path) -> None:
    file = tmp_path / "over.sgf"
    file.write_text("(;GM[11]SZ[3];B[a1];W[b1];B[a2];W[c1];B[a3])")
    lines = played("hex", "--load", str(file), "--simulations", "20", typed="undo\nquit\n")
    assert "You win (1 to -1). Type 'new' for another game." in lines
    assert stones(lines)[-1] == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "content", "words"),
    [
        ([], None, ["cannot read", "game.sgf"]),
        ([], "(;GM[11]SZ[3]\n;B[a1]\n;W[a1])", ["game.sgf, line 3", "White a1"]),
        (["chess"], "(;GM[11]SZ[3])", ["a game of hex, not of chess"]),
        (["hex", "-p", "size=4"], "(;GM[11]SZ[3])", ["--load", "leave out parameters"]),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_line(capsys, tmp_path: Path, arguments, content, words) -> None:
    file = tmp_path / "game.sgf"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SystemExit) as ended:
        main(["play", *arguments, "--load", str(file)])
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert [word for word in words if word not in shown.err] == []


def test_both_move_at_once(played) -> None:
    typed = "moves\nhint\nheat\n#3\nundo\n#0\nnew\nquit\n"
    lines = played("goofspiel", "--simulations", "50", typed=typed)
    text = "\n".join(lines)
    assert text.count("Opponent: ") == 2
    assert "player 0" in text
    assert "player 1" in text
    assert lines[-1].endswith("Goodbye.")
    moves = next(line for line in lines if line.startswith("your move> ")).removeprefix("your move> ").split()
    assert moves == [rf.make("goofspiel").initial_state().action_name(action, 0) for action in range(4)]


@pytest.mark.parametrize(
    ("game", "side", "words"),
    [
        ("tictactoe", "1", ["blue (o)", "second"]),
        ("pyrat", "0", ["the rat (R)", "at once"]),
        ("goofspiel", "1", ["player 1", "at once"]),
        ("openspiel:breakthrough", "0", ["player 0", "first"]),
    ],
)
def test_a_person_is_told_once_who_they_are(played, game: str, side: str, words: list[str]) -> None:
    if ":" in game:
        pytest.importorskip("pyspiel")
    params = ["-p", "preset=tiny"] if game == "pyrat" else []
    first = played(game, *params, "--side", side, "--simulations", "5", typed="quit\n")[0]
    assert all(first.count(word) == 1 for word in words)


@pytest.mark.parametrize("game", ["tictactoe", "connect_four", "chess", "pyrat", "matrix", "openspiel:breakthrough"])
def test_every_kind_of_game_can_be_played(played, game: str) -> None:
    if ":" in game:
        pytest.importorskip("pyspiel")
    params = ["-p", "preset=tiny"] if game == "pyrat" else []
    made = rf.make(game, **dict(word.split("=") for word in params[1:]))
    start = made.initial_state(seed=0)
    name = start.action_name(int(start.legal_actions(0)[0]), 0)
    lines = played(game, *params, "--simulations", "20", typed=f"hint\n{name}\nboard\nquit\n")
    assert any("Opponent: " in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "move", "answer"),
    [
        (["hex", "-p", "size=4", "--against", f"htp:command={sys.executable} {FAKE_HTP}"], "a1", "Opponent: b1"),
        (["chess", "--against", f"uci:command={sys.executable} {FAKE_UCI},depth=1"], "e2e4", "Opponent: a5"),
    ],
)
def test_against_another_program(played, arguments: list[str], move: str, answer: str) -> None:
    lines = played(*arguments, typed=f"{move}\nquit\n")
    assert f"your move> {answer}" in lines


@pytest.mark.parametrize(
    ("manner", "reason"), [("dies", "out of stones"), ("illegal", "z9"), ("refuses", "not today"), ("occupied", "a1")]
)
def test_a_program_that_fails_ends_nothing(played, tmp_path: Path, manner: str, reason: str) -> None:
    typed = f"A1\nb2\nagain\nsave {tmp_path / 'kept.json'}\nundo\nagain\nquit\n"
    lines = played("hex", "-p", "size=4", "--against", f"htp:command={sys.executable} {FAKE_HTP} {manner}", typed=typed)
    text = "\n".join(lines)
    assert text.count("The opponent has failed: ") == 2  # after the move, and asked again
    assert reason in text
    assert "It is the opponent's turn. Type 'again' to ask it again." in text
    assert "It is not the opponent's turn." in text
    assert json.loads((tmp_path / "kept.json").read_text())["actions"] == ["a1"]
    assert lines[-1].endswith("Goodbye.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], ["nothing"]),
        (["hex", "-p", "size=99"], ["size", "99"]),
        (["hex", "-p", "size=8", "--against", "nobody"], ["nobody", "htp", "uci"]),
        (["hex", "-p", "size=8", "--against", "uci:command=x,depth=1"], ["chess", "hex"]),
        (["chess", "--against", "uci:command=/no/such,depth=1"], ["/no/such"]),
        (["hex", "--network", "no-such-net"], ["no-such-net"]),
        (["hex", "-p", "size=8", "--seconds", "-1"], ["max_seconds"]),
        (["hex", "-p", "size=2", "--actions", "a1 b1 a2"], ["over"]),
    ],
)
def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["play", *arguments])
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert [word for word in words if word not in shown.err] == []


def test_a_network_guides_the_opponent(played, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rf.networks.save(tmp_path / "small", rf.networks.make(rf.make("hex", size=3), "1x8"))
    lines = played("hex", "-p", "size=3", "--network", str(tmp_path / "small"), "--simulations", "10", typed="b2\n")
    assert "guided by small" in lines[0]
    assert any("Opponent: " in line for line in lines)


ROLLOUTS = ["--network", "rollout"]  # a shipped network would load torch first


class Terminal:
    """A terminal with a person at it."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.number, worker = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=worker,
            stdout=worker,
            stderr=worker,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in the background
        )
        os.close(worker)
        self.text = ""

    def until(self, wanted: str) -> str:
        """Everything shown since the last time, up to these words."""
        deadline = time.monotonic() + 60
        while wanted not in self.text:
            assert time.monotonic() < deadline, self.text
            if select.select([self.number], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.number, 65536).decode()
                except OSError:
                    break
        shown, _, self.text = self.text.partition(wanted)
        return shown

    def type(self, line: str) -> None:
        os.write(self.number, line.encode())

    def end(self) -> int:
        return self.process.wait(60)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.number)


def test_a_terminal_shows_colours() -> None:
    with Terminal("hex", "-p", "size=4", "--simulations", "60", *ROLLOUTS) as terminal:
        assert "\x1b[" in terminal.until("your move> ")
        terminal.type("heat\n")
        assert "\x1b[" in terminal.until("percent of the visits")
        terminal.until("your move> ")
        terminal.type("\x04")  # Ctrl-D
        terminal.until("Goodbye.")
        assert terminal.end() == 0


def test_a_large_maze_fits_a_small_terminal() -> None:
    size = {"COLUMNS": "80", "LINES": "24"}
    with Terminal("pyrat", "--simulations", "20", *ROLLOUTS, **size) as terminal:
        terminal.until("for help.")
        shown = terminal.until("your move> ").splitlines()
        assert "__ __ __" in shown[1]
        assert len(shown) <= 21
        terminal.type("quit\n")
        assert terminal.end() == 0


def test_a_terminal_without_colours_or_unicode_serves_too() -> None:
    plain = {"NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "ascii"}
    with Terminal("hex", "-p", "size=4", "--simulations", "60", *ROLLOUTS, **plain) as terminal:
        terminal.until("your move> ")
        terminal.type("heat\n")
        shown = terminal.until("percent of the visits")
        assert "\x1b[3" not in shown
        assert shown.isascii()
        terminal.until("your move> ")
        terminal.type("quit\n")
        assert terminal.end() == 0


@pytest.mark.parametrize("searching", [False, True])
def test_ctrl_c_ends_politely(searching: bool) -> None:
    with Terminal("hex", "-p", "size=8", "--seconds", "60", *ROLLOUTS) as terminal:
        terminal.until("your move> ")
        if searching:
            terminal.type("a1\n")
        time.sleep(0.5)  # until it waits, or searches
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.until("Goodbye.")
        assert "Traceback" not in terminal.text
        assert terminal.end() == 0


def test_the_heat_map_has_the_visits_of_the_search() -> None:
    state = rf.make("hex", size=3).state("b2 a1")
    result = rf.search(state, rf.evaluators.Rollout(), simulations=301)
    shown = hex_heat(state, result)
    rows = [line.replace("(", " ").replace(")", " ").split() for line in shown.plain.splitlines()[1:4]]
    assert re.search(r"1 +\(o\)", shown.plain.splitlines()[1])  # the last move
    visits = dict(zip(result.outcomes[0].tolist(), result.visits.ravel().tolist(), strict=True))
    for row, cells in enumerate(rows):
        assert (cells[0], cells[-1]) == (str(row + 1), str(row + 1))
        for column, cell in enumerate(cells[1:-1]):
            share = visits.get(3 * row + column)
            if share is None:
                assert cell in "xo"
            else:
                assert cell == (f"{share / 3:.0f}" if share >= 2 else ".")
    hottest = max(visits, key=visits.get)
    console = Console(force_terminal=True, color_system="256", width=80)
    with console.capture() as captured:
        console.print(shown)
    assert heat_style(1.0).split()[-1] == "bright_yellow"
    assert "\x1b" in captured.get()
    listed = ranking(state, result, 1).plain.split()
    assert listed[0] == state.action_name(hottest)
    assert int(listed[1]) == max(visits.values())


@pytest.mark.parametrize(
    ("game", "names"), [("pyrat", ("the rat     ", "the python  ")), ("goofspiel", ("player 0  ", "player 1  "))]
)
def test_hint_and_heat_call_players_as_the_game_does(played, game: str, names: tuple[str, str]) -> None:
    lines = played(game, "--simulations", "20", typed="hint\nheat\nquit\n")
    rows = [line.removeprefix("your move> ") for line in lines if re.search(r"\d visits? ", line)]
    assert {row[2 : 2 + len(names[0])] for row in rows} == set(names)


def test_swap_is_on_the_heat_map() -> None:
    state = rf.make("hex", size=3, swap=True).state("b2")
    result = rf.search(state, rf.evaluators.Rollout(), simulations=200)
    share = result.visits.ravel()[-1] / result.visits.sum()
    assert f"swap {100 * share:.0f} %" in hex_heat(state, result).plain
    assert np.isclose(share, result.policy()[-1])


def test_a_game_of_one_player_is_shown_after_every_move(run, played) -> None:
    pytest.importorskip("gymnasium")
    shown = played("gym:CartPole-v1", "-p", "time_limit=3", typed="0\n1\n0\nquit\n")
    text = "\n".join(shown)
    assert [word for word in ("0 actions", "1 actions", "2 actions", "3 actions") if text.count(word) != 1] == []
    assert "You play alone." in text
    assert "Your return: 3." in text
    assert "opponent" not in text.lower()
    for words in (["--against", "random"], ["--side", "1"]):
        code, _, err = run("play", "gym:CartPole-v1", *words)
        assert code == 2
        assert "a game of one player" in err
