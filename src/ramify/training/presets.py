"""Configs by name and from YAML files, with overrides."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ramify.base.deprecation import warn_renamed
from ramify.base.hints import did_you_mean
from ramify.base.settings import SettingsError
from ramify.training.config import LoopConfig, TrainConfig


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError("configs of training are YAML: pip install 'ramify[train]'") from None
    return yaml


def _folder() -> Traversable:
    return resources.files("ramify.training") / "presets"


def presets() -> list[str]:
    """The names of the configs that come with the package."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _folder().iterdir() if entry.name.endswith(".yaml"))


def _text(preset: str) -> str:
    return (_folder() / f"{preset}.yaml").read_text(encoding="utf-8")


def preset_texts() -> dict[str, str]:
    """What each preset is, from the comment it begins with."""
    return {name: _text(name).partition("\n")[0].removeprefix("# ") for name in presets()}


def load_config(source: str | Path, overrides: Mapping[str, Any] | None = None) -> TrainConfig:
    """The config of a preset or a YAML file. Overrides have dotted names, such as ``loop.iterations``."""
    return TrainConfig(**overridden(read_yaml(source), current_names(overrides or {})))


def current_names(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides with settings that were renamed under their new names: a preset may set those already."""
    groups = {f"{LoopConfig.what}.{old}": f"{LoopConfig.what}.{new}" for old, new in LoopConfig.renamed.items()}
    for old in groups.keys() & overrides.keys():
        warn_renamed(old, groups[old])
    return {groups.get(name, name): value for name, value in overrides.items()}


def read_yaml(source: str | Path) -> dict[str, Any]:
    """The settings of a preset or a file, as plain data."""
    yaml = _yaml()
    path = Path(source)
    if str(source) in presets():
        text = _text(str(source))
    elif path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise SettingsError(f"{source} is not YAML: it is no text") from None
    else:
        hint = did_you_mean(str(source), presets()) or f"presets are {', '.join(presets())}"
        raise FileNotFoundError(f"there is no preset or file {str(source)!r}; {hint}")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{source} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{source} must have settings (name: value) on its first level")
    return data


def overridden(data: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the settings with some changed."""
    result: dict[str, Any] = dict(data)
    for dotted, value in overrides.items():
        name, _, rest = dotted.partition(".")
        if not rest:
            result[name] = value
            continue
        inner = result.get(name, {})
        if not isinstance(inner, Mapping):
            raise SettingsError(f"training setting {name} is {inner!r}: it has no setting {rest!r} within")
        result[name] = overridden(inner, {rest: value})
    return result


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
    if not isinstance(data, dict) or not TrainConfig.model_fields.keys() - {"imports"} <= data.keys():
        return False
    return bool(yaml.safe_dump(data, sort_keys=False) == text)
