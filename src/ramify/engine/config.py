"""Everything a search can be told, with defaults and ranges: the one place that states them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ramify.base.settings import Settings


def c_puct_of(evaluator: object) -> float:
    """The weight of exploration that suits an evaluator; 1 where it states none."""
    return float(getattr(evaluator, "c_puct", 1.0))


class SearchConfig(Settings):
    """Settings of a search; frozen. An unknown or impossible setting raises a ``ValueError`` that names it."""

    what = "search"

    simulations: int = Field(
        800, ge=1, le=2**62, description="descents per run; on a fresh root the first evaluates the root"
    )
    max_evaluations: int | None = Field(
        None, ge=1, le=2**62, description="stop after so many rows given to the evaluator"
    )
    max_seconds: float | None = Field(None, gt=0, description="stop after so much time")
    stop_early: bool = Field(False, description="stop when the most visited action can no longer change")

    c_puct: float | None = Field(
        None, ge=0, le=1e9, description="weight of exploration; None: 3 for rollouts, 1.4 for networks, else 1"
    )
    c_base: float | None = Field(
        None, ge=1e-6, le=1e12, description="c grows by ln((N + c_base + 1) / c_base); None: constant"
    )
    parent_visits: Literal["node", "edges"] = Field("node", description="what N counts in the exploration term")
    fpu: Literal["zero", "parent", "reduction"] = Field("zero", description="what an untried outcome is worth")
    fpu_offset: float = Field(
        0.1, ge=0, le=1e9, description="how far below the parent's value, for fpu parent and reduction"
    )
    discount: float = Field(1.0, gt=0, le=1, description="weight of the next value against the reward")
    opponent_weights: Literal["conditional", "prior", "visits", "blended"] = Field(
        "conditional",
        description="how a simultaneous player weighs the other's responses (options D, A, B, C)",
    )
    normalize: Literal["none", "minmax", "remaining"] = Field("none", description="scale of values in selection")
    selection: Literal["puct", "gumbel", "regret", "exp3"] = Field(
        "puct",
        description="selection rule; regret and exp3 where both players choose at once, PUCT elsewhere",
    )
    solver: bool = Field(False, description="carry proofs from finished games to the root; stop when it is proven")

    graph: bool = Field(False, description="share nodes between equal positions")
    canonical: bool = Field(False, description="with graph: share nodes between symmetric positions too")
    short_circuit: bool = Field(False, description="with graph: do not descend into a child known better than the edge")
    max_nodes: int | None = Field(None, ge=1, le=2**31, description="bound on the graph; when full it stops growing")

    root_temperature: float = Field(
        1.0, ge=1e-6, le=1e9, description="of the root's priors, before noise; above 1 is flatter"
    )
    noise: Literal["dirichlet", "shaped"] = Field(
        "dirichlet", description="the same alpha for every outcome, or a total alpha shared as KataGo shares it"
    )
    noise_alpha: float = Field(
        0.3, ge=1e-6, le=1e9, description="shape of the Dirichlet noise at the root; shaped: its total"
    )
    noise_fraction: float = Field(0.0, ge=0, le=1, description="share of noise in the root's priors")
    forced_playouts: float = Field(
        0.0, ge=0, le=1e9, description="an outcome of the root, once tried, is owed sqrt(this * prior * visits) visits"
    )
    fast_simulations: int | None = Field(None, ge=1, le=2**62, description="simulations of run(state, fast=True)")

    gumbel_considered: int = Field(
        16, ge=1, le=2**31 - 1, description="outcomes of the root that Gumbel search compares"
    )
    gumbel_scale: float = Field(1.0, ge=0, le=1e9, description="size of the Gumbel noise; 0: play without chance")
    gumbel_visit: float = Field(50.0, ge=0, le=1e9, description="values weigh (this + most visits) * gumbel_value")
    gumbel_value: float = Field(0.1, ge=0, le=1e9, description="see gumbel_visit; 1.0 is usual without gumbel_rescale")
    gumbel_rescale: bool = Field(True, description="a node's values to the range 0 to 1 before they are weighed")
    exp3_exploration: float = Field(0.1, ge=1e-6, le=1, description="share of even play under exp3")

    batch: int = Field(1, ge=1, le=65536, description="leaves of one search evaluated together")
    max_in_flight: float = Field(0.25, gt=0, le=1, description="bound on those leaves, as a share of the root's visits")
    threads: int = Field(1, ge=1, le=256, description="threads that search one graph, or many searches, together")

    def for_evaluator(self, evaluator: object) -> Self:
        """The settings with ``c_puct`` filled in: an evaluator may state the value that suits it, as ``c_puct``."""
        return self if self.c_puct is not None else self.replace(c_puct=c_puct_of(evaluator))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.selection == "gumbel":
            for name, neutral in (("noise_fraction", 0.0), ("forced_playouts", 0.0), ("root_temperature", 1.0)):
                if getattr(self, name) != neutral:
                    raise ValueError(f"gumbel selection has noise of its own: leave {name} at {neutral}")
        return self

    @field_validator("simulations", "batch", "threads", "max_nodes", "max_evaluations", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("must be a whole number, not True or False")
        return value
