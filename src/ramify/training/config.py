"""Settings of a training run, with defaults and ranges."""

from __future__ import annotations

import math
import re
from itertools import accumulate, pairwise
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ramify.base.imports import import_modules
from ramify.base.settings import Settings
from ramify.cluster import ClusterConfig
from ramify.engine.config import SearchConfig
from ramify.engine.policies import Method, NashConfig, Root, is_informative
from ramify.games import Game, list_games, make
from ramify.networks import config_of
from ramify.selfplay.config import PlayConfig

GOLDEN = (math.sqrt(5) - 1) / 2


class TargetConfig(Settings):
    """Training targets. The policy target is independent of the policy that chose the actions (``play.acting``)."""

    what = "target"

    policy: Method = Field("visits", description="Policy target computed from the recorded search.")
    nash: NashConfig = Field(default_factory=NashConfig, description="Equilibrium of policy=nash.")
    skip_uninformative: bool | None = Field(
        None,
        description=(
            "Leave out the policy target where the search found no difference between the payoffs of any actions "
            "(nash: also where no outcome has enough visits); the value is still trained. None: only with policy=nash."
        ),
    )
    root_share: float = Field(
        0.0, ge=0, le=1, description="Weight of the root value of the search in the value target."
    )
    short_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Weight of the short-term value target: the discounted mean of the root values of the following searches."
        ),
    )
    short_moves: float = Field(6.0, gt=0, description="Approximate horizon of the short-term value target in moves.")
    surprise: float = Field(0.0, ge=0, le=1, description="Weight of KL(target ‖ prior) in sampling.")
    augment: bool = Field(True, description="Augment training data with random symmetries of the game.")

    def skips_policy(self, root: Root) -> bool:
        """Whether the position of a recorded search gets no policy target."""
        skips = self.policy == "nash" if self.skip_uninformative is None else self.skip_uninformative
        return skips and not is_informative(root, self.policy, self.nash)

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if self.root_share + self.short_share > 1:
            raise ValueError("root_share + short_share must not exceed 1: the rest is the weight of the game's returns")
        return self


class WindowConfig(Settings):
    """Size of the replay window: the latest positions from which batches are sampled."""

    what = "window"

    size: int = Field(
        250_000, ge=1, description="Number of positions in the replay window; with growing, its initial size."
    )
    growing: bool = Field(
        True,
        description=(
            "Grow the window like KataGo's with the N positions recorded so far: size * (1 + scale * "
            "((N / size)^exponent - 1) / exponent)."
        ),
    )
    exponent: float = Field(0.75, gt=0, le=1, description="Exponent of the window's growth.")
    scale: float = Field(0.4, gt=0, le=1, description="Scale of the window's growth.")
    last_iterations: int | None = Field(
        None,
        ge=1,
        description=(
            "Number of latest iterations (of loop.games games) whose positions stay in the window, within its size; "
            "None: no limit."
        ),
    )

    def positions(self, total: int) -> int:
        """The size of the window once ``total`` positions have been recorded."""
        if not self.growing or total <= self.size:
            return self.size
        growth = ((total / self.size) ** self.exponent - 1) / self.exponent
        return int(self.size * (1 + self.scale * growth))


class BoardConfig(Settings):
    """The game with other parameters, such as another size of the board."""

    params: dict[str, Any] = Field(
        default_factory=dict, description="Parameters of the game that differ from those of the run."
    )


class StageConfig(BoardConfig):
    """A stage of the curriculum: games with other parameters, such as a smaller board, during a part of the run."""

    what = "stage"

    until: float = Field(gt=0, lt=1, description="Completed fraction of the run at which the stage ends.")


class VariantConfig(BoardConfig):
    """The game with other parameters, such as another size of the board, played in turn with those of the run."""

    what = "variant"

    share: float = Field(1.0, gt=0, le=1000, description="Number of its games per game with the parameters of the run.")


class SourceConfig(Settings):
    """An additional source of training games, of another run or another board size."""

    what = "source"

    folder: str = Field(description="Directory with shards of self-play games, or the folder of a training run.")
    weight: float = Field(
        1.0, gt=0, description="Number of batches sampled from this source per batch of the run's own games."
    )


