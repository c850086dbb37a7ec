"""Whatever an evaluator answers and a game raises: a clear error, and a searcher that works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ramify as rf
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.tiny_games import Fragile
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core

Answer = Callable[[Any, int], Any]  # from a good answer and its number of rows to another


def with_row(name: str, value: float) -> Answer:
    """One row of one field replaced."""

    def change(answer: Any, rows: int) -> Any:
        fields = {"logits": answer.logits.astype(np.float64), "values": answer.values.astype(np.float64)}
        fields[name][rows // 2] = value
        return rf.Evaluation(**fields)

    return change


def with_field(name: str, make: Callable[[Any], Any]) -> Answer:
    """One field replaced by what ``make`` does with it."""

    def change(answer: Any, _: int) -> Any:
        return rf.Evaluation(**{"logits": answer.logits, "values": answer.values, name: make(getattr(answer, name))})

    return change


def raising(error: BaseException) -> Answer:
    def change(_answer: Any, _rows: int) -> Any:
        raise error

    return change


BAD: dict[str, Answer] = {
    "nan logits": with_row("logits", np.nan),
    "infinite logits": with_row("logits", np.inf),
    "no legal mass": with_row("logits", -np.inf),
    "logits beyond float32": with_row("logits", 1e300),
    "nan values": with_row("values", np.nan),
    "infinite values": with_row("values", -np.inf),
    "values beyond float32": with_row("values", -1e300),
    "a row too few": with_field("logits", lambda x: x[:-1]),
    "a row too many": with_field("values", lambda x: np.concatenate([x, x])),
    "an action too few": with_field("logits", lambda x: x[..., :-1]),
    "an axis too many": with_field("values", lambda x: x[..., None]),
    "an axis in front": with_field("logits", lambda x: x[None]),
    "three players": with_field("values", lambda x: np.concatenate([x, x[:, :1]], axis=1)),
    "transposed": with_field("logits", lambda x: np.moveaxis(x, 2, 1)),
    "a number": with_field("values", lambda _: 0.5),
    "nothing": with_field("values", lambda _: None),
    "text": with_field("logits", lambda _: "many"),
    "texts": with_field("logits", lambda x: np.full(x.shape, "x")),
    "objects": with_field("values", lambda x: np.full(x.shape, object())),
    "ragged": with_field("values", lambda x: [[1.0], *([[1.0, 2.0]] * len(x))]),
    "complex": with_field("values", lambda x: x + 1j),
    "a dict": with_field("logits", lambda x: {"logits": x}),
    "a generator": with_field("values", lambda x: (row for row in x)),
    "no evaluation": lambda _answer, _rows: None,
    "a pair": lambda answer, _: (answer.logits, answer.values),
    "a class": lambda _answer, _rows: rf.Evaluation,
}
FINE: dict[str, Answer] = {
    "as it is": lambda answer, _: answer,
    "huge logits": with_row("logits", 3e38),
    "small logits": with_row("logits", -3e38),
    "huge values": with_field("values", lambda x: np.full_like(x, 1e30)),
    "whole numbers": with_field("values", lambda x: np.ones(x.shape, np.int64)),
    "half precision": with_field("logits", lambda x: x.astype(np.float16)),
    "truths": with_field("values", lambda x: x > 0),
    "lists": with_field("logits", lambda x: x.tolist()),
    "numbers as objects": with_field("values", lambda x: x.astype(object)),
    "strided": with_field("logits", lambda x: np.repeat(x, 2, axis=2)[..., ::2]),
    "Fortran order": with_field("logits", lambda x: np.asfortranarray(x)),
    "read-only": with_field("values", lambda x: np.broadcast_to(x[:1] * 0, x.shape)),
}


class OwnError(Exception):
    """The evaluator's own trouble."""


RAISED: dict[str, Answer] = {
    "its own error": raising(OwnError("no")),
    "a value error": raising(ValueError("no")),
    "out of memory": raising(MemoryError("no")),
    "exit": raising(SystemExit(1)),
}


