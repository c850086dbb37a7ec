"""Everything a network can be told, with defaults and ranges: the one place that states them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, field_validator

from ramify.base.settings import Settings

if TYPE_CHECKING:
    from ramify.networks.modules import GameNetwork

Builder: TypeAlias = "Callable[..., GameNetwork]"  # of a config and a Spec

Head = Literal["wdl", "score", "value_error", "ownership"]
Activation = Literal["relu", "mish", "silu"]


class NetworkConfig(Settings):
    """What every network of the registry can be told; frozen. A subclass per kind of network adds the rest."""

    model_config = ConfigDict(strict=True)
    what = "network"

    kind: str
    activation: Activation = Field(default="relu", description="between layers")
    value: Literal["auto", "tanh", "linear", "wdl"] = Field(
        default="auto",
        description="value from tanh, from nothing, or win minus loss; auto: tanh where returns are -1 to 1",
    )
    value_scale: float = Field(default=1.0, gt=0, description="values are the head's times this")
    per_player: bool | None = Field(
        default=None, description="outputs of both players, not of the viewer alone; None: where both can act at once"
    )
    value_hidden: int = Field(default=64, ge=1, le=4096, description="width of the value head")
    heads: tuple[Head, ...] = Field(default=(), description="further outputs, for training")
    score_bins: int = Field(default=41, ge=2, le=4096, description="classes of the score head")
    score_range: float = Field(default=20.0, gt=0, description="the score head's classes reach from minus this to this")

    @field_validator("heads", mode="before")
    @classmethod
    def _each_once(cls, heads: Any) -> Any:
        if isinstance(heads, list):  # as files and command lines have it
            heads = tuple(heads)
        if isinstance(heads, tuple) and len(set(heads)) != len(heads):
            raise ValueError("names a head twice")
        return heads

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        """The config that a shorthand such as 6x64 stands for; a kind of network need not have one."""
        kind = cls.model_fields["kind"].default
        raise ValueError(f"there is no short form {kind}:{depth}x{width}: give the settings of {cls.__name__}")


class ResNetConfig(NetworkConfig):
    """A residual tower with global pooling, for observations of planes."""

    kind: Literal["resnet"] = "resnet"
    blocks: int = Field(default=6, ge=0, le=256, description="residual blocks")
    channels: int = Field(default=64, ge=4, le=4096, description="planes between blocks")
    pool_every: int = Field(default=3, ge=0, description="every so many blocks one sees the whole board; 0: none")
    pool_channels: int | None = Field(default=None, ge=1, description="planes pooled by such a block; None: a quarter")
    policy_channels: int | None = Field(
        default=None, ge=1, description="planes of the policy head; None: as many as blocks have"
    )
    value_channels: int = Field(default=32, ge=1, le=4096, description="planes of the value head")

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(blocks=depth, channels=width)


class MLPConfig(NetworkConfig):
    """Layers over the whole observation, for anything."""

    kind: Literal["mlp"] = "mlp"
    layers: int = Field(default=2, ge=1, le=64, description="hidden layers")
    width: int = Field(default=256, ge=1, le=65536, description="units of each")

    @classmethod
    def sized(cls, depth: int, width: int) -> Self:
        return cls(layers=depth, width=width)


class Registry:
    """Kinds of networks: a config type and a builder for each."""

    _entries: ClassVar[dict[str, tuple[type[NetworkConfig], Callable[..., Any]]]] = {}

    @classmethod
    def add(cls, config: type[NetworkConfig], builder: Builder) -> None:
        kind = config.model_fields["kind"].default
        if not isinstance(kind, str):
            raise TypeError(f"{config.__name__}.kind needs a default: the name of the kind")
        cls._entries[kind] = (config, builder)

    @classmethod
    def get(cls, kind: str) -> tuple[type[NetworkConfig], Builder]:
        if kind not in cls._entries:
            raise ValueError(f"there is no kind of network {kind!r}; there are {', '.join(sorted(cls._entries))}")
        return cls._entries[kind]


SIZE = re.compile(r"(?:(\w+):)?(\d+)x(\d+)")


def is_size(text: str) -> bool:
    """Whether a text is the shorthand of a config, such as 6x64 or mlp:2x256."""
    return SIZE.fullmatch(text) is not None


def config_of(given: str | Mapping[str, Any] | NetworkConfig) -> NetworkConfig:
    """A config from a shorthand ("6x64", "mlp:2x256"), from plain data with its kind, or as it is."""
    if isinstance(given, NetworkConfig):
        return given
    if isinstance(given, str):
        match = SIZE.fullmatch(given)
        if match is None:
            raise ValueError(
                f"a network is written BLOCKSxCHANNELS or KIND:DEPTHxWIDTH, as 6x64 or mlp:2x256: {given!r}"
            )
        return Registry.get(match[1] or "resnet")[0].sized(int(match[2]), int(match[3]))
    settings = json.loads(json.dumps(dict(given)))  # plain data, or an error that says what is not
    return Registry.get(settings.get("kind", "resnet"))[0](**settings)