class OptimizerConfig(Settings):
    """Optimizer, learning-rate schedule and weight averaging."""

    what = "optimizer"

    kind: Literal["adamw", "sgd"] = Field("adamw", description="Optimizer.")
    learning_rate: float = Field(2e-3, gt=0, description="Peak learning rate.")
    weight_decay: float = Field(1e-4, ge=0, description="Weight decay of weights with two or more dimensions.")
    momentum: float = Field(0.9, ge=0, lt=1, description="Momentum of SGD; the first beta of AdamW.")
    schedule: Literal["constant", "cosine", "linear"] = Field(
        "cosine", description="Learning-rate schedule over the run."
    )
    final_share: float = Field(0.05, ge=0, le=1, description="Final learning rate as a fraction of learning_rate.")
    warmup_steps: int = Field(50, ge=0, description="Number of steps of linear learning-rate warm-up.")
    clip: float | None = Field(5.0, gt=0, description="Maximum gradient norm; None: no clipping.")
    average: Literal["none", "ema", "swa"] = Field(
        "ema",
        description=(
            "Weights used for self-play and saved: the last ones, their exponential moving average, "
            "or stochastic weight averaging."
        ),
    )
    ema_decay: float = Field(
        0.99,
        ge=0,
        lt=1,
        description=(
            "Decay of the exponential moving average per step. In step n it is at most (1 + n) / (10 + n), so that "
            "the first weights are soon forgotten."
        ),
    )
    swa_from: float = Field(
        0.75, ge=0, lt=1, description="Fraction of the run after which stochastic weight averaging starts."
    )


class LossConfig(Settings):
    """Weights of the losses. Losses of heads that the network does not have are ignored."""

    what = "loss"

    policy: float = Field(1.0, ge=0, description="Weight of the policy loss: cross-entropy with the policy target.")
    value: float = Field(
        1.0, ge=0, description="Weight of the value loss: squared error, or cross-entropy for a win/draw/loss head."
    )
    score: float = Field(0.1, ge=0, description="Weight of the score loss: cross-entropy of the score distribution.")
    value_error: float = Field(
        0.1, ge=0, description="Weight of the value-error loss: Huber loss of the predicted squared error of the value."
    )
    ownership: float = Field(
        0.2,
        ge=0,
        description=("Weight of the ownership loss: cross-entropy per cell of its owner at the end of the game."),
    )
    cheese: float = Field(
        0.2, ge=0, description="Weight of the cheese loss (PyRat): cross-entropy of who collects each piece left."
    )
    final_score: float = Field(
        0.1,
        ge=0,
        description="Weight of the final-score loss (PyRat): cross-entropy of both scores at the end.",
    )
    payoffs: float = Field(
        0.5,
        ge=0,
        description=(
            "Weight of the payoff loss: squared error of the payoffs of the search, in proportion to the visits."
        ),
    )
    nash: float = Field(
        0.0,
        ge=0,
        description=(
            "Weight of the Nash consistency of the payoffs head with the policy targets: squared differences between "
            "outcomes in the support, and squared gains of other outcomes. Use it with targets.policy nash or average."
        ),
    )
    reward: float = Field(
        1.0,
        ge=0,
        description="Weight of the reward loss of learned models: squared error, or cross-entropy with a support.",
    )
    consistency: float = Field(
        1.0,
        ge=0,
        description=(
            "Weight of the consistency loss of learned models with a projection: one minus the cosine between latent "
            "states of the dynamics and those of the positions that were reached."
        ),
    )
    constant_sum: float = Field(
        0.0,
        ge=0,
        description=(
            "Weight of the constant-sum loss of the payoffs head: squared error of both payoffs together against the "
            "rewards of both players in the rest of the game."
        ),
    )


class UnrollConfig(Settings):
    """Training of learned models (MuZero): the model is unrolled along the actions that were really taken."""

    what = "unroll"

    steps: int = Field(5, ge=1, le=64, description="Number of actions along which the model is unrolled.")
    n_step: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=(
            "Value targets are the rewards of so many actions and the search's value of the position after them; "
            "None: the returns of the whole game, mixed with root values by targets.root_share and short_share."
        ),
    )
    gradient: float = Field(
        0.5, ge=0, le=1, description="Factor of the gradient that flows through the dynamics from step to step."
    )
    priority: float = Field(
        0.0,
        ge=0,
        le=2,
        description=(
            "Exponent of the difference between the search's value of a position and its value target in the "
            "probability to be sampled; losses are weighted accordingly. 0: no priorities."
        ),
    )
    reanalyse: float = Field(
        0.0,
        ge=0,
        le=100,
        description=(
            "Number of positions of the replay window that are searched again with the newest network, for fresh "
            "targets, per new position (Reanalyse); 0: none."
        ),
    )


def checked_device(name: str) -> str:
    """Validate the name of a device; raises a ValueError if networks cannot run on it."""
    if re.fullmatch(r"cpu|cuda(:\d+)?", name) is None:
        raise ValueError(f"device must be cpu, cuda or cuda:N, not {name!r}")
    return name


