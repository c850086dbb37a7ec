"""Other programs as players: what they are told, what they answer, and what happens when they misbehave."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import stat
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ramify as rf
from ramify.arena import Turn, match, player_config, player_kinds
from ramify.protocols import EngineError, HtpConfig, UciConfig
from ramify.protocols.process import EngineProcess

HERE = Path(__file__).parent
UCI = f"{sys.executable} {HERE / 'fake_uci.py'}"
HTP = f"{sys.executable} {HERE / 'fake_htp.py'}"
OWN = f"{sys.executable} -m ramify htp --network rollout --simulations 60"


def turn(state: rf.State) -> Turn:
    return Turn(state, state.acting[0], 0)


def patience(manner: str) -> float:
    """Seconds: few where they are waited for, else enough for a busy machine."""
    return 3.0 if manner.endswith(("hangs", "mute", "floods", "floods stderr", "garbage")) else 60.0


def children() -> set[str]:
    """Processes of this one, zombies included; none can be seen where there is no /proc."""
    found = set()
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                found.add(entry.name)
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    before = children()
    yield
    assert children() - before == set()


def test_the_kinds_are_known() -> None:
    assert {"uci", "htp"} <= set(player_kinds())
    assert player_config("uci", command="x", nodes=5) == UciConfig(command="x", nodes=5)
    with pytest.raises(ValueError, match="nodes, depth and seconds"):
        UciConfig(command=UCI)
    with pytest.raises(ValueError, match="play only chess, not hex"):
        UciConfig(command=UCI, nodes=1).open(rf.make("hex", size=5))
    with pytest.raises(ValueError, match="play only hex, not chess"):
        HtpConfig(command=HTP).open(rf.make("chess"))


# --- UCI ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Hsh": 4}, "has no option 'Hsh'; did you mean 'Hash'"),
        ({"Foo": 1500}, "has no option 'Foo'; it has Hash, Own, "),
        ({"Hash": 65}, "option Hash must be a whole number from 1 to 64, not 65"),
        ({"Hash": "big"}, "option Hash must be a whole number from 1 to 64, not 'big'"),
    ],
)
def test_options_that_a_program_does_not_have_are_refused(options: dict[str, str | int], message: str) -> None:
    with pytest.raises(EngineError, match=re.escape(message)):
        UciConfig(command=UCI, nodes=1, options=options).open(rf.make("chess"))
    UciConfig(command=UCI, nodes=1, options={"hash": 64, "own": True}).open(rf.make("chess")).close()


def test_copies_of_a_program_answer_at_the_same_time(tmp_path: Path) -> None:
    """The first answer waits until another copy has been asked too, so one copy alone would never answer."""
    game = rf.make("chess")
    states = [game.initial_state() for _ in range(4)]
    for state, name in zip(states, ("e2e4", "d2d4", "c2c4", "g1f3"), strict=True):
        state.apply(state.action(name))
    config = UciConfig(command=f"{UCI} meets {tmp_path / 'log'}", nodes=1, processes=2)
    player = config.open(game)
    try:
        answers = player.choose([turn(state) for state in states])
    finally:
        player.close()
    assert [state.action_name(answer) for state, answer in zip(states, answers, strict=True)] == ["a7a5"] * 4
    assert config.identity == config.replace(processes=1).identity  # it plays the same


def test_the_error_of_one_copy_is_that_of_its_turn_alone() -> None:
    config = UciConfig(command=f"{UCI} illegal", nodes=1, processes=2)
    state = rf.make("chess").initial_state()
    player = config.open(state.game)
    try:
        for _ in range(2):  # an engine that failed is started again
            with pytest.raises(EngineError, match="e2e5"):
                player.choose([turn(state), turn(state), turn(state)])
    finally:
        player.close()
    with pytest.raises(EngineError):
        UciConfig(command=f"{UCI} mute", nodes=1, processes=2, patience=1.0).open(state.game)


def test_a_chess_program_is_told_everything_each_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = UciConfig(command=f"{UCI} good {log}", nodes=7, depth=3, seconds=0.25, options={"Hash": 4, "Own": True})
    state = rf.make("chess").initial_state()
    for name in ("e2e4", "e7e5", "g1f3", "g8f6", "f3g1", "f6g8"):
        state.apply(state.action(name))
    player = config.open(state.game)
    try:
        answers = player.choose([turn(state), turn(rf.make("chess").initial_state())])
    finally:
        player.close()
    assert [state.action_name(answers[0]), rf.make("chess").initial_state().action_name(answers[1])] == ["a2a3"] * 2
    said = log.read_text().splitlines()
    assert said[:4] == ["uci", "setoption name Hash value 4", "setoption name Own value true", "isready"]
    assert said[4:6] == ["ucinewgame", "isready"]
    # The way since the last pawn move is told: the position has been on the board before.
    fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq"
    assert said[6].startswith(f"position fen {fen}")
    assert said[6].endswith("moves g1f3 g8f6 f3g1 f6g8")
    assert said[7] == "go nodes 7 depth 3 movetime 250"
    assert said[10] == "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def test_a_whole_game_of_chess_is_legal() -> None:
    state = rf.make("chess").initial_state()
    player = UciConfig(command=UCI, nodes=1).open(state.game)
    try:
        for _ in range(60):
            if state.is_over:
                break
            wanted = min(state.action_name(int(action)) for action in state.legal_actions())
            (action,) = player.choose([turn(state)])
            assert state.action_name(action) == wanted
            state.apply(action)
    finally:
        player.close()


def test_a_promotion_is_understood() -> None:
    state = rf.make("chess").state("8/P7/8/8/8/8/k6P/7K w - - 0 1")
    player = UciConfig(command=UCI, nodes=1).open(state.game)
    try:
        (action,) = player.choose([turn(state)])
    finally:
        player.close()
    assert state.action_name(action) == "a7a8b"


@pytest.mark.parametrize(
    ("manner", "complaint"),
    [
        ("dies", r"died: no 'bestmove' \(exit code 3\): a bad thing happened"),
        ("hangs", "hangs: no 'bestmove' in time"),
        ("floods", "hangs: no 'bestmove' in time; it answered 'info string still here'"),
        ("floods stderr", "hangs: no 'bestmove' in time: .*still here"),
        ("babbles", "line without end"),
        ("illegal", "chose 'e2e5', which is not legal"),
        ("null", "chose '0000', which is not legal"),
        ("empty", "chose 'ponder', which is not legal"),
    ],
)
def test_a_chess_program_that_misbehaves_is_named_and_ended(manner: str, complaint: str) -> None:
    state = rf.make("chess").initial_state()
    player = UciConfig(command=f"{UCI} '{manner}'", nodes=1, patience=patience(manner)).open(state.game)
    with pytest.raises(EngineError, match=complaint) as raised:
        player.choose([turn(state)])
    assert "fake_uci.py" in str(raised.value)
    assert len(str(raised.value).partition("\n")[0]) < 800
    assert player._process is None
    player.close()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (f"{UCI} mute", "hangs: no 'uciok'"),
        (f"{UCI} 'dies at once'", "exit code 1.*no network file"),
        ("/no/such/program", "cannot start"),
        ("'unbalanced", "cannot start"),
        (" ", "cannot start"),
        ("true", "died"),
    ],
)
def test_a_program_that_cannot_be_used_says_so_at_once(command: str, complaint: str) -> None:
    with pytest.raises(EngineError, match=complaint):
        UciConfig(command=command, nodes=1, patience=patience(command)).open(rf.make("chess"))


def test_a_missing_program_is_reported_before_missing_limits(tmp_path: Path) -> None:
    (text := tmp_path / "notes.txt").write_text("not a program")
    for command in ("no-such-program --fast", str(text)):
        with pytest.raises(ValueError, match=re.escape(command.split()[0])) as raised:
            player_config("uci", command=command)
        assert "depth" not in str(raised.value)


def test_after_a_failure_the_program_is_started_anew(tmp_path: Path) -> None:
    state = rf.make("chess").initial_state()
    player = UciConfig(command=UCI, nodes=1).open(state.game)
    try:
        first = player.choose([turn(state)])
        os.kill(player._process._process.pid, 9)
        with pytest.raises(EngineError, match="died"):
            player.choose([turn(state)])
        assert player.choose([turn(state)]) == first
    finally:
        player.close()


def test_identity_has_the_name_the_command_and_the_limits() -> None:
    config = UciConfig(command=UCI, nodes=5)
    content = config.content()
    assert (content["engine"], content["command"], content["nodes"]) == ("Fake 1.0", UCI, 5)
    assert config.identity == UciConfig(command=UCI, nodes=5, patience=3).identity
    assert config.identity != UciConfig(command=UCI, nodes=6).identity
    assert HtpConfig(command=HTP).content()["engine"] == "Fake 2.0"
    assert HtpConfig(command=HTP).identity != HtpConfig(command=HTP, setup=["param_mcts simulations 5"]).identity
    assert HtpConfig(command="x").label == "htp:command=x"


@pytest.mark.skipif(shutil.which("stockfish", path="/usr/games:/usr/bin") is None, reason="no stockfish here")
def test_stockfish_mates_in_one() -> None:
    program = shutil.which("stockfish", path="/usr/games:/usr/bin")
    config = UciConfig(command=str(program), nodes=2000, options={"Hash": 16, "Threads": 1})
    assert "Stockfish" in config.content()["engine"]
    state = rf.make("chess").state("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1")
    player = config.open(state.game)
    try:
        state.apply(player.choose([turn(state)])[0])
    finally:
        player.close()
    assert state.is_over
    assert state.returns.tolist() == [1, -1]


# --- HTP ---


@pytest.mark.parametrize(
    ("manner", "complaint"),
    [
        ("dies", r"died: no answer to .*genmove.* \(exit code 1\): out of stones"),
        ("hangs", "hangs: no answer to 'genmove black' in time"),
        ("illegal", "chose 'z9', which is not legal"),
        ("occupied", "is not legal"),
        ("refuses", "rejected 'genmove black': not today"),
        ("refuses at length", "rejected 'genmove black': … .* today$"),
        ("floods", "hangs: no answer to 'genmove black' in time; it answered 'still here'"),
        ("garbage", "hangs: no answer to 'genmove black' in time; it answered 'c3, I think'"),
        ("answers without end", "answers 'genmove black' without end: '= a1'"),
        ("streams", "line without end: = a1 and = a1 and"),
    ],
)
def test_a_hex_program_that_misbehaves_is_named_and_ended(manner: str, complaint: str) -> None:
    state = rf.make("hex", size=4).state("b2 c3")
    player = HtpConfig(command=f"{HTP} '{manner}'", patience=patience(manner)).open(state.game)
    with pytest.raises(EngineError, match=complaint) as raised:
        player.choose([turn(state)])
    assert player._process is None
    assert len(str(raised.value).partition("\n")[0]) < 800


def test_a_hex_program_that_resigns_plays_on() -> None:
    state = rf.make("hex", size=4).state("a1 c3")
    player = HtpConfig(command=f"{HTP} resigns").open(state.game)
    assert player.choose([turn(state)]) == [1]
    player.close()


def test_our_own_program_swaps_what_wins_and_plays_on() -> None:
    """Whole games with swap over the protocol, checked by the game, where a swap mirrors the stone: the second player
    takes exactly the openings that another program has proven to win, and wins all games."""
    openings = json.loads((HERE.parent / "golden/hex_openings.json").read_text())["sizes"]["3"]["winning_first_moves"]
    game = rf.make("hex", size=3, swap=True)
    player = HtpConfig(command=OWN, setup=["param_mcts simulations 5000"]).open(game)
    taken = []
    try:
        for first in range(9):
            state = game.initial_state()
            name = state.action_name(first)
            state.apply(first)
            while not state.is_over:
                (action,) = player.choose([turn(state)])
                taken += [name] if action == 9 else []
                state.apply(action)
            assert state.returns.tolist() == [-1, 1]
    finally:
        player.close()
    assert sorted(taken) == sorted(openings)


def test_a_choice_depends_on_the_turn_alone() -> None:
    game = rf.make("hex", size=5)
    rng = np.random.default_rng(0)
    turns = []
    for moves in range(0, 12, 3):
        state = game.initial_state()
        for _ in range(moves):
            state.apply(int(rng.choice(state.legal_actions())))
        if not state.is_over:
            turns.append(turn(state))
    player = HtpConfig(command=OWN, setup=["param_mcts simulations 30"]).open(game)
    try:
        together = player.choose(turns)
        assert player.choose(turns[::-1]) == together[::-1]
        assert all(action in t.state.legal_actions() for action, t in zip(together, turns, strict=True))
    finally:
        player.close()


def bytes_in_open_files() -> int:
    """Of this process, those without a name included."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the folder's own
            found = os.fstat(int(entry.name))
            total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be seen here")
