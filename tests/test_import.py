"""`import ramify` is quick and brings no optional package along."""

import os
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
    "optuna",
    "psycopg",
)


def run(code: str) -> str:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as for users, who compile once
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_import_loads_no_optional_package() -> None:
    loaded = run("import ramify, sys; print(*sys.modules)").split()
    assert "ramify._core" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_import_takes_little_longer_than_what_it_needs() -> None:
    """CPU time of whole processes, best of three: numpy and pydantic alone take two thirds of it."""
    own, needed = (
        min(float(run(f"import time; {code}; print(time.process_time())")) for _ in range(3))
        for code in ("import ramify", "import numpy; from pydantic import BaseModel")
    )
    assert own < 1.8 * needed


def test_import_builds_no_validators() -> None:
    """pydantic builds those of a class of settings when it is first used, by one thread."""
    code = """
import sys, threading
import ramify as rf
from ramify.engine.policies import DEFAULT_NASH
assert "importlib.metadata" not in sys.modules  # pydantic reads what is installed with the first validator
assert not rf.SearchConfig.__pydantic_complete__ and not rf.NashConfig.__pydantic_complete__
made, start = [], threading.Barrier(8)
def make():
    start.wait()
    made.append(rf.SearchConfig(simulations=7))
threads = [threading.Thread(target=make) for _ in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(len(made), set(made) == {rf.SearchConfig(simulations=7)}, DEFAULT_NASH == rf.NashConfig())
"""
    assert run(code).split() == ["8", "True", "True"]


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
