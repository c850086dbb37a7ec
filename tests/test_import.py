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
)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_no_optional_package() -> None:
    loaded = run("import ramify, sys; print(*sys.modules)").split()
    assert "ramify._core" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_import_takes_less_than_half_a_second() -> None:
    """CPU time of the whole process, best of three: other programs on the machine do not count."""
    code = "import time, ramify; print(time.process_time())"
    assert min(float(run(code)) for _ in range(3)) < 0.5


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