class Fickle:
    """Answers badly from some batch on, until told to stop."""

    def __init__(self, seed: int, zero_sum: bool, change: Answer, first: int) -> None:
        self.inner, self.change, self.first = HashEvaluator(seed, zero_sum), change, first
        self.calls, self.bad = 0, True

    def evaluate(self, batch: rf.Batch) -> Any:
        self.calls += 1
        answer = self.inner.evaluate(batch)
        return self.change(answer, len(batch)) if self.bad and self.calls >= self.first else answer


SETTINGS = st.fixed_dictionaries(
    {
        "simulations": st.integers(1, 60),
        "c_puct": st.sampled_from([0.0, 0.5, 1.0, 4.0]),
        "c_base": st.sampled_from([None, 20.0, 19652.0]),
        "parent_visits": st.sampled_from(["node", "edges"]),
        "fpu": st.sampled_from(["zero", "parent", "reduction"]),
        "discount": st.sampled_from([1.0, 0.9, 0.3]),
        "opponent_weights": st.sampled_from(["conditional", "prior", "visits", "blended"]),
        "normalize": st.sampled_from(["none", "minmax", "remaining"]),
        "graph": st.booleans(),
        "canonical": st.booleans(),
        "short_circuit": st.booleans(),
        "max_nodes": st.sampled_from([None, None, 1, 5, 30]),
        "noise_fraction": st.sampled_from([0.0, 0.25, 1.0]),
        "batch": st.sampled_from([1, 1, 2, 7, 32]),
        "max_in_flight": st.sampled_from([0.1, 0.25, 1.0]),
        "threads": st.sampled_from([1, 1, 2, 3]),
        "stop_early": st.booleans(),
        "max_evaluations": st.sampled_from([None, None, 1, 20]),
    }
)
STEPS = ["run", "run", "advance", "advance", "many", "reset", "other"]


def quiet(examples: int) -> Any:
    return settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )


def failure_of(function: Callable[[Any], Any], argument: Any) -> BaseException | None:
    """What the call raises."""
    try:
        function(argument)
    except BaseException as error:
        return error
    return None


def check_whole(searcher: rf.Searcher, result: rf.SearchResult) -> None:
    """The result is usable and every node of the graph holds."""
    for player in result.acting:
        assert result.policy(player).sum() == pytest.approx(1, abs=1e-5)
    assert np.isfinite(result.value).all()
    given = searcher.config
    exact = not given.max_nodes and not (given.graph and given.short_circuit)
    if given.canonical and not given.graph:
        return  # has no meaning; the walk would not know what a node is
    walk_searcher(searcher, arrivals=exact)


def any_answer(examples: int, seeds: int, batches: int) -> Callable[[Any], Any]:
    """A test of ``answer_anything``."""
    drawn = given(
        name=st.sampled_from(list(GAMES)),
        seed=st.integers(0, seeds),
        chosen=SETTINGS,
        kind=st.sampled_from([*BAD, *FINE, *RAISED]),
        first=st.integers(1, batches),
    )
    return lambda test: quiet(examples)(drawn(test))


@any_answer(160, seeds=5, batches=6)
def test_any_answer(**case: Any) -> None:
    answer_anything(**case)


@pytest.mark.slow
@any_answer(4000, seeds=50, batches=12)
def test_any_answer_many_times(**case: Any) -> None:
    answer_anything(**case)


def answer_anything(name: str, seed: int, chosen: dict[str, Any], kind: str, first: int) -> None:
    change = {**BAD, **FINE, **RAISED}[kind]
    state = walk(name, seed)
    evaluator = Fickle(seed, name not in SIMULTANEOUS, change, first)
    searcher = searcher_of(state, evaluator, **chosen)
    error = failure_of(searcher.run, state)
    if kind in FINE or evaluator.calls < first:
        assert error is None
    elif kind in BAD:
        assert type(error) is rf.EvaluatorError
        assert str(error)
    else:
        assert type(error) in (OwnError, ValueError, MemoryError, SystemExit)
    evaluator.bad = False
    check_whole(searcher, searcher.run(state))


