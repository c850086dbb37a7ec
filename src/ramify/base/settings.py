"""Base class of all settings: frozen, validated, with errors that name the wrong setting and the valid values."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo

from ramify.base.deprecation import warn_renamed
from ramify.base.hints import did_you_mean

WORDS = {"True": True, "False": False, "None": None}  # Python's spelling; JSON's is also accepted
# What a value must be, by pydantic's type of error; other errors keep pydantic's words.
PLAIN = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    "finite_number": "must be a finite number",
    "string_type": "must be a text",
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list, such as [a,b]"),
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}


class SettingsError(ValueError):
    """Unknown or invalid settings; the message names each of them."""


class SettingsWarning(UserWarning):
    """Settings are used otherwise than they were given. A separate class, so that the command line can show it."""


class SettingsHelp(SettingsError):  # noqa: N818 - what was asked for
    """Raised where ``help`` stands in place of settings: ``config`` has those that there are."""

    def __init__(self, config: type[Settings], what: str) -> None:
        super().__init__(f"the settings of {what} are {', '.join(settable(config.model_fields))}")
        self.config = config


class Settings(BaseModel):
    """Base of every group of settings. ``what`` is the name of the group in error messages."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    what: ClassVar[str] = ""
    renamed: ClassVar[Mapping[str, str]] = {}  # old names that still work: {old: new}

    @model_validator(mode="before")
    @classmethod
    def _by_new_names(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not cls.renamed.keys() & given.keys():
            return given
        changed = dict(given)
        for old in cls.renamed.keys() & given.keys():
            new = cls.renamed[old]
            if new in given:
                raise ValueError(f"{old} is the old name of {new}: give only {new}")
            warn_renamed(f"the {cls.what} setting {old}", new)
            changed[new] = changed.pop(old)
        return changed

    def __init__(self, **settings: Any) -> None:
        if not type(self).__pydantic_complete__:
            _build(type(self))
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise SettingsError(explain(error, type(self))) from None

    if not TYPE_CHECKING:  # a type checker that saw it would allow every assignment

        def __setattr__(self, name: str, value: Any) -> None:
            try:
                super().__setattr__(name, value)
            except ValidationError:
                message = f"settings are frozen and cannot be changed: use config.replace({name}={value!r})"
                raise SettingsError(message) from None

    def replace(self, **changes: Any) -> Self:
        """A copy with some settings changed."""
        return type(self)(**{**self.model_dump(), **changes})


_BUILDING = threading.RLock()  # pydantic's own first use builds a class without one


def _build(cls: type[Settings]) -> None:
    """Build the validator of a class when it is first used: at import it would take longer than all of our own code."""
    with _BUILDING:
        if not cls.__pydantic_complete__:
            cls.model_rebuild()


def read_value(text: str) -> Any:
    """Parse the text of a setting: JSON (7, 0.5, true, [1, 2]), True, False or None; other text is a string.

    The strings in a list need no quotes: [a,b].
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if text.startswith("[") and text.endswith("]"):
            return [read_value(part.strip()) for part in _parts(text[1:-1])]
        return WORDS.get(text, text)


def _parts(text: str) -> list[str]:
    """Text between commas, except for commas within brackets or quotes."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "[{") - (character in "]}")
        if character == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def setting_text(name: str, value: Any) -> str:
    """A setting as typed, ``name=value``: what ``read_value`` reads back, if it can be written so."""
    return f"{name}={value if isinstance(value, str) else json.dumps(value, default=repr)}"


def overridden(data: Mapping[str, Any], overrides: Mapping[str, Any], what: str) -> dict[str, Any]:
    """A copy of the settings with some changed, those of a group by dotted names, such as ``nash.choose``.

    ``what`` is the name of all these settings in error messages.
    """
    result: dict[str, Any] = dict(data)
    for dotted, value in overrides.items():
        name, _, rest = dotted.partition(".")
        if not rest:
            result[name] = value
            continue
        inner = result.get(name, {})
        if not isinstance(inner, Mapping):
            raise SettingsError(f"{what} setting {name} is {inner!r}: it has no setting {rest!r} within")
        result[name] = overridden(inner, {rest: value}, what)
    return result


def changed_settings(config: Settings) -> dict[str, Any]:
    """The settings that differ from their defaults, as plain data; those of a group have dotted names."""
    changed: dict[str, Any] = {}
    for name, value in config.model_dump(mode="json").items():
        if isinstance(group := getattr(config, name), Settings):
            changed |= {f"{name}.{inner}": value for inner, value in changed_settings(group).items()}
        elif value != type(config).model_fields[name].default:
            changed[name] = value
    return changed


def _way(config: type[Settings], problem: Mapping[str, Any]) -> str:
    """How to give the group of settings that something else was given for, with the names of its settings."""
    kind, name = cast(Any, config), ".".join(map(str, problem["loc"]))
    try:
        for part in problem["loc"]:
            kind = get_args(kind)[0] if isinstance(part, int) else kind.model_fields[part].annotation
        names = settable(kind.model_fields)
    except (AttributeError, IndexError, KeyError):  # one of several kinds of settings
        return f"set {name}.NAME instead"
    if isinstance(problem["loc"][-1], int):  # an item of a list, which has no dotted names
        needed = [name for name in names if kind.model_fields[name].is_required()]
        return "write it as {" + ", ".join(f'"{name}": …' for name in needed or names) + "}"
    return f"set {name}.NAME instead, such as {name}.{names[0]}"


def settable(fields: Mapping[str, FieldInfo]) -> list[str]:
    """The names of the fields that have more than one possible value."""
    kinds = {name: field.annotation for name, field in fields.items()}
    return [name for name, kind in kinds.items() if get_origin(kind) is not Literal or len(get_args(kind)) > 1]


def explain(error: ValidationError, config: type[Settings]) -> str:
    """The error message for invalid settings of a class."""
    names, what, lines = settable(config.model_fields), config.what, []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        text = problem["msg"].removeprefix("Value error, ")
        inner = problem.get("ctx", {}).get("error")
        if isinstance(inner, SettingsError):  # from a nested group; its message already names the setting
            lines.append(str(inner))
        elif problem["type"] == "extra_forbidden":
            hint = did_you_mean(name, names) or f"there are {', '.join(names) or 'none'}"
            lines.append(f"there is no {what} setting {name!r}; {hint}")
        elif problem["type"] == "model_type":
            lines.append(
                f"{what} setting {name}={problem['input']!r}: it is a group of settings; {_way(config, problem)}"
            )
        elif problem["type"] == "missing":
            lines.append(f"{what} setting {name} is missing")
        elif not name:
            lines.append(f"{what} settings: {text}")
        else:
            if problem["type"] in PLAIN:
                text = PLAIN[problem["type"]].format(**problem.get("ctx", {}))
            if problem["type"] == "literal_error":
                values = re.findall(r"'([^']*)'", problem["ctx"]["expected"])
                text += did_you_mean(str(problem["input"]), values, before="; ")
            lines.append(f"{what} setting {name}={problem['input']!r}: {text[:1].lower()}{text[1:]}")
    return "; ".join(lines)
