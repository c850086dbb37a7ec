"""Sweeps: settings of a search or of training, tuned against a fixed pool of players."""

from ramify.sweeps.config import Range, SweepConfig, load_sweep
from ramify.sweeps.run import Sweep, SweepProgress
from ramify.sweeps.trials import Confirmation, SweepResult, Trial

__all__ = [
    "Confirmation",
    "Range",
    "Sweep",
    "SweepConfig",
    "SweepProgress",
    "SweepResult",
    "Trial",
    "load_sweep",
]
