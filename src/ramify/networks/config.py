"""Settings of networks, with defaults and ranges."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, field_validator

from ramify.base import plugins
from ramify.base.hints import did_you_mean
from ramify.base.settings import Settings
from ramify.games import Game, number_of_players

if TYPE_CHECKING:
    from ramify.networks.modules import GameNetwork

Builder: TypeAlias = "Callable[..., GameNetwork]"  # of a config and a Spec

Head = Literal["wdl", "score", "value_error", "ownership", "payoffs", "cheese", "final_score"]
Activation = Literal["relu", "mish", "silu"]


class NetworkConfig(Settings):
    """Settings common to all networks; frozen. Each kind of network has a subclass with further settings."""

    model_config = ConfigDict(strict=True)
    what = "network"

    kind: str
    activation: Activation = Field(default="relu", description="Activation function between layers.")
    value: Literal["auto", "tanh", "linear", "wdl"] = Field(
        default="auto",
        description=(
            "Value head: tanh, linear, or win minus loss probability (wdl); auto: tanh where returns "
            "lie in [-1, 1], else linear."
        ),
    )
    value_scale: float = Field(default=1.0, gt=0, description="Factor applied to the output of the value head.")
    per_player: bool | None = Field(
        default=None,
        description=(
            "Predict policy and value of both players instead of only the viewer's; None: only where "
            "both can act at once."
        ),
    )
    value_hidden: int = Field(default=64, ge=1, le=4096, description="Hidden units of the value head.")
    heads: tuple[Head, ...] = Field(default=(), description="Auxiliary heads for training.")
    score_bins: int = Field(default=41, ge=2, le=4096, description="Number of classes of the score head.")
    score_range: float = Field(
        default=20.0, gt=0, description="The score head's classes span from minus this to plus this."
    )
    final_score_bins: int = Field(
        default=83, ge=2, le=4096, description="Number of classes of the final_score head; class k is a score of k/2."
    )

    # Settings that came after the first files were written. They are no part of a network's checksum while they have
    # their default, so that the checksums of earlier files stay valid.
    later: ClassVar[tuple[str, ...]] = ("final_score_bins",)

    def identity(self) -> dict[str, Any]:
        """The settings that are part of the checksum of a network."""
        defaults = {name: type(self).model_fields[name].default for name in self.later}
        return {name: value for name, value in self.model_dump().items() if defaults.get(name, ...) != value}

    def settled(self, game: Game) -> Self:
        """A copy with numbers in place of settings that depend on the game and that all networks do not share."""
        del game
        return self

    @field_validator("heads", mode="before")
    @classmethod
    def _each_once(cls, heads: Any) -> Any:
        if isinstance(heads, list):  # as files and command lines have it
            heads = tuple(heads)
        if isinstance(heads, tuple) and len(set(heads)) != len(heads):
            raise ValueError("must not contain a head twice")
        return heads

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        """The config of a shorthand such as 6x64; not every kind of network has a shorthand."""
        kind = cls.model_fields["kind"].default
        raise ValueError(
            f"{kind} networks have no shorthand {kind}:{depth}x{width}: give the settings of {cls.__name__}"
        )


class ResNetConfig(NetworkConfig):
    """A residual tower with global pooling, for observations of planes."""

    kind: Literal["resnet"] = "resnet"
    blocks: int = Field(default=6, ge=0, le=256, description="Number of residual blocks.")
    channels: int = Field(default=64, ge=4, le=4096, description="Number of channels of the residual tower.")
    pool_every: int = Field(default=3, ge=0, description="Every n-th block has global pooling; 0: none.")
    pool_channels: int | None = Field(
        default=None, ge=1, description="Channels pooled in a block with global pooling; None: a quarter of channels."
    )
    policy_channels: int | None = Field(
        default=None, ge=1, description="Channels of the policy head; None: the same as channels."
    )
    value_channels: int = Field(default=32, ge=1, le=4096, description="Channels of the value head.")
    value_cells: bool = Field(
        default=False,
        description=(
            "The value head sees every cell of its channels instead of their means, which learns faster where single "
            "pieces decide; the network then fits one board size."
        ),
    )
    squeeze_channels: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description=(
            "Hidden units of the squeeze-and-excitation in blocks without global pooling, which scales and biases "
            "channels by the mean of the board; None: none."
        ),
    )

    mirror: bool = Field(
        default=False,
        description=(
            "Evaluate the board and its mirror image, left and right exchanged, and average the outputs, at twice the "
            "cost; for games with one action per column, such as connect_four."
        ),
    )

    later: ClassVar[tuple[str, ...]] = (*NetworkConfig.later, "squeeze_channels", "value_cells", "mirror")

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(blocks=depth, channels=width)


class AttentionConfig(NetworkConfig):
    """Attention between the cells of a board, as current chess networks have it, for observations of planes."""

    kind: Literal["attention"] = "attention"
    layers: int = Field(default=6, ge=1, le=64, description="Number of attention layers.")
    width: int = Field(default=128, ge=4, le=4096, description="Numbers that encode a cell.")
    attention_heads: int = Field(default=8, ge=1, le=64, description="Attention heads; they must divide width.")
    expansion: int = Field(
        default=2, ge=1, le=16, description="Hidden units of a layer's perceptron, as width times this."
    )
    policy_channels: int | None = Field(
        default=None, ge=1, description="Channels of the policy head; None: the same as width."
    )
    value_channels: int = Field(default=32, ge=1, le=4096, description="Channels of the value head.")
    value_cells: bool = Field(
        default=False,
        description=(
            "The value head sees every cell of its channels instead of their means, which learns faster where single "
            "pieces decide; the network then fits one board size."
        ),
    )

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(layers=depth, width=width)


class MLPConfig(NetworkConfig):
    """A multi-layer perceptron over the flattened observation, for any game."""

    kind: Literal["mlp"] = "mlp"
    layers: int = Field(default=2, ge=1, le=64, description="Number of hidden layers.")
    width: int = Field(default=256, ge=1, le=65536, description="Number of units per hidden layer.")

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(layers=depth, width=width)


class SymmetricMLPConfig(NetworkConfig):
    """A multi-layer perceptron with the same weights for both players' views, for PyRat on one size of board."""

    kind: Literal["symmetric-mlp"] = "symmetric-mlp"
    layers: int = Field(default=2, ge=1, le=64, description="Number of hidden layers.")
    width: int = Field(default=256, ge=1, le=65536, description="Number of units per hidden layer.")

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(layers=depth, width=width)


