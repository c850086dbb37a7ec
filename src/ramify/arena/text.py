"""Players as text: ``alphabeta:depth=3``, ``search:network=runs/x/net.safetensors,simulations=200``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from ramify.arena.network_files import ENDINGS
from ramify.arena.player import PlayerConfig, player_config, player_kind
from ramify.base.settings import SettingsError, SettingsHelp, overridden, read_value
from ramify.engine.native import DEFAULT_EVALUATOR

BETWEEN_SETTINGS = re.compile(r",(?=\s*[A-Za-z_][\w.]*\s*=)")
LONG = 32  # characters of a player's text from which on tables shorten it
SEARCH_SHOWN = frozenset({"network", "evaluator", "simulations"})  # settings that the short text always covers
UNTOLD = ("/", "checkpoints", "network")  # parts of paths that every training run has


def as_player(player: PlayerConfig | str) -> PlayerConfig:
    """A player as it is, or from its text."""
    return player if isinstance(player, PlayerConfig) else read_player(player)


def read_player(text: str) -> PlayerConfig:
    """A player from its kind and, behind a colon, settings separated by commas. ``config.label`` is such a text.

    Values are those of ``read_value``. A comma belongs to a value unless a name and ``=`` follow it. Settings of a
    group have dotted names, as in ``search:acting=nash,nash.min_visits=10``.
    """
    kind, settings = parse_player(text)
    return player_config(kind, **settings)


def parse_player(text: str) -> tuple[str, dict[str, Any]]:
    """The kind and the settings that the text of a player names, as ``player_config`` takes them."""
    if not isinstance(text, str) or not text.strip():
        raise SettingsError(
            "a player is written kind or kind:setting=value,setting=value, such as search:simulations=200"
        )
    kind, separator, rest = text.strip().partition(":")
    config = player_kind(kind)
    if config is None and text.strip().endswith((".safetensors", ".onnx")):
        raise SettingsError(f"{text!r} is a network, not a player; did you mean 'search:network={text.strip()}'?")
    if config is not None and rest.strip() == "help":
        raise SettingsHelp(config, f"players of the kind {kind}")
    fields = {} if config is None else config.model_fields
    texts = {name for name, field in fields.items() if field.annotation in (str, str | None)}
    settings: dict[str, Any] = {}
    for part in BETWEEN_SETTINGS.split(rest) if separator else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not all(one.isidentifier() for one in name.split(".")):
            raise SettingsError(f"settings of a player are written name=value, not {part!r} as in {text!r}")
        if name in settings:
            raise SettingsError(f"{text!r} gives {name} twice")
        settings[name] = value if name in texts and value not in ("None", "null") else read_value(value)
    if "kind" in settings:
        raise SettingsError(f"the kind of a player is written before the colon, not as kind=… in {text!r}")
    return kind, overridden({}, settings, PlayerConfig.what)


def short_names(labels: Sequence[str], names: Sequence[str | None] | None = None) -> list[str]:
    """What to call players in a table: their names, else short texts that tell them apart.

    A player that searches is called by its network (or evaluator) and the simulations per move: ``hex-7 @200``. Long
    texts leave out settings that all players of the same kind share. Networks in files are called by the end of their
    path, as long as that is needed to tell them apart: ``hex-5/7`` is checkpoint 7 of the run hex-5.
    """
    names = names if names is not None else [None] * len(labels)
    whole = [name or label for label, name in zip(labels, names, strict=True)]
    unnamed = [_parse_label(label) for label, name in zip(labels, names, strict=True) if name is None]
    paths = [PurePath(value) for _, settings in unnamed for value in settings.values()]
    for parts in range(1, max((len(path.parts) for path in paths), default=1) + 1):
        short = [
            name or _short_text(*_parse_label(label), unnamed, parts) for label, name in zip(labels, names, strict=True)
        ]
        if len(set(short)) == len(set(whole)):
            return short
    return whole


def _parse_label(label: str) -> tuple[str, dict[str, str]]:
    """The kind of a player's text, and its settings as they are written."""
    kind, _, rest = label.partition(":")
    parts = BETWEEN_SETTINGS.split(rest) if rest else []
    return kind, {name: value for name, _, value in (part.partition("=") for part in parts)}


def _short_text(kind: str, own: dict[str, str], players: Sequence[tuple[str, dict[str, str]]], parts: int) -> str:
    """A short text of a player; ``players`` are all that are to be told apart, ``parts`` those of a path to keep."""
    if kind in ("search", "muzero"):
        config = player_kind(kind)
        assert config is not None
        defaults = config.model_fields
        knows = short_path(own["network"], parts) if "network" in own else own.get("evaluator", DEFAULT_EVALUATOR)
        knows = f"{knows} muzero" if kind == "muzero" else knows
        head, shown = f"{knows} @{own.get('simulations', defaults['simulations'].default)}", SEARCH_SHOWN
    elif kind == "network" and "network" in own:
        head, shown = f"{short_path(own['network'], parts)} policy", SEARCH_SHOWN
    else:
        head, shown = kind, frozenset[str]()
    left = {name: value for name, value in own.items() if name not in shown}
    if len(head) + sum(len(name) + len(value) + 2 for name, value in left.items()) > LONG:
        others = [settings for one, settings in players if one == kind]
        left = {
            name: short_path(value, parts)
            for name, value in left.items()
            if name == "command" or any(other.get(name) != value for other in others)
        }
    text = ",".join(f"{name}={value}" for name, value in left.items())
    return f"{head}{':' if head == kind else ' '}{text}" if text else head


def short_path(text: str, parts: int) -> str:
    """The last ``parts`` parts of a path, without those that every run has; a checkpoint also has the name of its run.

    A text that is not a path stays as it is.
    """
    path = PurePath(text)
    path = path.with_suffix("") if path.suffix in ENDINGS else path
    told = [part for part in path.parts if part not in UNTOLD] or [text]
    return "/".join(told[-max(parts, 2 if told[-1].isdigit() else 1) :])
