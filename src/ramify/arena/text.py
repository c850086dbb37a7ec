"""Players as text: ``alphabeta:depth=3``, ``search:network=runs/x/net.safetensors,simulations=200``."""

from __future__ import annotations

import re
from typing import Any

from ramify.arena.player import PlayerConfig, player_config, player_kinds
from ramify.base.settings import SettingsError, read_value


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
        raise SettingsError(f"{text!r} is a network and no player; did you mean 'search:network={text.strip()}'?")
    fields = kinds[kind].model_fields if kind in kinds else {}
    texts = {name for name, field in fields.items() if field.annotation in (str, str | None)}
    settings: dict[str, Any] = {}
    for part in re.split(r",(?=\s*[A-Za-z_]\w*\s*=)", rest) if separator else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier():
            raise SettingsError(f"settings of a player are written name=value, not {part!r} as in {text!r}")
        if name in settings:
            raise SettingsError(f"{text!r} says {name} twice")
        settings[name] = value if name in texts and value not in ("None", "null") else read_value(value)
    if "kind" in settings:
        raise SettingsError(f"the kind of a player stands before the colon: not kind=… as in {text!r}")
    return kind, settings