class CellsConfig(NetworkConfig):
    """Settings common to networks that encode cells and score actions by the cells that they lead to, for PyRat."""

    transition: Literal["none", "add", "concat", "difference"] = Field(
        default="concat",
        description=(
            "How an action is encoded: by its destination alone (none), or with where the player comes from: "
            "their sum, both side by side, or the difference."
        ),
    )
    player_tokens: Literal["coupled", "decoupled"] = Field(
        default="coupled",
        description=(
            "What represents a player: the encoding of its cell (coupled), or a token of its own from the cell, its "
            "score, its mud and the whole board (decoupled)."
        ),
    )
    policy_hidden: int = Field(default=64, ge=1, le=4096, description="Hidden units of the policy and payoff heads.")
    value_channels: int = Field(default=32, ge=1, le=4096, description="Channels pooled for the heads.")
    value_unit: Literal["points", "remaining"] = Field(
        default="points",
        description=(
            "Unit of the value head's output: points, or the cheese that is left, so that the head has the same range "
            "on boards of all sizes."
        ),
    )

    later: ClassVar[tuple[str, ...]] = (*NetworkConfig.later, "value_unit")


class DestinationsConfig(CellsConfig):
    """A residual tower that encodes cells; the policy scores the cells that actions lead to. For PyRat."""

    kind: Literal["destinations"] = "destinations"
    blocks: int = Field(default=6, ge=0, le=256, description="Number of residual blocks.")
    channels: int = Field(default=48, ge=4, le=4096, description="Number of channels of the residual tower.")
    pool_every: int = Field(default=3, ge=0, description="Every n-th block has global pooling; 0: none.")
    pool_channels: int | None = Field(
        default=None, ge=1, description="Channels pooled in a block with global pooling; None: a quarter of channels."
    )

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(blocks=depth, channels=width)


class CellsAttentionConfig(CellsConfig):
    """Attention over cells with the maze as a bias; rotations and reflections are exact. For PyRat."""

    kind: Literal["cells-attention"] = "cells-attention"
    layers: int = Field(default=4, ge=1, le=64, description="Number of attention layers.")
    width: int = Field(default=64, ge=4, le=4096, description="Numbers that encode a cell.")
    attention_heads: int = Field(default=4, ge=1, le=64, description="Attention heads; they must divide width.")
    expansion: int = Field(
        default=2, ge=1, le=16, description="Hidden units of a layer's perceptron, as width times this."
    )
    reach: int = Field(
        default=8, ge=1, le=63, description="Distances between cells, in x and in y, beyond this are not told apart."
    )

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(layers=depth, width=width)


class LearnedConfig(NetworkConfig):
    """Settings common to learned models (MuZero): representation, dynamics and prediction of latent states."""

    acting: Literal["auto", "alternating", "single", "both"] = Field(
        default="auto",
        description=(
            "Who acts inside the model: two players in turn, a single player, or both at once; auto: as in the game."
        ),
    )
    support: int = Field(
        default=0,
        ge=0,
        le=1000,
        description=(
            "Values and rewards are distributions over the whole numbers from -support to support, on the scale "
            "sign(x) (sqrt(|x| + 1) - 1) + 0.001 x, whatever ``value`` says; 0: they are single numbers."
        ),
    )
    projection: int = Field(
        default=0,
        ge=0,
        le=4096,
        description="Width of the projections that the consistency loss compares; 0: the network has none.",
    )

    def settled(self, game: Game) -> Self:
        if self.heads:
            raise ValueError(
                f"a network of kind {self.kind!r} has no auxiliary heads, not {', '.join(self.heads)}: use "
                "network.heads=[]"
            )
        if self.per_player is False and game.simultaneous:
            raise ValueError(f"per_player must be True for {game.name}, in which both players act at once")
        if self.per_player and not game.simultaneous:
            raise ValueError(f"a learned model predicts for both players only where both act, not in {game.name}")
        single = number_of_players(game) == 1
        found: Literal["alternating", "single", "both"]
        found = "both" if game.simultaneous else "single" if single else "alternating"
        if self.acting not in ("auto", found):
            raise ValueError(f"acting must be {found!r} for {game.name}, not {self.acting!r}")
        return self.replace(acting=found)


