"""Types that users meet are real: what public functions return is annotated, and no Any hides behind it."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGES = (
    "ramify",
    "ramify.games",
    "ramify.engine",
    "ramify.arena",
    "ramify.evaluators",
    "ramify.networks",
    "ramify.selfplay",
    "ramify.training",
    "ramify.store",
)

# Where Any is the truth, by what a reader should know of it.
PLAIN_DATA = r"dict\[str, Any\]"  # parameters, records and settings: what JSON or YAML can hold
ARRAYS = r"NDArray\[Any\]"  # an array, of a type that depends on what was given
A_POSITION = "a position is whatever the author of the game chooses"
ALLOWED = {
    "ramify.games.python_game.PythonGame.start": A_POSITION,
    "ramify.games.python_game.PythonGame.apply": A_POSITION,
    "ramify.games.python_game.PythonGame.transform": A_POSITION,
    "ramify.games.python_state.PythonState.position": A_POSITION,
}


def modules() -> Iterator[tuple[str, Any]]:
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    yield from ((name, importlib.import_module(name)) for name in PACKAGES)


def functions(package: str, module: Any) -> Iterator[tuple[str, Any]]:
    """Public functions, and public methods and properties of public classes, that are written in this project."""
    for name in module.__all__:
        public = getattr(module, name)
        if inspect.isfunction(public):
            yield f"{package}.{name}", public
        elif inspect.isclass(public) and public.__module__.startswith("ramify"):
            for member, value in vars(public).items():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{public.__module__}.{public.__qualname__}.{member}", function


def returned(function: Any) -> str:
    """The annotation of what a function returns, as text."""
    annotation = getattr(function, "__annotations__", {}).get("return", "missing")
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def hides_something(annotation: str) -> bool:
    rest = re.sub(f"{PLAIN_DATA}|{ARRAYS}", "", annotation)
    return annotation == "missing" or re.search(r"\bAny\b", rest) is not None


def test_no_public_function_returns_any() -> None:
    seen = {name: returned(function) for package, module in modules() for name, function in functions(package, module)}
    assert len(seen) > 250, "the walk has lost its way"
    assert {name: text for name, text in seen.items() if hides_something(text) and name not in ALLOWED} == {}
    assert set(ALLOWED) <= {name for name, text in seen.items() if hides_something(text)}, "an exception is out of date"


# As a user writes it; under mypy --strict.
PROGRAM = """
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import ramify as rf


def play(game: rf.Game) -> int | None:
    state = game.initial_state()
    while not state.is_over:
        result = rf.search(state, rf.evaluators.Rollout(), simulations=50)
        assert_type(result.best_action, int | tuple[int, int])
        assert_type(result.action(), int | tuple[int, int])
        assert_type(state.legal_mask(0), NDArray[np.bool_])
        print(result, result.q_values, result.visit_counts, result.prior)
        state = state.after(result.best_action)
    assert_type(state.current_player, int | None)
    return state.winner


board = rf.make("hex", size=3).initial_state()
board.apply("a1")
play(board.game)
assert_type(rf.pretrained("hex-7"), rf.evaluators.Network)
assert_type(rf.pretrained(), list[rf.networks.Pretrained])
assert_type(rf.arena.read_player("random"), rf.arena.PlayerConfig)
assert_type(rf.training.train("hex-5", "run"), Path)
assert_type(rf.hex.HexGameState(5).winner, int | None)
rf.search(board, rf.evaluators.Network(rf.networks.make(board.game, "1x8")), simulations=10)
rf.search(board, rf.pretrained("hex-7"))
rf.store.Store("games.db")
rf.selfplay.PlayConfig()


@rf.register("types")
class Types(rf.PythonGame): ...


assert_type(Types.name, str)
"""

# Line by line something that a type checker has to find.
WRONG = """
import ramify as rf
rf.arena.no_such_name
rf.no_such_package
rf.evaluators.Netwerk
rf.make("hex").initial_state().apply(1.5)
rf.pretrained("hex-7").rating
"""

# What is not looked into takes most of the time otherwise, and no type above comes from there.
SETTINGS = """
[mypy]
strict = true
[mypy-ramify.*]
follow_imports = silent
[mypy-torch.*,sqlalchemy.*,alembic.*,onnxruntime.*,pydantic.*]
follow_imports = skip
"""


def test_a_users_program_is_checked_with_real_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        "--cache-dir",
        "cache",
        "program.py",
        "wrong.py",
    ]
    here = {**os.environ, "MYPYPATH": str(Path(__file__).resolve().parent.parent / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True, timeout=300)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line for line in errors if line.startswith("program.py")] == [], done.stdout + done.stderr
    found = {int(line.split(":")[1]) for line in errors}
    assert found == set(range(3, 8)), done.stdout + done.stderr
