"""What the search finds in a fixed set of searches, as one short number: the same as long as results do not change.

Run ``python -m tools.signature`` (or ``make signature``): it prints the signature. ``--cases`` prints one line per
search, ``--write`` stores these lines in tests/golden/signature.txt, where a test compares them, and the signature as
``ENGINE_VERSION``, which is a part of the identity of players in the arena. A change to the engine says in its commit
message ``signature: unchanged``, or ``signature: N → M`` and why.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ramify as rf
from ramify.engine import Batch, LatentOutput
from ramify.evaluators import Function, Rollout, Uniform

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "tests/golden/signature.txt"
VERSION = ROOT / "src/ramify/engine/engine_version.py"

# Small parameters and shallow positions: what is new in a game is soon reached.
GAMES: dict[str, dict[str, Any]] = {
    "chess": {},
    "connect_four": {},
    "goofspiel": {"cards": 6, "returns": "difference"},
    "hex": {"size": 6},
    "matrix": {"payoffs": [[0.3, -0.2, 0.9], [0.1, 0.5, -0.7]]},
    "pyrat": {"width": 7, "height": 5, "cheese": 7, "max_turns": 40, "symmetric": False},
    "tictactoe": {},
}
# Everything that selection, backup, the root and the graph can be told to do.
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "graph": {"graph": True, "parent_visits": "edges", "fpu": "parent"},
    "canonical": {"graph": True, "canonical": True, "short_circuit": True, "c_puct": 1.4},
    "muzero": {"c_puct": 1.25, "c_base": 19652.0, "discount": 0.997, "normalize": "minmax"},
    "batched": {"batch": 16, "fpu": "reduction", "graph": True},
    "noised": {"noise_fraction": 0.25, "opponent_weights": "blended", "normalize": "remaining"},
    "bounded": {"max_nodes": 60, "opponent_weights": "prior", "c_base": 30.0},
    "early": {"stop_early": True, "opponent_weights": "visits"},
}
TURNS = 4  # random turns before each search
SIMULATIONS = 120


def mix(x: np.ndarray) -> np.ndarray:
    """splitmix64 on arrays."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def judge(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Logits in (-2, 2) and values in (-1, 1) for both players, drawn from the keys."""
    count = batch.legal.shape[2] + 1
    bits = mix(mix(batch.keys)[:, None] + np.arange(2 * count, dtype=np.uint64))
    numbers = ((bits >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1).astype(np.float32).reshape(-1, 2, count)
    return 2 * numbers[:, :, 1:], numbers[:, :, 0]


FIXED = {"simulations": SIMULATIONS, "c_puct": 1.0}  # unless a search says otherwise; a new default changes no result
EVALUATORS: dict[str, Any] = {"uniform": Uniform(), "rollouts": Rollout(2), "hashed": Function(judge)}


class Model:
    """A latent model of numbers: a latent mixes the actions that led to it."""

    num_actions = 5

    def __init__(self, acting: str) -> None:
        self.acting = acting

    def initial(self, observations: np.ndarray) -> LatentOutput:
        return self._output(mix(np.arange(len(observations), dtype=np.uint64)))

    def recurrent(self, latents: Any, actions: np.ndarray) -> LatentOutput:
        digits = actions.reshape(len(actions), -1).astype(np.uint64) @ np.array([1, 8], np.uint64)[: actions.ndim]
        return self._output(mix(latents + digits + np.uint64(1)))

    def _output(self, latents: np.ndarray) -> LatentOutput:
        shape = (len(latents), 2, self.num_actions)
        batch = Batch(np.zeros(0, np.float32), np.ones(shape, np.bool_), np.ones(shape[:2], np.bool_), latents)
        logits, values = judge(batch)
        return LatentOutput(latents, logits, values, values / 8)


def position(name: str, seed: int) -> rf.State:
    """A few random turns into a game."""
    rng = np.random.default_rng(seed)
    state = rf.make(name, **GAMES[name]).initial_state(seed=seed)
    for _ in range(TURNS):
        after = state.copy()
        after.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
        if after.is_over:
            break
        state = after
    return state


def digest(results: list[rf.SearchResult]) -> str:
    """Visits and values, to the last bit."""
    total = hashlib.sha256()
    for result in results:
        total.update(np.ascontiguousarray(result.visits, dtype="<i8").tobytes())
        total.update(np.ascontiguousarray(result.value, dtype="<f4").tobytes())
    return total.hexdigest()[:12]


def game_cases(name: str) -> Iterator[tuple[str, list[rf.SearchResult]]]:
    """Every setting with every evaluator; two runs each, the second after playing the first's action."""
    for seed, (label, settings) in enumerate(SETTINGS.items()):
        for evaluator_name, evaluator in EVALUATORS.items():
            state = position(name, seed)
            searcher = rf.Searcher(state.game, evaluator, rf.SearchConfig(**{**FIXED, **settings}), seed=seed)
            results = [searcher.run(state)]
            actions = np.atleast_1d(results[0].action()).tolist()
            state.apply(*actions)
            if not state.is_over:
                searcher.advance(*actions)
                results.append(searcher.run(state))
            yield f"{name} {label} {evaluator_name}", results
    states = [position(name, seed) for seed in range(6)]
    config = rf.SearchConfig(c_puct=1.0, simulations=80, batch=4, threads=2, noise_fraction=0.25)
    yield f"{name} many hashed", rf.Searcher(states[0].game, EVALUATORS["hashed"], config).run_many(states)


def latent_cases() -> Iterator[tuple[str, list[rf.SearchResult]]]:
    """Learned models, whose states below the root nobody knows."""
    roots = {"alternating": "tictactoe", "single": "tictactoe", "both": "pyrat"}
    for acting, name in roots.items():
        state = rf.make(name, **GAMES[name]).initial_state(seed=1)
        model = Model(acting)
        model.num_actions = state.game.num_actions
        settings = {**SETTINGS["muzero"], "simulations": SIMULATIONS}
        for batch in (1, 8):
            searcher = rf.Searcher(model, config=rf.SearchConfig(**settings, batch=batch))
            yield f"latent {acting} batch {batch}", [searcher.run(state)]


def alphabeta_cases() -> Iterator[str]:
    """Alpha-beta in the games that it can search, with and without a table: a line each."""
    for name in ("chess", "connect_four", "hex", "tictactoe"):
        for label, settings in {"plain": {"table": 0}, "ties": {"ties": True}}.items():
            found = [rf.alphabeta(position(name, seed), depth=2, **settings) for seed in range(4)]
            facts = [(one.value, one.plies, one.nodes, one.principal_variation, one.actions) for one in found]
            yield f"{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}  {name} alphabeta {label}"


def cases() -> list[str]:
    """One line per search: its digest and its name."""
    found = [case for name in GAMES for case in game_cases(name)]
    lines = [f"{digest(results)}  {name}" for name, results in [*found, *latent_cases()]]
    return [*lines, *alphabeta_cases()]


def signature(lines: list[str]) -> str:
    """All of them in eight digits."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def write(lines: list[str]) -> None:
    """Store the lines, and the signature as the engine's version."""
    STORED.write_text("\n".join([signature(lines), *lines]) + "\n", encoding="utf-8")
    text = VERSION.read_text(encoding="utf-8")
    changed, count = re.subn(r'^(ENGINE_VERSION = )"\w*"', rf'\1"{signature(lines)}"', text, flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"{VERSION} has no line ENGINE_VERSION = ...")
    VERSION.write_text(changed, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.signature", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", action="store_true", help="print one line per search as well")
    parser.add_argument("--write", action="store_true", help=f"store them in {STORED.relative_to(ROOT)}")
    options = parser.parse_args()
    lines = cases()
    if options.cases:
        print("\n".join(lines))
    if options.write:
        write(lines)
    print(signature(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
