"""``ramify htp``: a scripted client over pipes, every command, and garbage of all kinds."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf
from ramify.protocols.clock import Clock
from ramify.protocols.gtp import LONGEST, Command, answer, framed, serve
from ramify.protocols.htp import HtpEngine, HtpSettings
from tests.children import run_command

COMMAND = [sys.executable, "-m", "ramify", "htp", "--network", "rollout", "--simulations", "50"]
GOLDEN = Path(__file__).parent.parent / "golden"


class Client:
    """Reads as HexGui reads: lines up to an empty one, of which the first begins with '= ' or '? '."""

    def __init__(self, *arguments: str) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen([*COMMAND, *arguments], **pipes)

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> str:
        lines = []
        while (line := self.process.stdout.readline().decode()) != "\n":
            assert line.endswith("\n"), "the program has ended"
            lines.append(line)
        return "".join(lines)

    def ask(self, command: str) -> str:
        self.write(command.encode() + b"\n")
        response = self.read()
        assert response.startswith("= "), response
        return response[2:].strip("\n")

    def refused(self, command: str) -> str:
        self.write(command.encode() + b"\n")
        response = self.read()
        assert response.startswith("? "), response
        return response[2:].strip("\n")

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def client():
    made = Client()
    yield made
    made.process.kill()
    made.process.communicate()


def test_a_session_as_hexgui_has_it(client: Client) -> None:
    assert client.ask("name") == "ramify"
    assert client.ask("version") == f"{rf.__version__} (random games)"
    kinds = {"pspairs", "plist", "var", "string", "param"}
    commands = client.ask("list_commands").split()
    for line in client.ask("hexgui-analyze_commands").splitlines():
        kind, label, command = line.split("/")  # its parser takes three to five parts
        assert (kind in kinds, bool(label), command.split()[0] in commands) == (True, True, True)
    assert client.ask("boardsize 5 5") == ""
    assert client.ask("play black c3") == ""
    picture = client.ask("showboard")
    assert (picture.count("B"), picture.count("W"), picture.count(".")) == (1, 0, 24)
    move = client.ask("genmove white")
    assert re.fullmatch("[a-e][1-5]", move)
    assert client.ask("showboard").count("W") == 1
    visits = client.ask("ramify-visits black").split()
    assert set(visits[::2]) <= set(client.ask("all_legal_moves").split())
    assert sum(map(int, visits[1::2])) == 49
    line = client.ask("ramify-line black").split()
    assert line[0] == max(zip(visits[::2], map(int, visits[1::2]), strict=True), key=lambda pair: pair[1])[0]
    assert client.ask("undo") == client.ask("undo") == ""
    assert client.ask("showboard").count(".") == 25
    client.ask("quit")
    assert client.end() == (0, b"", b"")


def test_ids_comments_and_line_ends(client: Client) -> None:
    for sent, got in [
        (b"12 name\n", "=12 ramify\n"),
        (b"name # who is it\r\n", "= ramify\n"),
        (b"\n\r\n   \n# only a comment\n7\tname\n", "=7 ramify\n"),
        (b"3 nonsense\n", "?3 unknown command: nonsense\n"),
        (b"na\x00me\x7f\n", "= ramify\n"),
        (b"4\n", "?4 missing command after the id\n"),
        (b"\xff\xfe\xe2 name\n", None),
        (b"x" * 300_000 + b"\nname\n", f"? a line has at most {LONGEST} characters\n"),
    ]:
        client.write(sent)
        response = client.read()
        assert response == got if got else response.startswith("? unknown command")
    assert client.read() == "= ramify\n"


def test_the_end_of_input_is_the_end(client: Client) -> None:
    client.write(b"name\nversion")  # the last line has no end
    code, out, err = client.end()
    assert (code, err) == (0, b"")
    assert out.decode() == f"= ramify\n\n= {rf.__version__} (random games)\n\n"


def test_nobody_listening_is_no_disaster() -> None:
    client = Client()
    assert client.ask("name") == "ramify"
    client.process.stdout.close()
    client.write(b"name\n" * 50)
    client.process.stdin.close()
    assert client.process.wait(60) == 0
    assert client.process.stderr.read() == b""
    client.process.stderr.close()


def test_an_interrupt_ends_a_search_early(client: Client) -> None:
    assert client.ask("known_command gogui-interrupt") == "true"
    client.ask("param_mcts seconds 60")
    client.ask("param_mcts simulations none")
    client.ask("boardsize 9")
    started = time.perf_counter()
    client.write(b"genmove black\n")
    time.sleep(0.5)
    client.write(b"# interrupt\n")
    assert re.fullmatch("= [a-i][1-9]\n", client.read())
    assert time.perf_counter() - started < 45
    assert "B" in client.ask("showboard")


def test_whole_games_are_played_to_the_end(client: Client) -> None:
    client.ask("boardsize 4")
    for colours in (("black", "white"), ("white", "black")):
        client.ask("clear_board")
        for number in range(17):
            if client.ask("final_score") != "cannot score":
                break
            assert client.ask(f"genmove {colours[number % 2]}") != "resign"
        assert client.ask("final_score") in ("B+", "W+")
        assert client.ask("genmove black") == "resign"
        assert client.ask("all_legal_moves") == ""
        assert "over" in client.refused("ramify-analyze")


def test_mistakes_on_the_command_line_are_one_line() -> None:
    mistakes = (
        (["--network", "nothing"], "nothing"),
        (["--network", __file__], "not a network"),
        (["--seconds", "-1"], "seconds"),
    )
    for arguments, word in mistakes:
        ended = run_command("htp", *arguments, folder=Path())
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert word in ended.err


# --- in one process ---


def ask(engine: HtpEngine, line: str) -> str:
    response = answer(engine, line)
    assert response is not None
    assert response.startswith("= "), response
    return response[2:].strip()


def refused(engine: HtpEngine, line: str) -> str:
    response = answer(engine, line)
    assert response is not None
    assert response.startswith("? "), response
    return response[2:].strip()


def made(size: int = 4, **given) -> HtpEngine:
    return HtpEngine(size, HtpSettings(**{"simulations": 50, **given}), "rollout", "1.2")


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    engine = made()
    ask(engine, "play black b2")
    for line, word in [
        ("play black b2", "occupied"),
        ("play red b3", "colour"),
        ("play black e1", "invalid"),
        ("play black a0", "invalid"),
        ("play black swap-pieces", "swap"),
        ("play white swap-pieces", "swap"),
        ("play white", "arguments"),
        ("play white a1 a2", "arguments"),
        ("genmove", "arguments"),
        ("genmove black", "turn"),
        ("boardsize", "arguments"),
        ("boardsize 1", "size"),
        ("boardsize 20 20", "size"),
        ("boardsize 4 5", "square"),
        ("boardsize four", "whole number"),
        ("boardsize 9999999999999999999999", "whole number"),
        ("param_mcts simulations 0", "simulations"),
        ("param_mcts simulations many", "simulations"),
        ("param_mcts nothing 3", "unknown parameter"),
        ("param_mcts seed", "value"),
        ("param_mcts simulations none", "limit"),
        ("param_game allow_swap perhaps", "allow_swap"),
        ("param_game game_time -3", "number"),
        ("time_left green 3", "colour"),
        ("time_left black nan", "number"),
        ("time_settings 1 2", "arguments"),
        ("set_time soon", "seconds"),
        ("commands", "unknown command"),
    ]:
        assert word in refused(engine, line), line
        assert (engine.stones.stones, engine.stones.size, engine.settings) == ({5: 0}, 4, made().settings)
    ask(engine, "undo")
    assert refused(engine, "undo") == "cannot undo"


def test_every_command_is_listed_and_known() -> None:
    engine = made()
    commands = ask(engine, "list_commands").split()
    wanted = (
        "name version protocol_version list_commands known_command quit boardsize clear_board play genmove reg_genmove "
        "undo showboard final_score all_legal_moves time_left time_settings set_time param_mcts param_game "
        "hexgui-analyze_commands"
    )
    assert set(wanted.split()) <= set(commands)
    assert all(ask(engine, f"known_command {name}") == "true" for name in commands)
    assert ask(engine, "known_command fly") == "false"
    assert ask(engine, "protocol_version") == "2"


def test_reg_genmove_leaves_the_board() -> None:
    engine = made()
    move = ask(engine, "reg_genmove black")
    assert engine.stones.stones == {}
    assert ask(engine, "reg_genmove b") == move == ask(engine, "genmove Black")
    assert len(engine.stones.stones) == 1


def test_a_win_in_one_is_played_for_both_colours() -> None:
    for stones, colour, winning in [
        ("black a1 white b1 black a2 white c1 black a3 white d1", "black", "a4"),
        ("black a1 white a2 black b1 white b2 black c1 white c2 black d1", "white", "d2"),
        ("white a1 black b1 white b2 black b3 white c2 black a4", "white", None),
        ("white a2 black b1 white b2 black c1 white c2 black d1", "white", "d2"),  # white has started
    ]:
        engine = made(simulations=300)
        words = stones.split()
        for owner, cell in zip(words[::2], words[1::2], strict=True):
            ask(engine, f"play {owner} {cell}")
        move = ask(engine, f"genmove {colour}")
        if winning is not None:
            assert move == winning
            assert ask(engine, "final_score") == {"black": "B+", "white": "W+"}[colour]


@pytest.mark.parametrize("size", [2, 3])
def test_swap_takes_what_wins_and_white_is_to_move_again(size: int) -> None:
    facts = json.loads((GOLDEN / "hex_openings.json").read_text())["sizes"][str(size)]
    for cell in facts["winning_first_moves"] + facts["losing_first_moves"]:
        engine = made(size, simulations=5000)
        ask(engine, "param_game allow_swap 1")
        assert "swap-pieces" not in ask(engine, "all_legal_moves")
        ask(engine, f"play black {cell}")
        assert "swap-pieces" in ask(engine, "all_legal_moves").split()
        swaps = ask(engine, "genmove white") == "swap-pieces"
        assert swaps == (cell in facts["winning_first_moves"])
        if not swaps:
            continue
        assert "swap-pieces" not in ask(engine, "all_legal_moves")
        assert ask(engine, "showboard").count("B") == 1
        refused(engine, "play white swap-pieces")
        colour = "white"  # the first player goes on, with the other colour
        while ask(engine, "final_score") == "cannot score":
            ask(engine, f"genmove {colour}")
            colour = {"white": "black", "black": "white"}[colour]
        assert ask(engine, "final_score") == "B+"  # which the second player has now


def test_without_the_rule_nothing_is_swapped() -> None:
    engine = made(3, simulations=5000)
    ask(engine, "play black b2")
    assert ask(engine, "genmove white") != "swap-pieces"


def test_an_undone_swap_can_be_played_again() -> None:
    engine = made(allow_swap=True)
    ask(engine, "play black b2")
    for word in ("swap-pieces", "swap-sides", "SWAP"):
        ask(engine, f"play white {word}")
        ask(engine, "undo")
    assert engine.stones.stones == {5: 0}


def test_analysis_agrees_with_the_search() -> None:
    engine = made(simulations=200)
    for owner, cell in (("white", "b2"), ("black", "c3"), ("white", "c2")):  # white has started: a mirrored search
        ask(engine, f"play {owner} {cell}")
    state = rf.make("hex", size=4).state("b2 c3 b3")  # the mirror image
    result = rf.search(state, rf.evaluators.Rollout(), 200, solver=True, graph=True, canonical=True, batch=8)
    wanted = {}
    for action, visits in zip(result.outcomes[1], result.visits.ravel(), strict=True):
        row, column = divmod(int(action), 4)
        if visits:
            wanted[f"{chr(97 + row)}{column + 1}"] = int(visits)
    words = ask(engine, "ramify-visits").split()
    assert dict(zip(words[::2], map(int, words[1::2]), strict=True)) == wanted
    values = ask(engine, "ramify-values black").split()
    assert set(values[::2]) == set(wanted)
    assert all(0 <= int(value) <= 100 for value in values[1::2])
    priors = ask(engine, "ramify-priors").split()
    assert sum(map(float, priors[1::2])) == pytest.approx(100, abs=1)
    table = ask(engine, "ramify-analyze")
    expected = 50 * (1 + float((result.value if result.proven is None else result.proven)[1]))
    assert table.startswith(f"black to move, wins {expected:.0f} %")
    assert ask(engine, "ramify-line").split()[0] == max(wanted, key=wanted.get)


def test_parameters_are_shown_as_hexgui_reads_them_and_can_be_set() -> None:
    engine = made()
    shown = ask(engine, "param_mcts").splitlines()
    assert all(re.fullmatch(r"\[(bool|string)\] \w+ \S+", line) for line in shown)
    assert "[string] simulations 50" in shown
    assert "[bool] solver 1" in shown
    ask(engine, "param_mcts simulations 70")
    ask(engine, "param_mcts solver 0")
    ask(engine, "param_mcts exploration 2.5")
    assert (engine.settings.simulations, engine.settings.solver, engine.settings.exploration) == (70, False, 2.5)
    assert engine._search(0, None).result.stats["simulations"] == 70
    ask(engine, "set_time 0.5")
    assert engine.settings.seconds == 0.5
    assert "[string] game_time none" in ask(engine, "param_game")
    ask(engine, "param_game game_time 30")
    assert ask(engine, "time_left") == "Black: 30.0, White: 30.0"


def test_time_limits_hold() -> None:
    engine = made(9, simulations=None, seconds=0.2, solver=False)
    started = time.perf_counter()
    ask(engine, "genmove black")
    assert 0.15 < time.perf_counter() - started < 10
    ask(engine, "param_mcts simulations 1000000000")
    ask(engine, "param_mcts seconds none")
    ask(engine, "time_left white 5 10")
    started = time.perf_counter()
    ask(engine, "genmove white")
    assert 0.3 < time.perf_counter() - started < 5
    assert 0 < float(ask(engine, "time_left white")) <= 4.7


def test_a_clock_never_promises_more_than_there_is() -> None:
    clock = Clock()
    assert clock.seconds_for(0, 20) is None
    clock.set_all(60, 0, 0)
    assert clock.seconds_for(0, 20) == pytest.approx(3)
    clock.spend(0, 58.0)
    assert clock.seconds_for(0, 20) == pytest.approx(0.1)
    assert clock.seconds_for(1, 20) == pytest.approx(3)
    clock.set(0, 0.0, 0)
    assert 0 < clock.seconds_for(0, 20) < 0.05
    clock.set(0, 10.0, 1)
    assert clock.seconds_for(0, 20) < 10
    clock.set_all(0, 30, 3)
    assert clock.seconds_for(0, 20) == pytest.approx(9.95)
    clock.set_all(0, 30, 0)  # GTP's way to say: no limit
    assert clock.seconds_for(0, 20) is None


def test_a_failing_model_is_an_answer_and_not_the_end() -> None:
    engine = made()
    engine.evaluator = rf.evaluators.Function(lambda batch: (batch.legal * float("nan"), batch.acting * 1.0))
    assert "row 0" in refused(engine, "genmove black")
    assert ask(engine, "name") == "ramify"
    assert engine.stones.stones == {}


class Endless(io.RawIOBase):
    """Many megabytes of commands, and how many of them were read."""

    def __init__(self, line: bytes, size: int) -> None:
        super().__init__()
        self.line, self.left, self.taken, self.exhausted = line, size, 0, threading.Event()

    def read(self, size: int = -1) -> bytes:
        if self.left <= 0:
            self.exhausted.set()
            return b""
        chunk = self.line * max(1, size // len(self.line))
        self.left -= len(chunk)
        self.taken += len(chunk)
        return chunk


class Slow:
    """Answers nothing until all is read, or nothing has been read for a second."""

    ended = False

    def __init__(self, source: Endless) -> None:
        self.source, self.seen = source, 0

    def execute(self, command: Command) -> str:
        before = -1
        while self.seen == 0 and before < self.source.taken and not self.source.exhausted.is_set():
            before = self.source.taken
            self.source.exhausted.wait(1.0)
        self.seen = self.seen or self.source.taken
        return ""

    def interrupt(self) -> None:
        pass


def test_a_client_that_sends_faster_than_it_is_answered_fills_no_memory() -> None:
    line = b"known_command " + b"x" * 485 + b"\n"
    source = Endless(line, 8_000_000)
    engine, answers = Slow(source), 0

    def write(_: str) -> None:
        nonlocal answers
        answers += 1

    serve(engine, source, write)
    assert engine.seen < 3_000_000
    assert answers == source.taken // len(line)


WORDS = st.sampled_from(
    [*made().commands, "black", "white", "B", "w", "a1", "b2", "c3", "D4", "swap-pieces", "resign", "simulations", "1",
     "3", "seed", "allow_swap", "7", "-1", "none", "1e9", "nan", "#", "é", "\x00", "\t", "=", "?", "99999999999"]
)  # fmt: skip
LINES = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=6).map(" ".join))


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=12))
def test_any_lines_get_answers_in_the_right_frame(lines: list[str]) -> None:
    engine = made(4, simulations=5)
    for line in lines:
        response = answer(engine, line)
        if response is None:
            continue
        assert re.match(r"[=?]\d* ", response)
        assert response.endswith("\n\n")
        assert "\n\n" not in response[:-2]
        assert "internal error" not in response
        engine.settings = engine.settings.replace(simulations=5, seconds=None)  # whatever was asked for: stay quick
    assert answer(engine, "showboard") is not None


@given(st.text(max_size=300), st.booleans())
def test_frames_cannot_be_broken_by_their_text(text: str, failed: bool) -> None:
    response = framed(text, id="5", failed=failed)
    assert response.endswith("\n\n")
    assert "\n\n" not in response[:-2]
