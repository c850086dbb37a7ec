"""Settings of the MuZero search."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ramify.base.settings import Settings
from ramify.engine.config import SearchConfig


class MCTSConfig(Settings):
    """Settings of ``MCTS``; frozen. An unknown or out-of-range setting raises a ``ValueError``."""

    what = "MCTS"

    num_simulations: int = Field(
        50, ge=1, le=2**31, description="Number of simulations per move, after the evaluation of the root."
    )
    root_dirichlet_alpha: float = Field(0.3, gt=0, le=1e9, description="Alpha of the Dirichlet noise at the root.")
    root_exploration_fraction: float = Field(
        0.25, ge=0, le=1, description="Fraction of noise in the root priors; 0: none."
    )
    pb_c_base: float = Field(19652, gt=0, le=1e12, description="Base of the growth of the exploration constant.")
    pb_c_init: float = Field(1.25, ge=0, le=1e9, description="Exploration constant of PUCT.")
    discount: float = Field(0.997, gt=0, le=1, description="Discount factor per action.")
    acting: Literal["alternating", "single", "both"] = Field(
        "alternating",
        description="Who acts inside the model: two players in turn, a single one, or both at once; a latent model's "
        "own attribute acting overrides it.",
    )

    def search(self) -> SearchConfig:
        """The settings as a SearchConfig, whose first simulation is the evaluation of the root."""
        return SearchConfig(
            simulations=self.num_simulations + 1,
            c_puct=self.pb_c_init,
            c_base=self.pb_c_base,
            discount=self.discount,
            normalize="minmax",
            fpu="zero",
            noise_alpha=self.root_dirichlet_alpha,
            noise_fraction=self.root_exploration_fraction,
            batch=1,
            in_flight=1,
        )
