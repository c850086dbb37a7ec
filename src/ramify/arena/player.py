"""Players: a description that can be kept and compared, and the player that it opens."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from pydantic import Field, field_validator

from ramify.arena.versions import code_version, package_version
from ramify.base import plugins
from ramify.base.hints import did_you_mean
from ramify.base.settings import Settings, SettingsError, changed_settings, setting_text
from ramify.engine.engine_version import ENGINE_VERSION
from ramify.games import Game, State


@dataclass(frozen=True)
class Turn:
    """A position in which a player has to choose an action, with the seed for everything random in that choice."""

    state: State
    player: int
    seed: int
    ply: int = 0  # turns played before this one, the opening's included


@dataclass(frozen=True)
class Choice:
    """An action, and the returns that the player still expects for itself."""

    action: int
    value: float | None = None


class Player(Protocol):
    """Chooses actions, for many games at once.

    What is chosen for a turn depends on that turn alone, never on those beside it or before it: so games can be played
    in any order, together or in several processes, and are the same games.

    A player may also have ``consider(turns)``, which gives a ``Choice`` for each: then its values can end games early,
    where a match asks for that.
    """

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        """An action for each turn. States are the caller's: they are neither kept nor changed."""
        ...

    def close(self) -> None:
        """End what the player has started: processes, threads."""
        ...


class PlayerConfig(Settings):
    """The settings of a kind of player. A kind is a subclass with a field ``kind`` and a method ``open(game)``, which
    gives the ``Player``; ``register_player`` makes it known."""

    what: ClassVar[str] = "player"
    kind: str
    # Left out of every dump of the settings, so that no content(), of whatever kind, has it.
    name: str | None = Field(None, exclude=True, description="what tables call the player; not part of its identity")

    @field_validator("name")
    @classmethod
    def _readable(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[^\s,=]([^\n\r,=]{0,38}[^\s,=])?", name):
            raise ValueError("a name has 1 to 40 characters, and no comma, equals sign or line break")
        return name

    def replace(self, **changes: Any) -> Self:
        """A copy with some settings changed, and the same name."""
        return super().replace(**{"name": self.name, **changes})

    @abstractmethod
    def open(self, game: Game) -> Player:
        """A player of this kind at this game; a ValueError says why it cannot play it."""

    def content(self) -> dict[str, Any]:
        """Everything its play depends on, as plain data. Files count by what is in them, not by their names."""
        return self.model_dump(mode="json")

    def versions(self) -> dict[str, Any]:
        """Of the code that plays: the package, the search engine, and the classes of the player's own.

        A class counts by its source, or by what it declares: ``version: ClassVar[str] = "2"``.
        """
        own = [kind for kind in type(self).__mro__ if issubclass(kind, PlayerConfig) and kind is not PlayerConfig]
        code = list(dict.fromkeys(code_version(kind) for kind in own))
        return {"ramify": package_version(), "engine": ENGINE_VERSION, "code": code}

    @property
    def identity(self) -> str:
        """Short checksum of ``content()`` and ``versions()``: equal for players that play alike, in every process and
        on every machine."""
        described = {"content": self.content(), "versions": self.versions()}
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """Its kind and the settings that differ from the defaults, as ``read_player`` takes them; without its name."""
        changed = changed_settings(self)
        settings = ",".join(setting_text(name, value) for name, value in changed.items() if name != "kind")
        return f"{self.kind}:{settings}" if settings else self.kind


# Names of evaluators and of the method, which users also give as players.
SEARCHES = {"mcts": "search", "rollout": "search:evaluator=rollout", "uniform": "search:evaluator=uniform"}

_kinds: dict[str, type[PlayerConfig]] = {}


def register_player(config: type[PlayerConfig]) -> type[PlayerConfig]:
    """A decorator that registers a kind of player under its ``kind``."""
    _kinds[config.model_fields["kind"].default] = config
    return config


def player_kinds() -> dict[str, type[PlayerConfig]]:
    """The kinds of players there are, without those of packages that cannot be used: a warning names these."""
    for kind in plugins.names("players"):
        try:
            player_kind(kind)
        except plugins.PluginError as error:
            warnings.warn(str(error), stacklevel=2)
    return dict(sorted(_kinds.items()))


def player_kind(kind: str) -> type[PlayerConfig] | None:
    """A kind of player; None if there is none. Raises PluginError where the package that offers it cannot be used."""
    if kind not in _kinds and (offered := plugins.load("players", kind)) is not None:
        if not isinstance(offered, type) or not issubclass(offered, PlayerConfig):
            raise plugins.wrong("players", kind, f"it must be a subclass of ramify.arena.PlayerConfig, not {offered!r}")
        if offered.model_fields["kind"].default != kind:
            raise plugins.wrong("players", kind, f"its kind is {offered.model_fields['kind'].default!r}")
        register_player(offered)
    return _kinds.get(kind)


def player_config(kind: str, **settings: Any) -> PlayerConfig:
    """The description of a player from its kind and settings."""
    if (found := player_kind(kind)) is None:
        known = sorted({*_kinds, *plugins.names("players")})
        hint = did_you_mean(kind, known, after=" ")
        if kind in SEARCHES:
            hint = f"did you mean {SEARCHES[kind]!r}? "
        raise SettingsError(f"there is no kind of player {kind!r}; {hint}there are {', '.join(known)}")
    return found(**settings)
