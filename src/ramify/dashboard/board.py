"""A board in the browser: the picture of a position whose places can be clicked, and buttons where it has none."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from typing import Any

from nicegui import ui

from ramify.dashboard.layout import html
from ramify.games import State
from ramify.games.pictures import Analysis, areas, draw_seen, draw_text, places

MOST_BUTTONS = 400
PICK = "(e) => {const t = e.target.closest('[data-place]'); if (t) emit(t.dataset.place)}"
PRESS = (
    "(e) => {const t = e.target.closest('[data-place]'); "
    "if (t && (e.key === 'Enter' || e.key === ' ')) {e.preventDefault(); emit(t.dataset.place)}}"
)
MARKS = ("connect_four", "tictactoe")  # their pictures do not show the last move
PATHS = ("chess", "pyrat")  # where legal targets are dots rather than every free cell

OnMove = Callable[[int, int], Awaitable[None]]  # player and action


class Board:
    """The picture of a position. ``on_move`` is called when a person has chosen an action."""

    def __init__(self, on_move: OnMove) -> None:
        self.on_move = on_move
        self.state: State | None = None
        self.player: int | None = None  # who may move by clicking
        self.viewer = 0
        self.chosen = ""  # the first of two places
        self.last: tuple[str, ...] = ()
        self.analysis: Analysis | None = None
        self._actions: dict[tuple[str, ...], list[int]] = {}
        with ui.element("div").classes("grow"):
            self.picture = html().classes("board")
            self.picture.on("click", self._pick, js_handler=PICK)
            self.picture.on("keydown", self._pick, js_handler=PRESS)
            self.buttons = html().classes("actions")
            self.buttons.on("click", self._press, js_handler=PICK)

    def show(
        self,
        state: State,
        player: int | None = None,
        *,
        viewer: int = 0,
        last: tuple[State, Sequence[int]] | None = None,
        analysis: Analysis | None = None,
    ) -> None:
        """Show a position. ``player`` may choose an action; ``last`` are the position before and the turn played there;
        ``analysis`` is what a search found."""
        self.state, self.player, self.viewer, self.analysis, self.chosen = state, player, viewer, analysis, ""
        self.last = last_places(*last) if last is not None and state.game.name in MARKS else ()
        mine = player is not None and player in state.acting
        legal: Any = state.outcomes(player)[0] if mine else ()  # of actions with the same effect, one
        self._actions = {}
        outlines = areas(state, viewer)
        loose = []  # actions that have no place in the picture
        for action in map(int, legal):
            path = places(state, player or 0, action)
            if all(place in outlines for place in path):
                self._actions.setdefault(path, []).append(action)
            else:
                loose.append(action)
        self._draw()
        self._list(loose)

    def _draw(self) -> None:
        assert self.state is not None
        picture = safe_picture(self.state, self.analysis, self.viewer)
        outlines = areas(self.state, self.viewer)
        firsts = {path[0] for path in self._actions}
        targets = {path[1] for path in self._actions if len(path) == 2 and path[0] == self.chosen}
        parts = []
        for name, outline in outlines.items():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
            legal = name in firsts or name in targets
            kinds = [kind for kind, on in (("legal", legal), ("chosen", name == self.chosen)) if on]
            if name in self.last:
                parts.append(f'<polygon class="last" points="{points}"/>')
            keys = f'tabindex="0" role="button" aria-label="{escape(name)}"' if legal else ""
            parts.append(f'<polygon data-place="{escape(name)}" class="{" ".join(kinds)}" points="{points}" {keys}/>')
            single = self.state.game.name == "pyrat" and name in firsts
            if name in targets or single:
                x = sum(point[0] for point in outline) / len(outline)
                y = sum(point[1] for point in outline) / len(outline)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{9 if name in targets else 4}"/>')
        self.picture.style(f"--ratio:{ratio(picture):.4f}")  # as high as the window allows, and no wider than that
        self.picture.content = inserted(picture, f'<g class="areas">{"".join(parts)}</g>')

    def _list(self, actions: Sequence[int]) -> None:
        """Buttons for actions that cannot be clicked in the picture."""
        assert self.state is not None
        shown = [(action, self.state.action_name(action, self.player)) for action in actions[:MOST_BUTTONS]]
        self.buttons.content = "".join(
            f'<button class="chip" data-place="#{action}">{escape(name)}</button>' for action, name in shown
        )

    async def _press(self, event: Any) -> None:
        text = str(event.args)
        if self.player is not None and text[:1] == "#" and text[1:].isdigit():
            await self._move(int(text[1:]))

    async def _pick(self, event: Any) -> None:
        """A place was clicked: the only one of an action, or one of two."""
        place = str(event.args)
        if self.state is None or self.player is None:
            return None
        if (place,) in self._actions:
            return await self._move(self._actions[place,][0])
        if self.chosen and (self.chosen, place) in self._actions:
            return await self._choose(self._actions[self.chosen, place])
        own = any(path[0] == place for path in self._actions)
        self.chosen = place if own and place != self.chosen else ""
        return self._draw()

    async def _choose(self, actions: Sequence[int]) -> None:
        """One of several actions on the same squares: promotions."""
        if len(actions) == 1:
            return await self._move(actions[0])
        assert self.state is not None
        names = {action: self.state.action_name(action, self.player) for action in actions}
        with ui.dialog() as dialog, ui.element("div").classes("card line"):
            for action, name in names.items():
                title = {"q": "Queen", "r": "Rook", "b": "Bishop", "n": "Knight"}.get(name[-1:], name)
                ui.button(title, on_click=lambda action=action: dialog.submit(action)).props("outline")
        answer = await dialog
        dialog.delete()
        if answer is not None:
            await self._move(int(answer))
        return None

    async def _move(self, action: int) -> None:
        state, player = self.state, self.player
        if state is None or player is None or player not in state.acting or action not in state.legal_actions(player):
            return
        await self.on_move(player, action)


def safe_picture(state: State, analysis: Analysis | None, viewer: int) -> str:
    """The picture of a position; its text where the drawing code of a user's game fails."""
    try:
        return draw_seen(state, analysis, viewer)
    except Exception:
        return draw_text(str(state))


