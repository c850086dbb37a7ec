"""Which games the tests of the whole layer run over: names, parameters, and the loaded example."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

# Small enough that a game takes milliseconds; at least one entry for every native game.
NATIVE: list[tuple[str, dict[str, Any]]] = [
    ("tictactoe", {}),
    ("connect_four", {}),
    ("hex", {"size": 3}),
    ("hex", {"size": 5, "swap": True}),
    ("chess", {}),
    ("pyrat", {"width": 7, "height": 5, "cheese": 5, "max_turns": 20}),
    ("pyrat", {"width": 7, "height": 5, "cheese": 5, "max_turns": 20, "reward": "difference"}),
    ("goofspiel", {"cards": 4}),
    ("goofspiel", {"cards": 4, "points": "ascending", "returns": "difference"}),
    ("pig", {"target": 20}),
    ("pig", {"target": 12, "sides": 4, "max_turns": 9}),
    ("matrix", {"payoffs": [[0.0, -1.0, 1.0], [1.0, 0.0, -1.0]]}),
    ("matrix", {"payoffs": [[[3.0, 0.0], [5.0, 1.0]], [[3.0, 5.0], [0.0, 1.0]]]}),
]


def load_example() -> Any:
    """The module examples/tictactoe_python.py, importable by name so that its game can be pickled."""
    name = "tictactoe_python"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def label(entry: tuple[str, dict[str, Any]]) -> str:
    """A test's name for an entry of the table."""
    name, params = entry
    return name + "".join(f"-{key}={value}" for key, value in params.items() if key != "payoffs")