class LoopConfig(Settings):
    """Length of the run, self-play throughput, devices and checkpoints."""

    what = "loop"
    renamed = {"reuse": "replay_ratio", "places": "parallel_games"}  # noqa: RUF012

    iterations: int = Field(
        20, ge=1, description="Number of iterations; each consists of self-play, training and a checkpoint."
    )
    max_seconds: float | None = Field(
        None,
        gt=0,
        description=(
            "Time limit of the run in seconds, checked between iterations (with overlap: continuously); None: no limit."
        ),
    )
    games: int = Field(256, ge=1, description="Number of self-play games per iteration.")
    rollout_iterations: int = Field(
        0,
        ge=0,
        description=(
            "Number of initial iterations whose searches evaluate positions by rollouts instead of the network: games "
            "between greedy players where the game knows one (PyRat), otherwise random games."
        ),
    )
    rollout_simulations: int = Field(
        400,
        ge=2,
        description=(
            "Number of simulations per search in the rollout iterations, in which every search is a full one."
        ),
    )
    uniform_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Fraction of the games of an iteration whose searches use equal priors and values instead of the network; "
            "they keep the games varied if the network's policy becomes too narrow."
        ),
    )
    source_steps: int = Field(
        0,
        ge=0,
        description=(
            "Number of training steps on the additional sources alone, before the first game of the run is played."
        ),
    )
    replay_ratio: float = Field(
        4.0, gt=0, description="Average number of times each recorded position is sampled for training."
    )
    batch: int = Field(256, ge=1, description="Batch size of a training step.")
    parallel_games: int = Field(256, ge=1, description="Number of self-play games played in parallel.")
    threads: int = Field(
        1,
        ge=1,
        description=(
            "Number of threads for search, and for network evaluation on a CPU. Games written in Python, or by other "
            "libraries, are always searched by one."
        ),
    )
    device: str | None = Field(
        None,
        description=("Device for network evaluation and training, such as cpu or cuda:0; None: CUDA if available."),
    )
    evaluator: Literal["auto", "torch", "onnx", "openvino"] = Field(
        "auto",
        description=(
            "Runtime of the network in self-play; auto: on a CPU the fastest for each batch size, by measurement, "
            "or ONNX Runtime with exact; on CUDA torch."
        ),
    )
    compile: bool = Field(
        False,
        description=(
            "Compile the network with torch.compile on CUDA, for self-play and for training on records: about a minute "
            "of start-up, then faster."
        ),
    )
    exact: bool = Field(
        False,
        description=("Play games that are bit-for-bit identical however they are batched; slower, and needs onnx."),
    )
    overlap: bool | None = Field(
        None, description="Run self-play in a separate process during training; None: only on CUDA."
    )
    learners: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "Number of processes that train, each with an equal part of every batch; on CUDA each of them has a GPU, "
            "from that of loop.device on."
        ),
    )
    loaders: int = Field(2, ge=1, description="Number of data-loading processes (with overlap, or with records).")
    checkpoint_seconds: float = Field(20.0, gt=0, description="Seconds between checkpoints (overlap only).")
    keep: int = Field(
        3, ge=1, description="Number of checkpoints kept for resuming; the networks of all checkpoints are kept."
    )
    games_per_shard: int = Field(256, ge=1, description="Number of games per shard file.")
    keep_games: int | None = Field(
        None,
        ge=1,
        description=(
            "Minimum number of games kept on disk; older games are deleted once outside the window. None: keep all."
        ),
    )

    @model_validator(mode="after")
    def _equal_parts(self) -> Self:
        if self.batch % self.learners:
            raise ValueError(f"learners={self.learners} must divide batch={self.batch}")
        return self

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str | None) -> str | None:
        return None if device is None else checked_device(device)


