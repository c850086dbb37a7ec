"""Settings of the search, with defaults and ranges."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ramify.base.settings import Settings
from ramify.engine.batching import IN_FLIGHT, accelerated, automatic_batch, num_parameters

LARGEST_C_PUCT = 1e9


def c_puct_of(evaluator: object) -> float:
    """The exploration constant recommended by an evaluator (its attribute ``c_puct``); 1 if it has none."""
    found = float(getattr(evaluator, "c_puct", 1.0))
    if not 0 <= found <= LARGEST_C_PUCT:
        raise ValueError(f"{type(evaluator).__name__}.c_puct={found}: must be from 0 to {LARGEST_C_PUCT:g}")
    return found


class SearchConfig(Settings):
    """Settings of a search; frozen. An unknown or out-of-range setting raises a ``ValueError`` that names it."""

    what = "search"

    simulations: int = Field(
        800,
        ge=1,
        le=2**62,
        description="Number of simulations per run; on a fresh root, the first one evaluates the root.",
    )
    max_evaluations: int | None = Field(
        None, ge=1, le=2**62, description="Maximum number of positions sent to the evaluator per run; None: no limit."
    )
    max_seconds: float | None = Field(
        None,
        gt=0,
        description=(
            'Maximum time per run in seconds; None: no limit. stats["seconds"] is at least this where time ran out.'
        ),
    )
    stop_early: bool = Field(False, description="Stop as soon as the most visited action can no longer change.")

    c_puct: float | None = Field(
        None,
        ge=0,
        le=LARGEST_C_PUCT,
        description=(
            "Exploration constant of PUCT; None: the evaluator's own (3 for rollouts, 1.4 for networks), else 1."
        ),
    )
    c_base: float | None = Field(
        None,
        ge=1e-6,
        le=1e12,
        description=(
            "Base of the logarithmic growth of c_puct with the visits N: ln((N + c_base + 1) / "
            "c_base) is added; None: constant."
        ),
    )
    parent_visits: Literal["node", "edges"] = Field(
        "node",
        description=("Parent visit count N in the exploration term: visits of the node, or the sum over its edges."),
    )
    fpu: Literal["zero", "parent", "reduction"] = Field(
        "zero",
        description=(
            "First-play urgency: an unvisited outcome counts as 0, as the parent's value minus "
            "fpu_offset, or as that value minus fpu_offset times the square root of the visited "
            "prior mass."
        ),
    )
    fpu_offset: float = Field(
        0.1, ge=0, le=1e9, description="Offset below the parent's value for fpu=parent and fpu=reduction."
    )
    discount: float = Field(1.0, gt=0, le=1, description="Discount factor per action.")
    error_scale: float | None = Field(
        None,
        ge=1e-6,
        le=1e9,
        description=(
            "Weight evaluations by the errors that the evaluator expects of its values: one with an expected error e "
            "counts as error_scale / (error_scale + e) of a visit in the values of the nodes above. None: all count "
            "the same. Needs a network with the head value_error."
        ),
    )
    opponent_weights: Literal["conditional", "prior", "visits", "blended"] = Field(
        "conditional",
        description=(
            "Weights of the other player's responses when both act: visits of the pair, prior, "
            "marginal visits, or visits plus prior."
        ),
    )
    normalize: Literal["none", "minmax", "remaining"] = Field(
        "none",
        description=(
            "Normalisation of values in selection: none, by the range of backed-up values, or by the "
            "reward that remains."
        ),
    )
    selection: Literal["puct", "gumbel", "regret", "exp3"] = Field(
        "puct",
        description=(
            "Selection rule; regret and exp3 apply where both players act at once, with PUCT at all other nodes."
        ),
    )
    solver: bool = Field(
        False,
        description=(
            "Propagate proven wins, losses and draws from finished games to the root, and stop when the root is proven."
        ),
    )

    graph: bool = Field(
        False, description="Share nodes between transpositions (equal positions reached by different paths)."
    )
    canonical: bool = Field(False, description="With graph: also share nodes between symmetric positions.")
    short_circuit: bool = Field(
        False, description=("With graph: end a simulation at a child that has more visits than the edge leading to it.")
    )
    max_nodes: int | None = Field(
        None,
        ge=1,
        le=2**31,
        description=(
            "Maximum number of nodes; a full graph is still searched but no longer expanded. None: no limit but memory."
        ),
    )

    root_temperature: float = Field(
        1.0,
        ge=1e-6,
        le=1e9,
        description="Softmax temperature of the root priors, applied before noise; above 1 flattens them.",
    )
    noise: Literal["dirichlet", "shaped"] = Field(
        "dirichlet",
        description=("Noise at the root: Dirichlet noise with equal alphas, or KataGo's shaped Dirichlet noise."),
    )
    noise_alpha: float = Field(
        0.3,
        ge=1e-6,
        le=1e9,
        description="Alpha of the Dirichlet noise per outcome; for noise=shaped, the total over all outcomes.",
    )
    noise_fraction: float = Field(
        0.0, ge=0, le=1, description="Fraction of noise in the root priors; 0 disables noise."
    )
    forced_playouts: float = Field(
        0.0,
        ge=0,
        le=1e9,
        description=(
            "Forced playouts: factor of the least number of visits that a visited root outcome receives, see "
            "forced_form; 0 disables them."
        ),
    )
    forced_form: Literal["sqrt", "linear"] = Field(
        "sqrt",
        description=(
            "Least number of visits by forced playouts: sqrt(forced_playouts * prior * visits) as in KataGo, or "
            "forced_playouts * prior * sqrt(visits)."
        ),
    )
    forced_by: Literal["player", "pair"] = Field(
        "player",
        description=(
            "What forced playouts apply to where both players act: each player's outcomes, or pairs of visited "
            "outcomes, whose prior is the product of both."
        ),
    )
    fast_simulations: int | None = Field(
        None,
        ge=1,
        le=2**62,
        description=(
            "Number of simulations of a fast search, run(state, fast=True); None: fast searches are not available."
        ),
    )

    gumbel_considered: int = Field(
        16, ge=1, le=2**31 - 1, description="Number of root outcomes sampled for sequential halving in Gumbel search."
    )
    gumbel_scale: float = Field(
        1.0, ge=0, le=1e9, description="Scale of the Gumbel noise; 0 makes Gumbel search deterministic."
    )
    gumbel_visit: float = Field(
        50.0,
        ge=0,
        le=1e9,
        description=(
            "c_visit of Gumbel search: completed values are multiplied by (gumbel_visit + most visits) * gumbel_value."
        ),
    )
    gumbel_value: float = Field(
        0.1,
        ge=0,
        le=1e9,
        description="c_scale of Gumbel search, see gumbel_visit; 1.0 is usual without gumbel_rescale.",
    )
    gumbel_rescale: bool = Field(True, description="Rescale the completed values of a node to the range 0 to 1.")
    exp3_exploration: float = Field(0.1, ge=1e-6, le=1, description="Probability of uniform exploration in Exp3.")

    chance_widening: float = Field(
        1.0,
        ge=0,
        le=1e9,
        description=(
            "Progressive widening of chance events with many outcomes: after n visits of an event, at most "
            "chance_widening * n^chance_exponent of its outcomes were drawn; 0: every visit draws one."
        ),
    )
    chance_exponent: float = Field(
        0.5, ge=0.01, le=1, description="Exponent of progressive widening, see chance_widening."
    )
    chance_explicit: int = Field(
        64,
        ge=1,
        le=65_535,
        description="Chance events with at most this many outcomes are searched without progressive widening.",
    )

    batch: int | Literal["auto"] = Field(
        "auto",
        description=(
            "Maximum number of leaves of one search that are evaluated together; auto: 1 on a CPU, on a GPU a number "
            "that depends on the limits of the search and the size of the network."
        ),
    )
    in_flight: int | Literal["auto"] = Field(
        "auto",
        description=(
            "Number of batches of one search in flight: one is gathered while others are evaluated; auto: 2 if batch "
            "is auto and larger than 1, else 1."
        ),
    )
    cache: int = Field(
        0,
        ge=0,
        le=2**24,
        description=(
            "Maximum number of evaluations kept by position, for all runs of a searcher or all games of self-play; "
            "0: none. Changes no result. Evaluators of the core and latent models do without."
        ),
    )
    rollout_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Share of a rollout in the value of a leaf; the rest is the evaluator's value. The game is played on by "
            "its greedy player if it knows one, as PyRat does, otherwise at random. Evaluators of the core do without."
        ),
    )
    rollout_by: Literal["greedy", "planner"] = Field(
        "greedy",
        description=(
            "With rollout_share: what is mixed in is the result of a game as described there, or what the game's "
            "planner expects (PyRat)."
        ),
    )
    max_in_flight: float = Field(
        0.25,
        gt=0,
        le=1,
        description="Maximum number of leaves in flight, over all batches, as a fraction of the root's visits.",
    )
    threads: int = Field(
        1,
        ge=1,
        le=256,
        description=(
            "Number of search threads, on one graph or across independent searches. Games written in Python, or by "
            "other libraries, are always searched by one."
        ),
    )
    bundle: int | None = Field(
        None,
        ge=1,
        le=1024,
        description=(
            "Maximum number of simulations that a thread makes together with an evaluator of the core (uniform, "
            "rollouts), within max_in_flight: large searches take less time, and visits differ a little. "
            "None: 1 with one thread, 1024 with several. Evaluators in Python and games written in Python do without."
        ),
    )

    def for_evaluator(self, evaluator: object) -> Self:
        """A copy with numbers in place of ``c_puct=None`` and of ``"auto"``, which depend on the evaluator."""
        return self.resolved(c_puct_of(evaluator), accelerated(evaluator), num_parameters(evaluator))

    def resolved(self, c_puct: float, on_accelerator: bool, parameters: int) -> Self:
        """As ``for_evaluator``, for an evaluator with these properties."""
        batch, in_flight = self.batch, self.in_flight
        if batch == "auto":
            limits = self.simulations, self.max_evaluations, self.max_seconds
            batch = automatic_batch(*limits, parameters) if on_accelerator else 1
            in_flight = (IN_FLIGHT if batch > 1 else 1) if in_flight == "auto" else in_flight
        in_flight = 1 if in_flight == "auto" else in_flight
        c_puct = c_puct if self.c_puct is None else self.c_puct
        if (c_puct, batch, in_flight) == (self.c_puct, self.batch, self.in_flight):
            return self
        # Without a second validation, which takes longer than a search of a hundred simulations.
        return self.model_copy(update={"c_puct": c_puct, "batch": batch, "in_flight": in_flight})

    @property
    def batch_size(self) -> int:
        """``batch`` as a number; "auto" counts as 1, as it does on a CPU and in self-play."""
        return 1 if self.batch == "auto" else self.batch

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.selection == "gumbel":
            for name, neutral in (("noise_fraction", 0.0), ("forced_playouts", 0.0), ("root_temperature", 1.0)):
                if getattr(self, name) != neutral:
                    raise ValueError(f"selection='gumbel' adds its own noise at the root: {name} must be {neutral}")
        if self.forced_by == "pair" and self.selection != "puct":
            raise ValueError(
                "forced_by='pair' needs selection='puct': other rules have no forced playouts where both players act"
            )
        return self

    @field_validator("batch", "in_flight", mode="before")  # "plain" would have a serializer that swallows Ctrl-C
    @classmethod
    def _number_or_auto(cls, value: Any, info: ValidationInfo) -> int | Literal["auto"]:
        most = 65536 if info.field_name == "batch" else 16
        if value == "auto":
            return "auto"
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"must be a whole number from 1 to {most}, or 'auto'")
        return value

    @field_validator(
        "simulations", "threads", "bundle", "max_nodes", "max_evaluations", "cache", "chance_explicit", mode="before"
    )
    @classmethod
    def _whole(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("must be a whole number, not True or False")
        return value
