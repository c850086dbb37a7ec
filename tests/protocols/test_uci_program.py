"""``ramify uci`` as a program of its own: pipes, what it loads, wrong options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ramify.cli.app import app
from ramify.evaluators.backends import installed
from ramify.evaluators.kept import may_have_gpu
from tests.children import run_child
from tests.protocols.uci_session import PATIENCE

COMMAND = [sys.executable, "-m", "ramify", "uci"]


def test_the_program_answers_over_pipes() -> None:
    commands = (
        "uci\nisready\nposition startpos moves e2e4\ngo nodes 30\n\xff\x00 nonsense\n" + "x" * 200_000 + "\nisready\n"
    )
    done = subprocess.run(
        [*COMMAND, "--network", "material"],
        input=commands.encode("latin-1"),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("id name ramify ")
    assert lines.count("readyok") == 2
    assert sum(line.startswith("bestmove ") for line in lines) == 1
    assert sum("unknown command" in line for line in lines) == 2
    assert done.stderr == b""


def test_nothing_heavy_is_loaded_without_a_network() -> None:
    code = (
        "import sys; from ramify.protocols.uci import UciEngine; e = UciEngine(lambda text: None);"
        "e.execute('uci'); e.execute('setoption name Network value material');"
        "e.execute('isready'); e.execute('go nodes 5'); e.finish();"
        "print(sorted({'torch', 'chess', 'sqlalchemy', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.skipif(may_have_gpu() or len(installed()) < 2, reason="torch is needed to run networks here")
def test_the_second_start_with_the_shipped_network_does_without_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path))
    monkeypatch.setenv("RAMIFY_BACKEND", installed()[0])
    code = (
        "import sys; from ramify.protocols.uci import UciEngine; e = UciEngine(print); e.execute('isready');"
        "e.execute('go nodes 40'); e.finish(); print('torch' in sys.modules)"
    )
    first, second = (run_child(code, timeout=120).split() for _ in range(2))
    assert (first[0], first[-1], second[0], second[-1]) == ("readyok", "True", "readyok", "False")
    assert first[first.index("bestmove") : -1] == second[second.index("bestmove") : -1]


def test_nobody_listening_ends_the_program() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*COMMAND, "--network", "material"], **pipes)  # type: ignore[call-overload]
    process.stdin.write(b"isready\ngo movetime 500000\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"readyok\n"
    process.stdout.close()
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize("option", [["--network", "nowhere.onnx"], ["-s", "c_put=1"], ["--threads", "1000"]])
def test_wrong_options_end_the_command(option: list[str]) -> None:
    done = CliRunner().invoke(app, ["uci", *option], input="")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert option[1].partition("=")[0] in done.stderr
