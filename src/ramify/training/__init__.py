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
    UnrollConfig,
    VariantConfig,
    WindowConfig,
)
from ramify.training.learner import Learner
from ramify.training.metrics import Metrics, Sink, read_metrics, tensorboard
from ramify.training.presets import as_yaml, load_config, presets
from ramify.training.pyrat_losses import win_probabilities
from ramify.training.replay import Replay, TrainingBatch
from ramify.training.run import train
from ramify.training.samples import Samples, make_samples
from ramify.training.status import NodeStatus, Status
from ramify.training.trajectories import Trajectories, make_trajectories
from ramify.training.unroll import UnrollBatch, UnrollReplay
from ramify.training.unroll_learner import UnrollLearner

__all__ = [
    "DamagedCheckpoint",
    "Learner",
    "LoopConfig",
    "LossConfig",
    "Metrics",
    "NodeStatus",
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
    "Trajectories",
    "UnrollBatch",
    "UnrollConfig",
    "UnrollLearner",
    "UnrollReplay",
    "VariantConfig",
    "WindowConfig",
    "as_yaml",
    "checkpoints",
    "latest",
    "load_config",
    "make_samples",
    "make_trajectories",
    "network_file",
    "presets",
    "read_checkpoint",
    "read_metrics",
    "read_progress",
    "tensorboard",
    "train",
    "win_probabilities",
]
