"""Configs by name and from YAML files, with overrides.

A name is that of a config that comes with the package, such as ``hex-5``, or with another package (see
``base/plugins.py``), or that of a game: then the settings fit its size. Hyphens and underscores are the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ramify.base import plugins
from ramify.base.deprecation import warn_renamed
from ramify.base.hints import did_you_mean
from ramify.base.settings import SettingsError, SettingsWarning, overridden
from ramify.games.registry import families, list_games, make
from ramify.games.registry import presets as parameter_sets
from ramify.networks import Registry, config_of
from ramify.training.config import LoopConfig, TrainConfig
from ramify.training.fitting import fitted_settings


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError("configs of training are YAML: pip install 'ramify[train]'") from None
    return yaml


def _folder() -> Traversable:
    return resources.files("ramify.training") / "presets"


def shipped() -> list[str]:
    """The names of the configs that come with the package."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _folder().iterdir() if entry.name.endswith(".yaml"))


def presets() -> list[str]:
    """Every name that ``load_config`` knows: shipped configs, those of other packages, games, games with parameters.

    Games of families, such as ``openspiel:NAME``, are known as well and not listed.
    """
    known = [game.replace("_", "-") for game in list_games()]
    known += [f"{game.replace('_', '-')}-{name}" for game in list_games() for name in parameter_sets(game)]
    return sorted({*shipped(), *plugins.names("presets"), *known})


def preset_name(source: str | Path) -> str:
    """The name as ``presets`` lists it, however it was written; of a file, its name without the ending."""
    name = str(source)
    listed = name.replace("_", "-")
    if listed in presets():
        return listed
    return name if name.partition(":")[0] in families() else Path(name).stem


def _text(preset: str) -> str:
    return (_folder() / f"{preset}.yaml").read_text(encoding="utf-8")


def preset_texts() -> dict[str, str]:
    """What each preset is: a shipped one by the comment it begins with, a game by the settings that fit its size."""
    comments = {name: _text(name).partition("\n")[0].removeprefix("# ") for name in shipped()}
    comments |= {name: f"Of the package {plugins.package_of('presets', name)}." for name in plugins.names("presets")}
    return {name: comments.get(name) or _fitted(name) for name in presets()}


def _fitted(name: str) -> str:
    """The settings that fit a game, in a line."""
    try:
        config = load_config(name)
    except (ValueError, TypeError, ImportError) as error:
        return f"cannot be made without parameters: {error}"
    network, loop = config_of(config.network), config.loop
    depth = "x".join(str(value) for key, value in network if key in ("blocks", "channels", "layers", "width"))
    return (
        f"Settings by size: {network.kind} {depth}, {config.search.simulations} simulations, "
        f"{loop.iterations} iterations of {loop.games} games."
    )


def load_config(source: str | Path, overrides: Mapping[str, Any] | None = None) -> TrainConfig:
    """The config of a preset, of a game or of a YAML file. Overrides have dotted names, such as ``loop.iterations``.

    Settings of a game fit its size, which may depend on its parameters: ``load_config("hex", {"params.size": 6})``.
    With another ``network.kind``, settings of the network that this kind does not have are left out, with a warning.
    """
    changes = current_names(overrides or {})
    settings = _fit_kind(read_settings(source, changes), changes, source)
    return TrainConfig(**overridden(settings, changes, TrainConfig.what))


def _fit_kind(settings: dict[str, Any], changes: Mapping[str, Any], source: str | Path) -> dict[str, Any]:
    """The settings without those of the network that networks of the kind among the changes do not have."""
    kind, network = changes.get("network.kind"), settings.get("network")
    if kind not in Registry.kinds() or "network" in changes or not isinstance(network, str | Mapping):
        return settings  # there is nothing to leave out, or TrainConfig says what is wrong
    if isinstance(network, str):
        network = {"kind": config_of(network).kind, **config_of(network).model_dump(exclude_unset=True)}
    if kind == network.get("kind", "resnet"):
        return settings
    known = Registry.get(kind)[0].model_fields
    if left_out := [name for name in network if name not in known and f"network.{name}" not in changes]:
        warnings.warn(
            f"left out of the network of {source}, as the kind {kind} has no such settings: {', '.join(left_out)}",
            SettingsWarning,
            stacklevel=3,
        )
    return {**settings, "network": {name: value for name, value in network.items() if name in known}}


