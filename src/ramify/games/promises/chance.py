"""Chance: outcomes have probabilities that sum to 1, each of them can follow, and events have keys of their own."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ramify.games.chance import MOST_EVENTS, ROUNDING
from ramify.games.promises.base import (
    Seen,
    Stage,
    Visit,
    ask,
    difference,
    event_of,
    facts,
    is_chance,
    play,
    promise,
    short,
    view,
)

TRIED = 6  # outcomes of one event that are followed
DEEP = 20  # events in a row that are examined


@promise("chance", Stage.MEANING)
def events(visit: Visit) -> Seen:
    """The chance events after a random turn, one after another."""
    if visit.state.is_over or not hasattr(visit.state, "apply_only"):
        return
    turn, state = visit.some_turn(), cast(Any, visit.state.copy())
    ask("playing", state.apply_only, *turn)
    line: list[int] = []
    while is_chance(state) and len(line) < DEEP:
        for seen in _event(visit, state):
            yield f"after {turn}{f' and the outcomes {line}' if line else ''}, {seen}"
            return
        outcomes, probabilities = state.chance_outcomes()
        line.append(int(visit.rng.choice(outcomes, p=probabilities / probabilities.sum())))
        ask("chance", state.apply_only, line[-1])
    yield from _drawn_alike(visit, turn)


def _event(visit: Visit, state: Any) -> Seen:
    event = event_of(state)
    outcomes, probabilities = event["outcomes"], event["probabilities"]
    if not isinstance(outcomes, np.ndarray) or outcomes.dtype != np.int32 or outcomes.ndim != 1:
        yield f"chance_outcomes() gave the outcomes {short(outcomes)}, no int32 array of one dimension"
    elif not isinstance(probabilities, np.ndarray) or probabilities.shape != outcomes.shape:
        yield f"chance_outcomes() gave the probabilities {short(probabilities)} for {len(outcomes)} outcomes"
    elif len(set(outcomes.tolist())) != len(outcomes) or not len(outcomes):
        yield f"chance_outcomes() gave the outcomes {short(outcomes)}: there must be some, and each only once"
    elif not (probabilities > 0).all() or abs(float(probabilities.sum()) - 1.0) > ROUNDING:
        yield f"chance_outcomes() gave the probabilities {short(probabilities)}: they must be positive and sum to 1"
    elif state.is_over or state.acting != ():
        yield f"chance decides, but is_over is {state.is_over} and acting is {state.acting}"
    elif changed := difference(event, event_of(state.copy())):
        yield f"of a chance event and its copy {changed}"
    else:
        yield from _told_apart(visit, state)
        yield from _outcomes_follow(visit, state, outcomes)


def _told_apart(visit: Visit, state: Any) -> Seen:
    """Whether a chance event has a key of its own: equal keys promise equal futures."""
    known = visit.memory.met.get(state.key)
    if known is not None and known[0]["acting"] != ():
        yield (
            f"chance decides, but key {state.key} is also that of initial_state(seed={known[1]}) after "
            f"{list(known[2])}, where players {known[0]['acting']} act"
        )


def _outcomes_follow(visit: Visit, state: Any, outcomes: Any) -> Seen:
    """Whether every outcome can be applied, and leaves the event itself as it was."""
    key = state.key
    for outcome in visit.rng.permutation(outcomes)[:TRIED].tolist():
        child = state.copy()
        rewards = ask("chance", child.apply_only, outcome)
        if not isinstance(rewards, np.ndarray) or rewards.shape != (2,) or not np.isfinite(rewards).all():
            yield f"outcome {outcome} of chance pays {short(rewards)}, no two finite rewards"
        elif state.key != key:
            yield f"key is {key} and {state.key}, before and after outcome {outcome} was applied to a copy"
        elif not is_chance(child):
            view(child)  # acting, legal actions and observations must be there


def _drawn_alike(visit: Visit, turn: Any) -> Seen:
    """Whether apply is the same as apply_only and then draw_chance."""
    whole, parts = visit.state.copy(), cast(Any, visit.state.copy())
    play(whole, turn)
    ask("playing", parts.apply_only, *turn)
    for _ in range(MOST_EVENTS):
        if not is_chance(parts):
            break
        ask("chance", parts.draw_chance)
    if changed := difference(facts(whole), facts(parts)):
        yield f"of apply{turn} and of apply_only{turn} with draw_chance() {changed}"
