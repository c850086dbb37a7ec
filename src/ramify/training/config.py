"""Everything a training run can be told, with defaults and ranges: the one place that states them."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ramify.base.imports import import_modules
from ramify.base.settings import Settings
from ramify.engine.config import SearchConfig
from ramify.engine.policies import Method
from ramify.games import Game, list_games, make
from ramify.networks import config_of
from ramify.selfplay.config import PlayConfig


class TargetConfig(Settings):
    """What the network learns from a recorded position. Chosen apart from how the games were acted out."""

    what = "target"

    policy: Method = Field("visits", description="the policy made of what the search found")
    root_share: float = Field(0.0, ge=0, le=1, description="share of the search's own value in the value target")
    short_share: float = Field(0.0, ge=0, le=1, description="share of the mean of the next searches' values")
    short_moves: float = Field(6.0, gt=0, description="about how many moves that mean looks ahead")
    surprise: float = Field(0.0, ge=0, le=1, description="share of drawing by how much the search surprised the prior")
    augment: bool = Field(True, description="show positions under the game's symmetries")

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if self.root_share + self.short_share > 1:
            raise ValueError("root_share and short_share together must not exceed 1: the rest is the game's returns")
        return self


class WindowConfig(Settings):
    """Which of the latest positions are drawn from."""

    what = "window"

    size: int = Field(250_000, ge=1, description="positions; of a growing window, those it starts with")
    growing: bool = Field(
        True, description="grow as KataGo's does: size * (1 + scale * ((N / size)^exponent - 1) / exponent)"
    )
    exponent: float = Field(0.75, gt=0, le=1, description="of the growth")
    scale: float = Field(0.4, gt=0, le=1, description="of the growth")

    def positions(self, total: int) -> int:
        """The window after so many positions were ever recorded."""
        if not self.growing or total <= self.size:
            return self.size
        growth = ((total / self.size) ** self.exponent - 1) / self.exponent
        return int(self.size * (1 + self.scale * growth))


class SourceConfig(Settings):
    """Records of other runs, or of other sizes of the board, to learn from as well."""

    what = "source"

    folder: str = Field(description="with shards of games")
    weight: float = Field(gt=0, description="batches drawn from it, for every one of the run's own")


class OptimizerConfig(Settings):
    """How weights change."""

    what = "optimizer"

    kind: Literal["adamw", "sgd"] = Field("adamw", description="the optimiser")
    learning_rate: float = Field(2e-3, gt=0, description="at its highest")
    weight_decay: float = Field(1e-4, ge=0, description="of weights of two or more dimensions")
    momentum: float = Field(0.9, ge=0, lt=1, description="of sgd; the first beta of adamw")
    schedule: Literal["constant", "cosine", "linear"] = Field("cosine", description="how the rate falls over the run")
    final_share: float = Field(0.05, ge=0, le=1, description="of the rate that is left at the end")
    warmup_steps: int = Field(50, ge=0, description="steps in which the rate rises at the start")
    clip: float | None = Field(5.0, gt=0, description="longest gradient; None: any")
    average: Literal["none", "ema", "swa"] = Field("ema", description="weights that play: the last, or averaged ones")
    ema_decay: float = Field(0.99, ge=0, lt=1, description="of the older average, per step")
    swa_from: float = Field(0.75, ge=0, lt=1, description="share of the run after which swa begins to average")


class LossConfig(Settings):
    """What counts how much. Heads that the network does not have are left out."""

    what = "loss"

    policy: float = Field(1.0, ge=0, description="cross-entropy with the policy target")
    value: float = Field(1.0, ge=0, description="squared error of the value; cross-entropy where it is win, draw, loss")
    score: float = Field(0.1, ge=0, description="cross-entropy of the score's distribution")
    value_error: float = Field(0.1, ge=0, description="Huber loss of the expected squared error of the value")
    ownership: float = Field(0.2, ge=0, description="cross-entropy per cell of who owns it at the end")


def checked_device(name: str) -> str:
    """The name of a device on which networks run; a ValueError for any other."""
    if re.fullmatch(r"cpu|cuda(:\d+)?", name) is None:
        raise ValueError(f"networks run on cpu or cuda, not on {name!r}")
    return name


class LoopConfig(Settings):
    """How long, how many, and with what."""

    what = "loop"
    renamed = {"reuse": "replay_ratio", "places": "parallel_games"}  # noqa: RUF012

    iterations: int = Field(20, ge=1, description="rounds of self-play, training and a checkpoint")
    max_seconds: float | None = Field(
        None, gt=0, description="end after so much time; looked at between iterations, with overlap at any moment"
    )
    games: int = Field(256, ge=1, description="games of one iteration")
    rollout_iterations: int = Field(0, ge=0, description="iterations at the start that search by random games instead")
    rollout_simulations: int = Field(400, ge=2, description="of their searches, all of them full")
    replay_ratio: float = Field(4.0, gt=0, description="how often a recorded position is trained on, on average")
    batch: int = Field(256, ge=1, description="positions of one step")
    parallel_games: int = Field(256, ge=1, description="games played at once")
    threads: int = Field(1, ge=1, description="threads that search, and that evaluate on a CPU")
    device: str | None = Field(None, description="cpu or cuda; None: what there is")
    evaluator: Literal["auto", "torch", "onnx"] = Field("auto", description="what runs the network in self-play")
    compile: bool = Field(False, description="compile it, on CUDA: a minute first, faster then")
    exact: bool = Field(False, description="games equal to the bit however they are batched: slower, needs onnx")
    overlap: bool | None = Field(None, description="play in a process of its own while training; None: on CUDA")
    loaders: int = Field(2, ge=1, description="with overlap: processes that make positions of records")
    checkpoint_seconds: float = Field(20.0, gt=0, description="with overlap: between two checkpoints")
    keep: int = Field(3, ge=1, description="checkpoints kept to resume from; networks are all kept")
    games_per_shard: int = Field(256, ge=1, description="games in one file")
    keep_games: int | None = Field(
        None,
        ge=1,
        description="games kept on disk at least; older ones are deleted once out of the window; None: all",
    )

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str | None) -> str | None:
        return None if device is None else checked_device(device)


class TrainConfig(Settings):
    """A whole training run."""

    what = "training"

    game: str = Field(description="a name of rf.list_games()")
    params: dict[str, Any] = Field(default_factory=dict, description="the game's parameters")
    imports: tuple[str, ...] = Field((), description="modules or Python files to import first: they register the game")
    network: str | dict[str, Any] = Field("4x32", description="a size such as 6x64, or settings of a network")
    start: str | None = Field(None, description="a saved network to start from, of this game and any size it serves")
    seed: int = Field(0, ge=0, lt=2**63, description="of weights, games and batches")
    search: SearchConfig = Field(default_factory=SearchConfig, description="the searches of self-play")
    play: PlayConfig = Field(default_factory=PlayConfig, description="how games are played")
    targets: TargetConfig = Field(default_factory=TargetConfig, description="what is learnt from a position")
    window: WindowConfig = Field(default_factory=WindowConfig, description="which positions are learnt from")
    sources: tuple[SourceConfig, ...] = Field((), description="other records to learn from as well")
    optimizer: OptimizerConfig = Field(default_factory=OptimizerConfig, description="how weights change")
    losses: LossConfig = Field(default_factory=LossConfig, description="what counts how much")
    loop: LoopConfig = Field(default_factory=LoopConfig, description="how long, how many, and with what")

    def make_game(self) -> Game:
        """The game of the run, after its ``imports``: in every process that needs it."""
        problem: ImportError | None = None
        for name in self.imports:
            try:
                import_modules([name])
            except ImportError as error:  # it may have been imported from where it is now
                problem = problem or error
        if problem is not None and self.game not in list_games():
            raise problem
        return make(self.game, **self.params)

    @field_validator("network", mode="before")
    @classmethod
    def _known_network(cls, network: Any) -> Any:
        if not isinstance(network, str | dict):
            raise ValueError("must be a size such as 6x64, or settings of a network")
        config_of(network)  # says what is wrong with it
        return network

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.targets.policy == "average" and self.search.selection not in ("regret", "exp3"):
            raise ValueError('target policy="average" needs search selection="regret" or "exp3"')
        if self.loop.exact and self.loop.overlap:
            raise ValueError("with overlap games depend on when a checkpoint comes: exact runs take turns")
        if self.loop.exact and self.loop.evaluator == "torch":
            raise ValueError("torch rounds by a row's place in its batch: an exact run needs evaluator=onnx")
        if self.loop.rollout_iterations and self.loop.overlap:
            raise ValueError("rollout_iterations need iterations: not with overlap")
        return self
