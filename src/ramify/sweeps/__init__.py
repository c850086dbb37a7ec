"""Sweeps: settings of a search or of training, tuned against a fixed pool of players."""

from ramify.sweeps.config import Range, SweepConfig, load_sweep
from ramify.sweeps.improve import Improve, ImproveConfig, Round, load_improve
from ramify.sweeps.run import Sweep, SweepProgress
from ramify.sweeps.trials import Confirmation, SweepResult, Trial

__all__ = [
    "Confirmation",
    "Improve",
    "ImproveConfig",
    "Range",
    "Round",
    "Sweep",
    "SweepConfig",
    "SweepProgress",
    "SweepResult",
    "Trial",
    "load_improve",
    "load_sweep",
]
