"""`import ramify` is quick and brings no optional package along."""

import subprocess
import sys

HEAVY = (
    "torch",
    "sqlalchemy",
    "alembic",
    "pyspiel",
    "open_spiel",
    "chess",
    "onnxruntime",
    "onnx",
    "scipy",
    "rich",
    "typer",
    "hypothesis",
    "nicegui",
    "starlette",
    "ray",
)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_no_optional_package() -> None:
    loaded = run("import ramify, sys; print(*sys.modules)").split()
    assert "ramify._core" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_import_takes_little_longer_than_what_it_needs() -> None:
    """CPU time of whole processes, best of three: numpy and pydantic alone take half of it."""
    own, needed = (
        min(float(run(f"import time; {code}; print(time.process_time())")) for _ in range(3))
        for code in ("import ramify", "import numpy; from pydantic import BaseModel")
    )
    assert own < 2.5 * needed


def test_games_is_a_package_and_search_a_function() -> None:
    code = """
import pickle
import ramify as rf
import ramify.games as g
import ramify.games.registry as registry
import ramify.games.pictures.svg as svg
from ramify.games import list_games, make
assert "hex" in rf.list_games() == list_games() == registry.list_games()
assert rf.games is g and g.registry is registry
assert type(rf.search).__name__ == "function" and not hasattr(rf.search, "SearchConfig")
assert g.make is make is rf.make and g.check_game is rf.check_game
assert hasattr(svg, "Canvas")
state = rf.make("hex", size=3).initial_state()
assert pickle.loads(pickle.dumps(state)).key == state.key
assert pickle.loads(pickle.dumps(g.InvalidInput("x"))).args == ("x",)
print("all")
"""
    assert run(code) == "all\n"