def current_names(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides with settings that were renamed under their new names: a preset may set those already."""
    groups = {f"{LoopConfig.what}.{old}": f"{LoopConfig.what}.{new}" for old, new in LoopConfig.renamed.items()}
    for old in groups.keys() & overrides.keys():
        warn_renamed(old, groups[old])
    return {groups.get(name, name): value for name, value in overrides.items()}


def read_settings(source: str | Path, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a preset, a game (with the parameters among the overrides) or a file, as plain data."""
    name = str(source)
    if preset_name(name) in shipped():
        return parse_yaml(_text(preset_name(name)), name)
    if (offered := plugins.load("presets", name.replace("_", "-"))) is not None:
        return _offered_settings(name, offered)
    if (found := find_game(name)) is not None:
        game, params = found
        given = {key: value for key, value in overrides.items() if _is_params(key)}
        chosen = overridden({"params": params}, given, TrainConfig.what)
        if not isinstance(chosen["params"], Mapping):
            raise SettingsError(f"training setting params={chosen['params']!r}: it is a group, such as params.NAME")
        return {"game": game, "params": params, **fitted_settings(make(game, **chosen["params"]))}
    return read_yaml(source)


def _offered_settings(name: str, offered: Any) -> dict[str, Any]:
    """The settings of a preset of another package: a mapping, or the path of a YAML file."""
    if isinstance(offered, Mapping):
        return dict(offered)
    if isinstance(offered, str | Path) and Path(offered).is_file():
        return read_yaml(offered)
    raise plugins.wrong(
        "presets", name, f"it must be a mapping of settings or the path of a YAML file, not {offered!r}"
    )


def _is_params(dotted: str) -> bool:
    return dotted.partition(".")[0] == "params"


def find_game(name: str) -> tuple[str, dict[str, Any]] | None:
    """The game that is meant, and the parameters that its name stands for; None if there is none.

    ``connect-four`` is ``connect_four``, and ``pyrat-tiny`` is ``pyrat`` with ``preset="tiny"``.
    """
    if name in list_games() or name.partition(":")[0] in families():
        return name, {}
    for game in list_games():
        listed, given = game.replace("_", "-"), name.replace("_", "-")
        if given == listed:
            return game, {}
        for chosen, params in parameter_sets(game).items():
            if given == f"{listed}-{chosen}":
                return game, dict(params)
    return None


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The settings in a file, as plain data."""
    if not Path(path).is_file():
        hint = did_you_mean(str(path), presets()) or f"presets are {', '.join(presets())}"
        raise FileNotFoundError(f"there is no preset, game or file {str(path)!r}; {hint}")
    try:
        return parse_yaml(Path(path).read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not YAML: it is no text") from None


def parse_yaml(text: str, source: str) -> dict[str, Any]:
    """The settings that a text states, as plain data; ``source`` is where it comes from."""
    yaml = _yaml()
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{source} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{source} must have settings (name: value) on its first level")
    return data


def as_yaml(config: TrainConfig, only_changed: bool = False) -> str:
    """The config as a file that ``load_config`` reads."""
    text: str = _yaml().safe_dump(config.model_dump(mode="json", exclude_defaults=only_changed), sort_keys=False)
    return text


def is_written_by_us(content: bytes) -> bool:
    """Whether a file has just what ``as_yaml`` writes: every group of settings, laid out by PyYAML, no comment."""
    yaml = _yaml()
    try:
        text = content.decode()
        data = yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return False
    later = {
        "imports",
        "curriculum",
        "variants",
        "records",
        "unroll",
        "cluster",
    }  # settings that earlier versions did not write
    if not isinstance(data, dict) or not TrainConfig.model_fields.keys() - later <= data.keys():
        return False
    return bool(yaml.safe_dump(data, sort_keys=False) == text)