class TrainConfig(Settings):
    """Settings of a training run."""

    what = "training"

    game: str = Field(description="Name of the game, see rf.list_games().")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the game.")
    imports: tuple[str, ...] = Field(
        (), description="Modules or Python files that are imported first; they register the game."
    )
    network: str | dict[str, Any] = Field(
        "4x32", description="Size of a residual network, such as 6x64, or a mapping of network settings."
    )
    start: str | None = Field(
        None,
        description=(
            "Saved network, folder of a run or checkpoint, or shipped network from which training starts; it must be "
            "for this game, and may be for another board size."
        ),
    )
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of network initialisation, self-play and sampling.")
    search: SearchConfig = Field(default_factory=SearchConfig, description="Search settings of self-play.")
    play: PlayConfig = Field(default_factory=PlayConfig, description="Self-play settings.")
    targets: TargetConfig = Field(default_factory=TargetConfig, description="Training targets and data augmentation.")
    window: WindowConfig = Field(default_factory=WindowConfig, description="Replay window.")
    curriculum: tuple[StageConfig, ...] = Field(
        (), description="Stages with other parameters of the game before those of the run, in order."
    )
    variants: tuple[VariantConfig, ...] = Field(
        (),
        description=(
            "Other parameters of the game, such as other sizes of the board, that take turns with those of the run "
            "after the curriculum: each iteration (loop.games games) is of one of them."
        ),
    )
    sources: tuple[SourceConfig, ...] = Field((), description="Additional sources of training games.")
    records: tuple[str, ...] = Field(
        (),
        description=(
            "Directories with shards of labelled positions (ramify teach, ramify records). A run with records learns "
            "from them alone and plays no games: loop.replay_ratio is its number of epochs, loop.iterations its number "
            "of checkpoints."
        ),
    )
    optimizer: OptimizerConfig = Field(
        default_factory=OptimizerConfig, description="Optimizer and learning-rate schedule."
    )
    losses: LossConfig = Field(default_factory=LossConfig, description="Weights of the losses.")
    unroll: UnrollConfig = Field(
        default_factory=UnrollConfig, description="Training of learned models, networks of the kinds muzero*."
    )
    loop: LoopConfig = Field(
        default_factory=LoopConfig, description="Length of the run, self-play throughput, devices and checkpoints."
    )
    cluster: ClusterConfig = Field(
        default_factory=ClusterConfig, description="Self-play on the nodes of a Ray cluster."
    )

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

    def make_games(self) -> list[Game]:
        """The games of the stages of the curriculum, of the variants, and last that of the run, after its
        ``imports``."""
        final = self.make_game()
        others: list[BoardConfig] = [*self.curriculum, *self.variants]
        return [*(make(self.game, **{**self.params, **other.params}) for other in others), final]

    def stage_at(self, progress: float) -> int:
        """The stage of the curriculum at a completed fraction of the run; after the last one, their number."""
        return sum(progress >= stage.until for stage in self.curriculum)

    def board_at(self, stage: int, iteration: int) -> int:
        """The game that is played in an iteration, as an index into ``make_games()``."""
        if stage < len(self.curriculum):
            return stage
        shares = [*(variant.share for variant in self.variants), 1.0]
        # Multiples of the golden ratio: every game comes as often as its share says, and never long after the last.
        place = (0.5 + iteration * GOLDEN) % 1 * sum(shares)
        return stage + min(sum(place >= end for end in accumulate(shares)), len(self.variants))

    def _check_records(self) -> None:
        """Raise a ValueError for settings that have no meaning where no games are played."""
        if self.sources or self.curriculum or self.variants:
            raise ValueError("a run with records plays no games: it has no sources, curriculum or variants")
        if self.targets.policy != "visits":
            raise ValueError(
                f"records have policies as visits: targets.policy must be visits, not {self.targets.policy}"
            )
        if self.targets.surprise or self.targets.skip_uninformative:
            raise ValueError("records are drawn evenly: targets.surprise and skip_uninformative are for games played")

    def _check_cluster(self) -> None:
        """Raise a ValueError for settings that have no meaning where a cluster plays the games."""
        if self.records:
            raise ValueError("a run with records plays no games: it needs no cluster.address")
        for name, value in (("exact", True), ("overlap", False)):
            if getattr(self.loop, name) is value:
                raise ValueError(
                    f"loop.{name}={str(value).lower()} needs cluster.address=null: on a cluster, games are played "
                    "during training"
                )

    @field_validator("network", mode="before")
    @classmethod
    def _known_network(cls, network: Any) -> Any:
        if not isinstance(network, str | dict):
            raise ValueError("must be a size such as 6x64, or a mapping of network settings")
        config_of(network)  # says what is wrong with it
        return network

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.targets.policy == "average" and self.search.selection not in ("regret", "exp3"):
            raise ValueError('targets.policy="average" needs search.selection="regret" or "exp3"')
        if self.loop.exact and self.loop.overlap:
            raise ValueError(
                "loop.exact needs loop.overlap=false: with overlap, games depend on the time of checkpoints"
            )
        if self.loop.exact and self.loop.evaluator not in ("auto", "onnx"):
            raise ValueError(
                "loop.exact needs loop.evaluator=onnx: torch rounds depending on a row's place in its batch, and "
                "OpenVINO promises nothing about it"
            )
        for name in ("rollout_iterations", "uniform_share"):
            if getattr(self.loop, name) and self.loop.overlap and self.cluster.address is None:
                raise ValueError(f"loop.{name} needs loop.overlap=false: with overlap there are no iterations")
        if self.loop.source_steps and not self.sources:
            raise ValueError("loop.source_steps needs sources: they are what these steps learn from")
        if self.records:
            self._check_records()
        if self.cluster.address is not None:
            self._check_cluster()
        ends = [stage.until for stage in self.curriculum]
        if any(later <= earlier for earlier, later in pairwise(ends)):
            raise ValueError(f"every stage of the curriculum must end after the one before it, not until={ends}")
        return self
