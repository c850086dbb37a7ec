"""Training: targets, replay window, losses, optimizer and the training loop. Imports torch."""

from ramify.training.checkpoints import (
    DamagedCheckpoint,
    checkpoints,
    latest,
    network_file,
    read_checkpoint,
    read_progress,
)
from ramify.training.config import (
    LoopConfig,
    LossConfig,
    OptimizerConfig,
    SourceConfig,
    StageConfig,
    TargetConfig,
    TrainConfig,
    WindowConfig,
)
from ramify.training.learner import Learner
from ramify.training.metrics import Metrics, Sink, read_metrics, tensorboard
from ramify.training.presets import as_yaml, load_config, presets
from ramify.training.pyrat_losses import win_probabilities
from ramify.training.replay import Replay, TrainingBatch
from ramify.training.run import Status, train
from ramify.training.samples import Samples, make_samples

__all__ = [
    "DamagedCheckpoint",
    "Learner",
    "LoopConfig",
    "LossConfig",
    "Metrics",
    "OptimizerConfig",
    "Replay",
    "Samples",
    "Sink",
    "SourceConfig",
    "StageConfig",
    "Status",
    "TargetConfig",
    "TrainConfig",
    "TrainingBatch",
    "WindowConfig",
    "as_yaml",
    "checkpoints",
    "latest",
    "load_config",
    "make_samples",
    "network_file",
    "presets",
    "read_checkpoint",
    "read_metrics",
    "read_progress",
    "tensorboard",
    "train",
    "win_probabilities",
]