def test_what_a_program_logs_is_not_kept() -> None:
    """Nine megabytes on stderr, of which an error would show the end: neither in memory nor in a file."""
    state = rf.make("chess").initial_state()
    player = UciConfig(command=f"{UCI} logs", nodes=1).open(state.game)
    before = bytes_in_open_files()
    try:
        assert state.action_name(player.choose([turn(state)])[0]) == "a2a3"
        assert bytes_in_open_files() < before + 1_000_000
        assert len(player._process._errors) < 10_000
    finally:
        player.close()


def test_a_program_that_writes_without_end_forfeits_its_game() -> None:
    game = rf.make("hex", size=3)
    players = HtpConfig(command=f"{HTP} floods", patience=2.0), HtpConfig(command=HTP)
    for played in match(game, *players, games=2):
        loser = played.fixture.players.index(players[0].identity)
        assert (played.reason, played.winner) == ("forfeit", 1 - loser)
        assert "it answered 'still here'" in played.detail
        assert len(played.detail) < 800


def test_a_program_that_reads_nothing_does_not_defeat_the_patience() -> None:
    process = EngineProcess(f"{sys.executable} -c 'import time; time.sleep(1000)'")
    try:
        with pytest.raises(EngineError, match="hangs: no reader of 'x") as raised:
            process.send("x" * 1_000_000, time.monotonic() + 1.0)
        assert len(str(raised.value)) < 800
    finally:
        process.close()


def test_a_forgotten_program_is_ended() -> None:
    process = EngineProcess(f"{sys.executable} -c 'import time; time.sleep(1000)'")
    pid = process._process.pid
    del process
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_a_program_has_started_is_ended_too(tmp_path: Path) -> None:
    """A program that ignores the end of its input and SIGTERM, and has a child."""
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)']); "
        "print(child.pid, flush=True); time.sleep(1000)"
    )
    process = EngineProcess(f'{sys.executable} -c "{code}"')
    pid = int(process.read_line(time.monotonic() + 20, "pid"))
    process.close()
    assert process.ended
    process.close()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break  # the system's own to clear away
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{pid}").exists()
