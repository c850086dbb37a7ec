"""Settings of ``ramify train`` given in the wrong way: the answer is the right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ramify import _core
from ramify.base.hints import did_you_mean
from ramify.cli.common import fail
from ramify.cli.options import parameter_names


def refuse_misplaced(name: str, settings: Sequence[str], params: Sequence[str], searched: Sequence[str]) -> None:
    """End the command at the first key=value that is not where it belongs: as a word, with -p, or with -s."""
    for word in searched:
        right = " or ".join(places(name, word)) or word
        fail(f"ramify train takes settings without -s: use {right}")
    for word in settings:
        key = word.partition("=")[0]
        if key.partition(".")[0] in groups():
            continue
        if right := " or ".join(places(name, word)):
            fail(f"there is no training setting {key!r}: use {right}")
        known = [*groups(), *(f"{group}.{field}" for group, fields in groups().items() for field in fields)]
        fail(f"there is no training setting {key!r}; {did_you_mean(key, known, after=' ')}--show lists all")
    for word in params:
        key = word.partition("=")[0]
        if key.partition(".")[0] in groups() and list(places(name, word)) == [word]:
            fail(f"{key} is not a parameter of the game: use {word}")
        if (game := game_of(name)) in _core.game_names():
            refuse_unknown(game, key)


def refuse_unknown(game: str, key: str) -> None:
    """End the command if a game of the core has no parameter of this name. A setting of training that is called alike
    may be something else altogether."""
    known = sorted(parameter_names(game))
    if key not in known:
        there = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
        fail(f"{game} has no parameter {key!r}; {did_you_mean(key, known, after=' ')}{there}")


def places(name: str, word: str) -> Iterator[str]:
    """Ways to give a key=value that ``ramify train NAME`` accepts, the parameters of the game first."""
    key = word.partition("=")[0]
    group, _, field = key.partition(".")
    if key in parameter_names(game_of(name)):
        yield f"-p {word}"
    elif group in groups() and (not field or field in groups()[group]):
        yield word
    else:
        yield from (f"{group}.{word}" for group, fields in groups().items() if key in fields)


def groups() -> dict[str, list[str]]:
    """The settings of a training run, each with the settings within it."""
    from ramify.base.settings import Settings
    from ramify.training import TrainConfig

    return {
        name: list(field.annotation.model_fields)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings)
        else []
        for name, field in TrainConfig.model_fields.items()
    }


def game_of(name: str) -> str:
    """The game that a preset, a game's name or a file trains; the name itself if that cannot be told."""
    from ramify.training import load_config

    try:
        return load_config(name).game
    except (ValueError, TypeError, ImportError, OSError):
        return name
