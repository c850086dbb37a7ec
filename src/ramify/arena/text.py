"""Players as text: ``alphabeta:depth=3``, ``search:network=runs/x/net.safetensors,simulations=200``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from ramify.arena.player import PlayerConfig, player_config, player_kinds
from ramify.base.settings import SettingsError, read_value

BETWEEN_SETTINGS = re.compile(r",(?=\s*[A-Za-z_]\w*\s*=)")
LONG = 32  # characters of a player's text from which on tables shorten it


def as_player(player: PlayerConfig | str) -> PlayerConfig:
    """A player as it is, or from its text."""
    return player if isinstance(player, PlayerConfig) else read_player(player)


def read_player(text: str) -> PlayerConfig:
    """A player from its kind and, behind a colon, settings separated by commas. ``config.label`` is such a text.

    Values are those of ``read_value``. A comma belongs to a value unless a name and ``=`` follow it.
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
    kinds = player_kinds()
    if kind not in kinds and text.strip().endswith((".safetensors", ".onnx")):
        raise SettingsError(f"{text!r} is a network, not a player; did you mean 'search:network={text.strip()}'?")
    fields = kinds[kind].model_fields if kind in kinds else {}
    texts = {name for name, field in fields.items() if field.annotation in (str, str | None)}
    settings: dict[str, Any] = {}
    for part in BETWEEN_SETTINGS.split(rest) if separator else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier():
            raise SettingsError(f"settings of a player are written name=value, not {part!r} as in {text!r}")
        if name in settings:
            raise SettingsError(f"{text!r} gives {name} twice")
        settings[name] = value if name in texts and value not in ("None", "null") else read_value(value)
    if "kind" in settings:
        raise SettingsError(f"the kind of a player is written before the colon, not as kind=… in {text!r}")
    return kind, settings


def short_names(labels: Sequence[str], names: Sequence[str | None] | None = None) -> list[str]:
    """What to call players in a table: their names, else their texts.

    Of long texts only the settings remain that differ between players of the same kind, and of files only their names,
    unless two players would then be called the same.
    """
    names = names if names is not None else [None] * len(labels)
    unnamed = [label for label, name in zip(labels, names, strict=True) if name is None]
    tries = [[name or label for label, name in zip(labels, names, strict=True)]]
    for whole_paths in (True, False):
        short = [name or _shortened(label, unnamed, whole_paths) for label, name in zip(labels, names, strict=True)]
        tries.insert(0, short)
    different = len(set(tries[-1]))
    return next(found for found in tries if len(set(found)) == different)


def _shortened(label: str, labels: Sequence[str], whole_paths: bool) -> str:
    """A label without what the labels of its kind have in common; as it is if it is short."""
    if len(label) <= LONG:
        return label
    kind, own = _parts(label)
    others = [settings for one, settings in map(_parts, labels) if one == kind]
    left = [part for part in own if not all(part in settings for settings in others)]
    if not whole_paths:
        left = [f"{part.partition('=')[0]}={PurePath(part).name}" if "/" in part else part for part in left]
    return f"{kind}:{','.join(left)}" if left else kind


def _parts(label: str) -> tuple[str, list[str]]:
    """The kind of a player's text, and its settings as they are written."""
    kind, _, rest = label.partition(":")
    return kind, BETWEEN_SETTINGS.split(rest) if rest else []
