"""Positions from text and from data: refused with a ValueError, or as good as any other."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ramify as rf
from tests.engine.positions import GAMES as NATIVE
from tests.engine.tiny_games import Carousel, Paths
from tools.fuzz.case import expect, target

FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "8/P7/8/8/8/8/k6P/7K w - - 0 1",
    "8/8/8/8/8/5k2/6p1/6K1 b - - 99 120",
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 12 30",
)
LETTERS = "pnbrqkPNBRQK12345678/ -wbKQkqabcdefgh0"
WORDS = ("", "-", "w", "b", "KQkq", "KK", "e3", "e6", "a9", "-1", "0", "100", "150", "99999", "2147483648", "9" * 30)
STRANGE = ("\x00", "é", "♔", "\n", "\t", "١", "8" * 70, "/" * 9, " " * 40, "k" * 8, "Q" * 8)
EXTREMES: tuple[Any, ...] = (
    -1, 0, 1, 2, 255, 256, 65536, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e-300,
    1e300, float("nan"), float("inf"), True, False, None, "", "x", "a1", "é\x00", [], [[]], {}, {"x": 1}, [0] * 1000,
    b"x",
)  # fmt: skip
PLIES = 40


@cache
def game_of(name: str) -> Any:
    """One of the games that positions are taken from."""
    if name in NATIVE:
        kind, params = NATIVE[name]
        return rf.make(kind, **params)
    python = {"paths": Paths, "paths at once": lambda: Paths("both"), "carousel": Carousel}
    return python[name]() if name in python else rf.make(name)


PYTHON = ("paths", "paths at once", "carousel")  # what a position may be is their authors' affair
STATE_GAMES = (*NATIVE, *PYTHON, "pig", "openspiel:tic_tac_toe", "openspiel:goofspiel")


def some_state(rng: random.Random, game: Any, plies: int) -> Any:
    """A position of random play."""
    state = game.initial_state(seed=rng.randrange(1000))
    for _ in range(rng.randrange(plies)):
        if state.is_over:
            break
        step(rng, state)
    return state


def step(rng: random.Random, state: Any) -> None:
    state.apply(*(int(rng.choice(list(state.legal_actions(player)))) for player in state.acting))


def survive(rng: random.Random, state: Any) -> None:
    """Everything that can be done with a position, in random play to the end of it or for a while."""
    for ply in range(PLIES):
        look(state, closely=ply % 8 == 0)
        while getattr(state, "is_chance", False):
            state.draw_chance()
        if state.is_over:
            break
        for player in state.acting:
            expect(len(state.legal_actions(player)) > 0, f"nothing is legal for player {player}, who is to act")
        if ply % 16 == 0:
            result = rf.search(state, simulations=8)
            expect(bool(np.isfinite(result.value).all()), f"a search finds the value {result.value}")
        step(rng, state)


def look(state: Any, closely: bool) -> None:
    other = state.copy()
    expect(other.key == state.key, "a copy has another key")
    expect(bool(np.isfinite(state.returns).all()), f"returns are {state.returns}")
    expect(len(str(state)) < 100_000, "its text is too long")
    for player in (0, 1):
        expect(bool(np.isfinite(state.observation(player)).all()), "an observation is not finite")
    if closely:
        state.svg()
        again = state.game.state(**copy.deepcopy(state.fields))
        expect(again.key == state.key, f"its fields give another position back: {state.fields}")
        expect(bool((again.returns == state.returns).all()), "its fields give other returns back")
        expect(pickle.loads(pickle.dumps(state)).key == state.key, "a pickled copy has another key")


@target("fen")
def fen(rng: random.Random, _: Path) -> None:
    """FENs with mistakes: a ValueError, or a position that can be played, copied, drawn and written."""
    game = game_of("chess")
    text = rng.choice(FENS) if rng.random() < 0.5 else some_state(rng, game, 80).fen
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(FEN_CHANGES)(rng, text)
    try:
        state = game.state(text)
    except ValueError as error:
        expect(len(str(error)) < 2000, f"the message about {text[:100]!r} is {len(str(error))} characters long")
        return
    expect(game.state(state.fen).fen == state.fen, f"{text!r} becomes {state.fen!r}, and that another one")
    survive(rng, state)


def replace_letter(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(LETTERS) + text[at + 1 :]


def insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice([rng.choice(LETTERS), rng.choice(STRANGE)]) + text[at:]


def remove(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice([1, 1, 1, 2, 5]) :]


def change_word(rng: random.Random, text: str) -> str:
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words)


def exchange_ranks(rng: random.Random, text: str) -> str:
    board, _, rest = text.partition(" ")
    ranks = board.split("/")
    rng.shuffle(ranks)
    return "/".join(ranks) + " " + rest


FEN_CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    replace_letter, replace_letter, insert, remove, change_word, change_word, exchange_ranks,
)  # fmt: skip


@target("states")
def states(rng: random.Random, _: Path) -> None:
    """Fields of positions of every game, changed: a ValueError, or a position as good as any other."""
    name = rng.choice(STATE_GAMES)
    game = game_of(name)
    fields = copy.deepcopy(some_state(rng, game, 30).fields)
    position = {key: fields.pop(key) for key in list(fields) if name in PYTHON and key == "position"}
    for _ in range(rng.randint(1, 3)):
        fields = changed(rng, fields)
    if not isinstance(fields, dict):
        return
    fields = {**position, **fields}
    try:
        state = game.state(**copy.deepcopy(fields))
    except (ValueError, TypeError):  # a TypeError for what is no plain data
        return
    survive(rng, state)


def changed(rng: random.Random, data: Any) -> Any:
    """Plain data with one thing changed somewhere inside."""
    if isinstance(data, dict) and data and rng.random() < 0.9:
        key = rng.choice(list(data))
        if rng.random() < 0.1:
            return {name: value for name, value in data.items() if name != key}
        return {**data, key: changed(rng, data[key])}
    if isinstance(data, list | tuple) and data and rng.random() < 0.8:
        return changed_list(rng, list(data))
    if isinstance(data, int) and rng.random() < 0.5:
        return data + rng.choice([-1, 1, 2, 7, -100])
    if isinstance(data, str) and data and rng.random() < 0.5:
        return rng.choice([replace_letter, insert, remove])(rng, data)
    return copy.deepcopy(rng.choice(EXTREMES))


def changed_list(rng: random.Random, items: list[Any]) -> list[Any]:
    at = rng.randrange(len(items))
    how = rng.randrange(6)
    if how == 0:
        return items[:at] + items[at + 1 :]
    if how == 1:
        return [*items, items[at]]
    if how == 2:
        return [items[rng.randrange(len(items))] if i == at else item for i, item in enumerate(items)]
    if how == 3:
        return rng.sample(items, len(items))
    return [changed(rng, item) if i == at else item for i, item in enumerate(items)]
