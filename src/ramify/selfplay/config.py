"""Settings of self-play, with defaults and ranges."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from ramify.base.settings import Settings
from ramify.engine.batch import NativeEvaluator
from ramify.engine.config import SearchConfig
from ramify.engine.policies import Method, NashConfig


class PlayConfig(Settings):
    """Settings of self-play; frozen. An unknown or out-of-range setting raises a ``ValueError`` that names it.

    The number of simulations is set in the ``SearchConfig``: ``simulations`` for full searches and, with playout-cap
    randomisation, ``fast_simulations`` for fast ones.
    """

    what = "self-play"

    full_share: float = Field(
        0.25,
        ge=0,
        le=1,
        description=(
            "Probability of a full search where fast_simulations is set; only full searches are recorded for training."
        ),
    )
    acting: Method = Field("visits", description="Policy from which actions are sampled.")
    nash: NashConfig = Field(default_factory=NashConfig, description="Equilibrium of acting=nash.")
    temperature: float = Field(1.0, ge=0, description="Temperature of the acting policy at the first move.")
    temperature_end: float = Field(
        0.0, ge=0, description="Temperature that the acting policy approaches as the game goes on."
    )
    temperature_half_life: float = Field(
        10.0, gt=0, description="Number of moves in which the temperature falls half-way to temperature_end."
    )
    temperature_moves: int | None = Field(
        None,
        ge=0,
        le=2**31 - 1,
        description=(
            "Number of moves, of both players together, that are played at temperature; all later ones are played at "
            "temperature_end. None: the temperature falls gradually, see temperature_half_life."
        ),
    )
    opening_moves: int = Field(
        0,
        ge=0,
        le=10_000,
        description=(
            "Maximum number of random moves before the first search; the number is drawn uniformly for each game. They "
            "follow the opening where openings is set."
        ),
    )
    openings: str | None = Field(
        None,
        description=(
            "File with openings, one of which each game draws: .pgn (games.pgn:16: the first 16 moves of each game), "
            ".epd, or one line of actions each. chess-endgames.epd comes with the package. None: games start from the "
            "initial position."
        ),
    )
    opening_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description=(
            "Fraction of the games that begin with one of the openings; the others start from the initial position."
        ),
    )
    resign_below: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="Value below which a player resigns after resign_moves moves; None: never resign.",
    )
    resign_moves: int = Field(
        3,
        ge=1,
        le=2**31 - 1,
        description=("Number of consecutive moves of a player with a value below resign_below before it resigns."),
    )
    playthrough: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Fraction of games played to the end without resignation, to measure wrong resignations.",
    )
    reuse: bool = Field(False, description="Reuse the search graph from move to move.")
    max_moves: int | None = Field(
        None, ge=1, le=2**31 - 1, description="Maximum number of moves per game; longer games are cut. None: no limit."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.temperature_end > self.temperature:
            raise ValueError("temperature_end must not be greater than temperature")
        return self

    def core(self, search: SearchConfig, native: NativeEvaluator | None = None) -> dict[str, Any]:
        """The settings in the form of the compiled pool; ``native`` is the evaluator if it is one of the core."""
        return {
            "simulations": search.simulations,
            "fast_simulations": search.fast_simulations or 0,
            "full_share": self.full_share,
            "temperature": self.temperature,
            "temperature_end": self.temperature_end,
            "temperature_half_life": self.temperature_half_life,
            "temperature_moves": -1 if self.temperature_moves is None else self.temperature_moves,
            "opening_moves": self.opening_moves,
            "resign_below": -2.0 if self.resign_below is None else self.resign_below,
            "resign_moves": self.resign_moves,
            "playthrough": self.playthrough,
            "reuse": self.reuse,
            "leaves": search.batch_size,
            "max_moves": self.max_moves or 0,
            "acting": {"method": self.acting, "nash": self.nash.model_dump()},
            "rollouts": -1 if native is None else native.rollouts,
            "greedy": native is not None and native.greedy,
            "prior": 0.0 if native is None else native.prior,
            "planner": native is not None and native.planner,
        }