class MuZeroConfig(LearnedConfig):
    """A learned model for boards: residual towers encode the observation and what an action makes of the board."""

    kind: Literal["muzero"] = "muzero"
    blocks: int = Field(default=4, ge=0, le=256, description="Number of residual blocks of the representation.")
    dynamics_blocks: int | None = Field(
        default=None, ge=0, le=256, description="Number of residual blocks of the dynamics; None: the same as blocks."
    )
    channels: int = Field(default=64, ge=4, le=4096, description="Number of channels of towers and latent states.")
    pool_every: int = Field(default=3, ge=0, description="Every n-th block has global pooling; 0: none.")
    pool_channels: int | None = Field(
        default=None, ge=1, description="Channels pooled in a block with global pooling; None: a quarter of channels."
    )
    policy_channels: int | None = Field(
        default=None, ge=1, description="Channels of the policy head; None: the same as channels."
    )
    value_channels: int = Field(default=32, ge=1, le=4096, description="Channels of the value and reward heads.")
    action_channels: int = Field(
        default=16, ge=1, le=4096, description="Channels that encode an action, unless it is a cell or a column."
    )

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(blocks=depth, channels=width)


class MuZeroMLPConfig(LearnedConfig):
    """A learned model of multi-layer perceptrons over the flattened observation, for any game."""

    kind: Literal["muzero-mlp"] = "muzero-mlp"
    layers: int = Field(default=1, ge=1, le=64, description="Number of hidden layers of each part.")
    width: int = Field(default=128, ge=1, le=65536, description="Number of units per hidden layer.")
    latent: int = Field(default=64, ge=1, le=65536, description="Numbers of a latent state.")

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(layers=depth, width=width, latent=width)


class Registry:
    """Registry of the kinds of networks: a config class and a builder for each."""

    _entries: ClassVar[dict[str, tuple[type[NetworkConfig], Callable[..., Any]]]] = {}

    @classmethod
    def add(cls, config: type[NetworkConfig], builder: Builder) -> None:
        """Register a kind of network, by the default of ``kind`` in its config."""
        kind = config.model_fields["kind"].default
        if not isinstance(kind, str):
            raise TypeError(f"{config.__name__}.kind must have a default, the name of the kind")
        cls._entries[kind] = (config, builder)

    @classmethod
    def get(cls, kind: str) -> tuple[type[NetworkConfig], Builder]:
        """The config class and the builder of a kind."""
        if kind not in cls._entries:
            cls._load(kind)
        return cls._entries[kind]

    @classmethod
    def kinds(cls) -> list[str]:
        """The names of all kinds, those of installed packages included."""
        return sorted({*cls._entries, *plugins.names("networks")})

    @classmethod
    def _load(cls, kind: str) -> None:
        """Load a kind from the package that offers it: a pair (config, builder), or a module that adds it."""
        offered = plugins.load("networks", kind)
        if offered is None:
            hint = did_you_mean(str(kind), cls.kinds(), after=" ")
            raise ValueError(
                f"unknown kind of network {kind!r}; {hint}the kinds are {', '.join(cls.kinds())}; for a network of "
                "your own, import the module that registers it (--import MODULE on the command line)"
            )
        if kind not in cls._entries and isinstance(offered, tuple) and len(offered) == 2:
            cls.add(*offered)
        if kind not in cls._entries:
            raise plugins.wrong("networks", kind, f"it must be (config, builder) of the kind {kind!r}, not {offered!r}")


SIZE = re.compile(r"(?:([\w-]+):)?(\d+)x(\d+)")


def is_size(text: str) -> bool:
    """Whether a string is the shorthand of a config, such as 6x64 or mlp:2x256."""
    return SIZE.fullmatch(text) is not None


def config_of(given: str | Mapping[str, Any] | NetworkConfig) -> NetworkConfig:
    """A config from a shorthand ("6x64", "mlp:2x256"), a kind, a mapping of settings with its kind, or a config."""
    if isinstance(given, NetworkConfig):
        return given
    if isinstance(given, str):
        match = SIZE.fullmatch(given)
        if match is None and given in Registry.kinds():
            return Registry.get(given)[0](kind=given)
        if match is None:
            raise ValueError(
                f"a network must be BLOCKSxCHANNELS or KIND:DEPTHxWIDTH, such as 6x64 or mlp:2x256, or a kind with its "
                f"default settings ({', '.join(Registry.kinds())}), not {given!r}"
            )
        return Registry.get(match[1] or "resnet")[0].sized(int(match[2]), int(match[3]))
    settings = json.loads(json.dumps(dict(given)))  # raises an error for anything but plain data
    return Registry.get(settings.get("kind", "resnet"))[0](**settings)
