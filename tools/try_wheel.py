"""Install a wheel into an empty environment without a compiler, and try what it promises.

    python -m tools.try_wheel dist/ramify-*.whl

The environment has Python, pip and what the wheel asks for: wheels only, nothing is compiled. It must bring no torch,
import quickly, and search, play, analyse and check a game of one's own.
``--here`` tries the package that is installed already, as cibuildwheel does on every platform.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

MOST_SECONDS = 0.3  # to import the package, of CPU time, on a machine that does nothing else;
MOST_SHARE = 2.5  # on others, of the time that numpy and pydantic take

PROGRAM = """
import importlib.util, pickle
import ramify as rf

for package in ("torch", "jax", "open_spiel", "gymnasium", "pettingzoo", "sqlalchemy"):
    assert importlib.util.find_spec(package) is None or not ALONE, f"the package brings {package} along"
state = rf.make("hex", size=3).initial_state()
assert rf.search(state, simulations=2000, solver=True).proven.tolist() == [1.0, -1.0]
assert pickle.loads(pickle.dumps(state)).key == state.key
for name in rf.list_games():
    rf.search(rf.make(name).initial_state(seed=0), simulations=20)
result = rf.search(rf.make("matrix").initial_state(), simulations=2000, selection="regret")
assert abs(result.average[0] - 1 / 3).max() < 0.1

@rf.register("pile")
class Pile(rf.PythonGame):
    num_actions, observation_shape = 3, (2,)
    def start(self, rng): return 10, 0
    def acting(self, position): return (position[1],) if position[0] else ()
    def legal_actions(self, position, player): return range(min(position[0], 3))
    def apply(self, position, action):
        left, player = position[0] - action - 1, position[1]
        win = 0 if left else 1 - 2 * player
        return (left, 1 - player), (win, -win)
    def observation(self, position, player): return position[0], position[1] == player

assert rf.check_game(rf.make("pile"), games=5).ok
try:
    rf.networks
except ImportError as error:
    assert "ramify[torch]" in str(error), error
print("ramify", rf.__version__, "in", rf.__file__)
"""
SECONDS = "import time; begun = time.process_time(); {}; print(time.process_time() - begun)"
NEEDED = "import numpy; from pydantic import BaseModel"  # most of the time goes there, however busy the machine is
COMMANDS = (["games"], ["analyze", "hex", "-p", "size=4", "--simulations", "50"], ["doctor"])


def run(python: Path, arguments: list[str], path: str | None) -> str:
    """What a program prints, run in an empty folder; ends this one if it fails."""
    settings = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "PYTHONPATH")}
    settings |= {} if path is None else {"PATH": path}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, *arguments], env=settings, cwd=folder, capture_output=True, text=True, timeout=600, check=False
        )
    if done.returncode:
        sys.exit(f"{' '.join(arguments[:3])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of a new environment with the wheel."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--only-binary", ":all:"]
    run(python, [*pip, str(wheel.resolve())], str(python.parent))  # a path without a compiler
    return python


def try_out(python: Path, alone: bool) -> None:
    """Run everything with this interpreter; ``alone``: nothing but the package and what it needs is installed."""
    path = str(python.parent) if alone else None
    print(run(python, ["-c", f"ALONE = {alone}\n{PROGRAM}"], path).strip())
    for words in COMMANDS:
        run(python, ["-m", "ramify", *words], path)
    own, needed = (
        min(float(run(python, ["-c", SECONDS.format(code)], path)) for _ in range(5))
        for code in ("import ramify", NEEDED)
    )
    print(f"imported in {own:.2f} s of CPU time; what it needs, in {needed:.2f} s")
    if own > MOST_SECONDS and own > MOST_SHARE * needed:
        sys.exit(f"import ramify takes {own:.2f} s, more than {MOST_SECONDS} s")


def main(arguments: list[str]) -> None:
    if arguments == ["--here"]:
        return try_out(Path(sys.executable), alone=False)
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        sys.exit("usage: python -m tools.try_wheel WHEEL, or --here")
    with tempfile.TemporaryDirectory() as folder:
        try_out(installed(Path(arguments[0]), Path(folder) / "environment"), alone=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
