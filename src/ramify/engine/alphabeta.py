"""Alpha-beta: exact search to a depth, for games in which players take turns and one wins what the other loses."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field, model_validator

from ramify import _core
from ramify.base.settings import Settings
from ramify.engine.access import OnInterrupt, check_on_interrupt
from ramify.engine.searcher import check_state
from ramify.games import IllegalAction, State


class AlphaBetaConfig(Settings):
    """Settings of alpha-beta; frozen. It deepens ply by ply until the first of its limits, of which it needs one."""

    what = "alpha-beta"

    depth: int | None = Field(None, ge=1, le=_core.MOST_DEPTH, description="plies to look ahead")
    nodes: int | None = Field(None, ge=1, le=2**62, description="stop after so many actions tried")
    seconds: float | None = Field(None, gt=0, description="stop after so much time")
    table: int = Field(1_000_000, ge=0, le=2**31, description="positions remembered, 24 bytes each; 0: none")
    width: int | None = Field(
        None, ge=1, le=2**31 - 1, description="look only at so many actions of a position, the best ranked"
    )
    quiescence: bool = Field(True, description="beyond the depth, follow captures and the like (chess)")
    ties: bool = Field(False, description="find all actions that are as good as the best one, at some cost")

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.depth is None and self.nodes is None and self.seconds is None:
            raise ValueError("set at least one of depth, nodes and seconds, or it would never end")
        return self


@dataclass(frozen=True)
class AlphaBetaResult:
    """What alpha-beta found."""

    action: int
    value: tuple[float, float]  # what each player is to win from here on
    plies: int | None  # to the forced end of the game, where a win or loss was found
    depth: int  # of the last search that was finished; 0: none was
    nodes: int  # actions tried
    principal_variation: tuple[int, ...]
    actions: tuple[int, ...]  # as good as ``action``, which is the first; with ``ties`` all of them
    solved: bool  # deeper search would find the same
    interrupted: bool  # by Ctrl-C, with ``on_interrupt="return"``
    seconds: float


def alphabeta(
    state: State,
    depth: int | None = None,
    seconds: float | None = None,
    nodes: int | None = None,
    *,
    on_interrupt: OnInterrupt = "raise",
    **settings: Any,
) -> AlphaBetaResult:
    """The best action by alpha-beta search. Settings are those of AlphaBetaConfig.

    With ``depth`` or ``nodes`` alone, equal calls give equal results. Ctrl-C raises KeyboardInterrupt, or with
    ``on_interrupt="return"`` ends it early with what was found so far, if anything was.
    """
    return run(state, AlphaBetaConfig(depth=depth, seconds=seconds, nodes=nodes, **settings), on_interrupt=on_interrupt)


def run(state: State, config: AlphaBetaConfig, *, on_interrupt: OnInterrupt = "raise") -> AlphaBetaResult:
    """As ``alphabeta``, with the settings in one."""
    check_on_interrupt(on_interrupt)
    check_state(state)
    if state.is_over:
        raise IllegalAction(f"the game is over; there is nothing to search in\n{state}")
    started = time.perf_counter()
    given = config.model_dump()
    found = _core.alphabeta(state, {**given, "depth": given["depth"] or _core.MOST_DEPTH})
    if found["interrupted"] and on_interrupt == "raise":
        raise KeyboardInterrupt
    value = found["value"] if state.acting == (0,) else -found["value"]
    return AlphaBetaResult(
        action=found["action"],
        value=(value + 0.0, 0.0 - value),
        plies=found["plies"] or None,
        depth=found["depth"],
        nodes=found["nodes"],
        principal_variation=found["line"],
        actions=found["ties"],
        solved=found["solved"],
        interrupted=found["interrupted"],
        seconds=time.perf_counter() - started,
    )
