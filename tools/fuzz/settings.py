"""Settings of searches and of self-play at the ends of their ranges, and beyond."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
from pydantic.fields import FieldInfo

import ramify as rf
from ramify.base.settings import Settings
from ramify.selfplay import PlayConfig, SelfPlay, decode
from tests.engine.helpers import HashEvaluator
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.test_latent import RulesModel
from tests.engine.tiny_games import Carousel, Paths
from tools.fuzz.case import expect, target

WHOLE = (-1, 0, 1, 2, 3, 64, 255, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63, 2**64, 10**30)
REAL = (
    -1.0, -0.0, 0.0, 5e-324, 1e-300, 1e-40, 1e-9, 0.1, 0.5, 1.0, 2.0, 1e3, 1e9, 1e30, 1e39, 1e300, 1.7e308,
    float("inf"), float("nan"),
)  # fmt: skip
OTHERS: tuple[Any, ...] = (True, "many", "1", b"1", [], {}, "1e400", 1j)
PYTHON = ("paths", "paths at once", "carousel")
MOST_SIMULATIONS = 40


def extreme(rng: random.Random, field: FieldInfo) -> Any:
    """A value for a field, allowed or not."""
    if rng.random() < 0.03:
        return rng.choice(OTHERS)
    kinds = get_args(field.annotation) if get_origin(field.annotation) is not Literal else (field.annotation,)
    kind = rng.choice(kinds or (field.annotation,))
    if get_origin(kind) is Literal:
        return rng.choice([*get_args(kind)])
    if kind is bool:
        return rng.random() < 0.5
    bounds = [
        getattr(bound, name) for bound in field.metadata for name in ("ge", "gt", "le", "lt") if hasattr(bound, name)
    ]
    if kind is int:
        return rng.choice([*WHOLE, *bounds])
    if kind is float:
        return rng.choice([*REAL, *bounds])
    return None


def some_settings(rng: random.Random, kind: type[Settings]) -> dict[str, Any]:
    """A few settings changed, with few simulations: what they cost is not what is tried here."""
    names = rng.sample(list(kind.model_fields), rng.randint(1, 6))
    chosen = {name: extreme(rng, kind.model_fields[name]) for name in names}
    for name in {"simulations", "fast_simulations"} & kind.model_fields.keys():
        small = isinstance(chosen.get(name), int) and chosen[name] <= MOST_SIMULATIONS
        if not small and (name == "simulations" or name in chosen):
            chosen[name] = rng.randint(1, MOST_SIMULATIONS)
    return chosen


def some_root(rng: random.Random) -> tuple[str, Any]:
    name = rng.choice([*GAMES, *PYTHON])
    if name in GAMES:
        return name, walk(name, rng.randrange(50))
    made = {"paths": Paths, "paths at once": lambda: Paths("both", turns=3), "carousel": Carousel}[name]()
    return name, made.initial_state()


@target("settings", seconds=120.0)
def settings(rng: random.Random, _: Path) -> None:
    """Searches with extreme settings, of rules and of models: a ValueError, or a result of finite numbers."""
    name, state = some_root(rng)
    chosen = some_settings(rng, rf.SearchConfig)
    zero_sum = name not in SIMULTANEOUS
    latent = rng.random() < 0.25 and name in ("paths", "paths at once")
    evaluator = rng.choice([None, rf.evaluators.Rollout(1), HashEvaluator(1, zero_sum), rf.evaluators.Uniform()])
    try:
        config = rf.SearchConfig(**chosen)
        if latent:
            order = "both" if name == "paths at once" else "alternating"
            searcher = rf.Searcher(RulesModel(state.game, HashEvaluator(1, False), order).roots(state), config=config)
        else:
            searcher = rf.Searcher(state.game, evaluator, config, seed=rng.randrange(100))
        results = [searcher.run(state), searcher.run(state, fast=rng.random() < 0.5)]
        if not latent:
            results += searcher.run_many([state, state])
    except ValueError as error:
        check_refusal(error, chosen)
        return
    for result in results:
        check_result(result, chosen)


def check_refusal(error: ValueError, chosen: dict[str, Any]) -> None:
    """A setting is refused by its name; any other ValueError came from the inside."""
    names = {*rf.SearchConfig.model_fields, *PlayConfig.model_fields}
    named = type(error) is not rf.EvaluatorError and any(name in str(error) for name in names)
    expect(named, f"{type(error).__name__}: {error}, with {chosen}")


def check_result(result: rf.SearchResult, chosen: dict[str, Any]) -> None:
    expect(bool(np.isfinite(result.value).all()), f"the value is {result.value}, with {chosen}")
    expect(int(result.visits.min()) >= 0, f"visits are {result.visits}, with {chosen}")
    for player in result.acting:
        for method in ("visits", "pruned", "nash", "average", "improved"):
            try:
                policy = result.policy(player, method)  # type: ignore[arg-type]
            except ValueError:  # a method that this search has nothing for
                continue
            whole = bool(np.isfinite(policy).all()) and abs(float(policy.sum()) - 1) < 1e-4
            expect(whole and float(policy.min()) >= 0, f"the policy by {method} is {policy}, with {chosen}")
    if len(result.acting) == 1:
        expect(result.action() in result.outcomes[result.acting[0]], f"{result.action()} is no action, with {chosen}")


@target("selfplay", seconds=120.0)
def selfplay(rng: random.Random, _: Path) -> None:
    """Self-play with extreme settings: a ValueError, or games that can be read and played again."""
    name, state = some_root(rng)
    search = {**some_settings(rng, rf.SearchConfig), "simulations": rng.randint(1, 8)}
    play = some_settings(rng, PlayConfig)
    endless = name in ("carousel", "chess")  # games that last long, or for ever
    play = {**play, "max_moves": 30} if endless else {"max_moves": 30, **play}
    try:
        games = SelfPlay(
            state.game,
            rng.choice([rf.evaluators.Rollout(1), HashEvaluator(1, name not in SIMULTANEOUS)]),
            rf.SearchConfig(**search),
            PlayConfig(**play),
            games=3,
            parallel_games=rng.choice([1, 2, 5]),
            seed=rng.randrange(100),
        )
        records = [decode(record) for lot in games for record in lot]
    except ValueError as error:
        check_refusal(error, {**search, **play})
        return
    expect(
        sorted(record.number for record in records) == [0, 1, 2],
        f"other games than asked for, with {search} and {play}",
    )
    for record in records:
        expect(bool(np.isfinite(record.returns).all()), f"returns are {record.returns}, with {search} and {play}")
        *_, last = record.states(state.game)
        expect(last.is_over or record.resigned or record.cut, f"a game without an end, with {search} and {play}")
        for found in (move.found for move in record.moves if move.found is not None):
            expect(bool(np.isfinite(found.value).all()), f"a value is {found.value}, with {search} and {play}")
