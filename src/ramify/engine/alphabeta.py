"""Alpha-beta search to a fixed depth, for turn-based zero-sum games."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field, model_validator

from ramify import _core
from ramify.base.settings import Settings
from ramify.engine.access import OnInterrupt, check_on_interrupt
from ramify.engine.states import check_state
from ramify.games import IllegalAction, State

Stop = Callable[[], bool]


class AlphaBetaConfig(Settings):
    """Settings of alpha-beta search; frozen. Iterative deepening runs until a limit; at least one is required."""

    what = "alpha-beta"

    depth: int | None = Field(None, ge=1, le=_core.MOST_DEPTH, description="Maximum search depth in plies.")
    nodes: int | None = Field(None, ge=1, le=2**62, description="Maximum number of nodes, counted as actions tried.")
    seconds: float | None = Field(None, gt=0, description="Maximum time in seconds.")
    table: int = Field(
        1_000_000,
        ge=0,
        le=2**31,
        description="Entries of the transposition table, 24 bytes each; 0 disables the table.",
    )
    width: int | None = Field(
        None,
        ge=1,
        le=2**31 - 1,
        description="Search only this many of the best-ranked actions at each node; None: all actions.",
    )
    quiescence: bool = Field(
        True, description="Extend leaves by quiescence search: captures, promotions and replies to check (chess only)."
    )
    ties: bool = Field(False, description="Find every action whose value equals the best one, at some cost in speed.")

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.depth is None and self.nodes is None and self.seconds is None:
            raise ValueError("alpha-beta search needs a limit: set at least one of depth, nodes and seconds")
        return self


@dataclass(frozen=True)
class AlphaBetaResult:
    """Result of an alpha-beta search."""

    action: int
    value: tuple[float, float]  # expected reward still to come, per player
    plies: int | None  # plies until the end of the game, if a forced win or loss was found
    depth: int  # last completed depth; 0: none
    nodes: int  # actions tried
    principal_variation: tuple[int, ...]
    actions: tuple[int, ...]  # best actions, ``action`` first; complete only with ``ties``
    solved: bool  # whether a deeper search would give the same value
    interrupted: bool  # whether Ctrl-C ended the search, with ``on_interrupt="return"``
    stopped: bool  # whether ``stop`` ended the search
    seconds: float


def alphabeta(
    state: State,
    depth: int | None = None,
    seconds: float | None = None,
    nodes: int | None = None,
    *,
    on_interrupt: OnInterrupt = "raise",
    stop: Stop | None = None,
    **settings: Any,
) -> AlphaBetaResult:
    """Find the best action by alpha-beta search. ``settings`` are the fields of AlphaBetaConfig.

    Results are deterministic unless ``seconds`` is given. ``stop`` is called about 20 times a second; once it returns
    True, the search ends with the best action found so far. Ctrl-C raises KeyboardInterrupt; with
    ``on_interrupt="return"`` the search ends early and returns the best action found so far.
    """
    config = AlphaBetaConfig(depth=depth, seconds=seconds, nodes=nodes, **settings)
    return run(state, config, on_interrupt=on_interrupt, stop=stop)


def run(
    state: State, config: AlphaBetaConfig, *, on_interrupt: OnInterrupt = "raise", stop: Stop | None = None
) -> AlphaBetaResult:
    """Run ``alphabeta`` with the settings in ``config``."""
    check_on_interrupt(on_interrupt)
    check_state(state)
    if state.is_over:
        raise IllegalAction(f"the game is over: a finished position cannot be searched\n{state}")
    started = time.perf_counter()
    given = config.model_dump()
    found = _core.alphabeta(state, {**given, "depth": given["depth"] or _core.MOST_DEPTH}, stop)
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
        stopped=found["stopped"],
        seconds=time.perf_counter() - started,
    )
