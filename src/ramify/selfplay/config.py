"""How games are played against oneself: the one place with defaults and ranges."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from ramify.base.settings import Settings
from ramify.engine.config import SearchConfig
from ramify.engine.policies import Method


class PlayConfig(Settings):
    """Settings of self-play; frozen. An unknown or impossible setting raises a ``ValueError`` that names it.

    Simulations are those of the ``SearchConfig`` beside it: ``simulations`` for full searches and, where it has
    ``fast_simulations``, those for fast ones (playout-cap randomisation).
    """

    what = "self-play"

    full_share: float = Field(
        0.25, ge=0, le=1, description="share of full searches where there are fast ones; only these are recorded"
    )
    acting: Method = Field("visits", description="the policy that actions are drawn from")
    temperature: float = Field(1.0, ge=0, description="of the acting policy at the first move")
    temperature_end: float = Field(0.0, ge=0, description="what it falls to")
    temperature_half_life: float = Field(10.0, gt=0, description="moves in which it comes half-way down")
    opening_moves: int = Field(0, ge=0, le=10_000, description="at most so many random moves before the first search")
    resign_below: float | None = Field(None, ge=-1, le=1, description="resign when the value stays below; None: never")
    resign_moves: int = Field(3, ge=1, le=2**31 - 1, description="moves in a row of the same player before it resigns")
    playthrough: float = Field(0.1, ge=0, le=1, description="share of games in which nobody may resign")
    reuse: bool = Field(False, description="keep the graph from move to move")
    max_moves: int | None = Field(
        None, ge=1, le=2**31 - 1, description="cut games longer than this; None: play to the end"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.temperature_end > self.temperature:
            raise ValueError("temperature_end must not lie above temperature: it only falls")
        return self

    def core(self, search: SearchConfig, *, ask: bool, rollouts: int) -> dict[str, Any]:
        """The settings as the compiled pool takes them."""
        return {
            "simulations": search.simulations,
            "fast_simulations": search.fast_simulations or 0,
            "full_share": self.full_share,
            "temperature": self.temperature,
            "temperature_end": self.temperature_end,
            "temperature_half_life": self.temperature_half_life,
            "opening_moves": self.opening_moves,
            "resign_below": -2.0 if self.resign_below is None else self.resign_below,
            "resign_moves": self.resign_moves,
            "playthrough": self.playthrough,
            "reuse": self.reuse,
            "leaves": search.batch,
            "max_moves": self.max_moves or 0,
            "ask": ask,
            "rollouts": rollouts,
        }
