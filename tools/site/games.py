"""What pages of games show beside their words: a picture, facts and parameters, from the games themselves.

A page has a line ``<!-- game: NAME -->`` where they belong.
"""

from __future__ import annotations

import re
from typing import Any

from tools.site.markdown import cell, code, table

MARK = re.compile(r"^<!-- game: (\w+) -->$", flags=re.MULTILINE)
# {game: (parameters, actions that lead to the position of the picture)}
SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "tictactoe": ({}, "b2 a1 c3"),
    "connect_four": ({}, "d d c d e b"),
    "hex": ({"size": 7}, "d4 c4 c5 e3 e4"),
    "chess": ({}, "e2e4 c7c5 g1f3 d7d6 d2d4"),
    "pyrat": ({"preset": "small"}, ""),
    "goofspiel": ({"cards": 5}, "3 4"),
    "pig": ({"target": 50}, "roll roll roll"),
    "matrix": ({}, ""),
}


def pictures() -> dict[str, str]:
    """{path: SVG} of the pictures of games."""
    return {f"images/games/{name}.svg": picture(name) for name in SHOWN}


def picture(name: str) -> str:
    import ramify as rf

    params, actions = SHOWN[name]
    state = rf.make(name, **params).initial_state(seed=1)
    words = actions.split()
    while words:
        turn, words = words[: len(state.acting)], words[len(state.acting) :]
        state.apply(*turn)
    return state.svg()


def with_facts(markdown: str) -> str:
    """A page with pictures and facts in place of its marks."""
    return MARK.sub(lambda found: facts(found[1]), markdown)


def facts(name: str) -> str:
    """The picture of a game and what it says of itself, with its default parameters."""
    import ramify as rf
    from ramify import _core

    game = rf.make(name)
    shape = " × ".join(map(str, game.observation_shape))
    rows = [
        ["actions", str(game.num_actions)],
        ["observation", shape],
        ["players act", "both at once" if game.simultaneous else "in turn"],
        ["symmetries", ", ".join(symmetry.name for symmetry in game.symmetries)],
    ]
    shown = f"![A position of {name}](../images/games/{name}.svg){{ .game }}\n\n"
    text = shown + table([f'`rf.make("{name}")`', ""], rows)
    parameters = [[code(key), code(repr(value)), cell(meaning)] for key, value, meaning in _core.game_params(name)]
    if parameters:
        text += "\n" + table(["parameter", "default", "meaning"], parameters)
    if presets := rf.games.presets(name):
        rows = [[code(key), cell(", ".join(f"{k}={v!r}" for k, v in given.items()))] for key, given in presets.items()]
        text += "\n" + table(["preset", "parameters"], rows)
    return text
