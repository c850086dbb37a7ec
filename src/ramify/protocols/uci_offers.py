"""What a UCI engine offers: the options that it lists before ``uciok``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ramify.base.hints import did_you_mean
from ramify.protocols.process import EngineError

OFFER = re.compile(r"option name (?P<name>.+?) type (?P<type>\w+)(?P<rest>.*)")
BOUND = re.compile(r" (min|max) (-?\d+)")


Offers = dict[str, re.Match[str]]  # by the name of an option in small letters: engines take names in any


def read_offers(lines: Iterable[str]) -> Offers:
    """The options in what an engine says before ``uciok``."""
    return {found["name"].lower(): found for line in lines if (found := OFFER.match(line.strip()))}


def check_options(command: str, offers: Offers, options: Mapping[str, Any]) -> None:
    """Raise an EngineError for an option that the engine does not offer, or a number outside of its range.

    Engines ignore what they do not know: a match against an engine whose strength was to be limited would be one
    against its full strength.
    """
    for name, value in options.items():
        offer = offers.get(name.lower())
        if offer is None:
            names = [known["name"] for known in offers.values()]
            hint = did_you_mean(name, names) or f"it has {', '.join(names) or 'none'}"
            raise EngineError(f"the engine {command!r} has no option {name!r}; {hint}")
        bounds = dict(BOUND.findall(offer["rest"])) if offer["type"] == "spin" else {}
        try:
            fits = int(bounds.get("min", value)) <= int(value) <= int(bounds.get("max", value)) if bounds else True
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise EngineError(
                f"the engine {command!r}: option {name} must be a whole number from {bounds.get('min', '?')} to "
                f"{bounds.get('max', '?')}, not {value!r}"
            )