def ratio(picture: str) -> float:
    """Width by height of a picture."""
    box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', picture)
    return float(box[1]) / max(float(box[2]), 1.0) if box else 1.0


def inserted(picture: str, more: str) -> str:
    """A picture with something on top of it."""
    head, end, tail = picture.rpartition("</svg>")
    return f"{head}{more}{end}{tail}" if end else picture


def last_places(before: State, turn: Sequence[int]) -> tuple[str, ...]:
    """The places of the last turn's actions."""
    return tuple(
        place for player, action in zip(before.acting, turn, strict=False) for place in places(before, player, action)
    )


def turn_text(before: State, turn: Sequence[int]) -> str:
    """A turn as people write it: in standard algebraic notation in chess, else by names."""
    names = [before.action_name(int(action), player) for player, action in zip(before.acting, turn, strict=False)]
    if before.game.name == "chess":
        from ramify.presentation.chess_lines import san_line

        return (san_line(before, names) or names)[0]
    return "/".join(names)


def moves_html(game: str, labels: Sequence[str], now: int | None = None, marks: Sequence[str] = ()) -> str:
    """The moves of a game with their numbers; each can be clicked (data-turn), the one that led to position ``now`` is
    marked. ``marks`` stand behind the moves."""
    parts = []
    for number, label in enumerate(labels):
        count = number // 2 + 1 if game == "chess" else number + 1
        head = "" if game == "chess" and number % 2 else f'<span class="n">{count}.</span>'
        on = " now" if now == number + 1 else ""
        mark = marks[number] if number < len(marks) else ""
        move = f'<a class="m{on}" data-turn="{number + 1}">{escape(label)}{escape(mark)}</a>'
        parts.append(f'<span class="nw">{head}{move}</span>')
    return "".join(parts)