@quiet(60)
@given(
    name=st.sampled_from(list(GAMES)),
    chosen=SETTINGS,
    kind=st.sampled_from([*BAD, *RAISED]),
    first=st.integers(1, 4),
    count=st.integers(1, 5),
)
def test_any_answer_to_many(name: str, chosen: dict[str, Any], kind: str, first: int, count: int) -> None:
    states = [walk(name, seed) for seed in range(count)]
    evaluator = Fickle(0, name not in SIMULTANEOUS, {**BAD, **RAISED}[kind], first)
    searcher = searcher_of(states[0], evaluator, **chosen)
    error = failure_of(searcher.run_many, states)
    assert (error is not None) == (evaluator.calls >= first)
    evaluator.bad = False
    for result in searcher.run_many(states):
        for player in result.acting:
            assert result.policy(player).sum() == pytest.approx(1, abs=1e-5)


def any_order(examples: int, seeds: int, calls: int) -> Callable[[Any], Any]:
    """A test of ``call_in_order``."""
    drawn = given(
        name=st.sampled_from(list(GAMES)),
        seed=st.integers(0, seeds),
        chosen=SETTINGS,
        steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=calls),
        native=st.sampled_from([None, 1, 0]),
    )
    return lambda test: quiet(examples)(drawn(test))


@any_order(120, seeds=5, calls=8)
def test_any_order_of_calls(**case: Any) -> None:
    call_in_order(**case)


@pytest.mark.slow
@any_order(3000, seeds=50, calls=12)
def test_any_order_of_calls_many_times(**case: Any) -> None:
    call_in_order(**case)


def call_in_order(name: str, seed: int, chosen: dict[str, Any], steps: list[str], native: int | None) -> None:
    state = walk(name, seed)
    evaluator = HashEvaluator(seed, name not in SIMULTANEOUS) if native is None else rf.evaluators.Uniform()
    if native:
        evaluator = rf.evaluators.Rollout(native)
    searcher = searcher_of(state, evaluator, **chosen)
    rng = np.random.default_rng(seed)
    ran = False
    for step in steps:
        if state.is_over:
            break
        if step == "run":
            result = searcher.run(state)
            assert result.stats["nodes"] <= (chosen["max_nodes"] or 10**6)
            ran = True
        elif step == "advance" and ran:
            actions = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
            searcher.advance(*actions)
            state.apply(*actions)
        elif step == "many":
            searcher.run_many([state, state])
            ran = False
        elif step == "reset":
            searcher.reset()
            ran = False
        elif step == "other":
            searcher.run(walk(name, seed + 1))
            ran = False
    if not state.is_over:
        result = searcher.run(state)
        given_ = searcher.config
        if not given_.canonical or given_.graph:
            walk_searcher(searcher, arrivals=False)
        assert result.stats["simulations"] >= 1 or given_.stop_early


@pytest.mark.parametrize("method", ["apply", "acting", "legal_actions", "observation", "key"])
@pytest.mark.parametrize("evaluator", [None, rf.evaluators.Rollout(2), HashEvaluator(0, False)])
@pytest.mark.parametrize("batch", [1, 8])
def test_a_game_that_raises(method: str, evaluator: Any, batch: int) -> None:
    failures = 0
    for fails_at in (1, 2, 5, 13, 60):
        game = Fragile(method)
        state = game.initial_state()
        searcher = searcher_of(state, evaluator, simulations=24, batch=batch, graph=True, max_in_flight=1.0)
        game.calls, game.fails_at = 0, fails_at
        error = failure_of(searcher.run, state)
        if error is not None:
            assert repr(error) == repr(ArithmeticError(f"call {fails_at} of {method}"))
            failures += 1
        game.fails_at = 0
        searcher.run(state)
        walk_searcher(searcher)
    assert failures >= (2 if method != "observation" or isinstance(evaluator, HashEvaluator) else 0)


def test_a_game_that_raises_once_is_searched_as_if_it_had_not() -> None:
    calm = Fragile()
    game = Fragile()
    state = game.initial_state()
    searcher = searcher_of(state, HashEvaluator(1, False), simulations=60)
    game.calls, game.fails_at = 0, 70
    with pytest.raises(ArithmeticError):
        searcher.run(state)
    game.fails_at = 0
    assert searcher._search is not None
    done = searcher._search.stats["simulations"]
    assert 1 < done < 60
    result = searcher.run(state)
    expected = rf.search(calm.initial_state(), HashEvaluator(1, False), simulations=60 + done)
    assert_same_result(result, expected, stats=False)
