"""What every page has: the bar at the top, the colours, tables and errors. Texts are escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

from nicegui import ui
from starlette.requests import Request

PAGES = (("Play", "/play"), ("Analyse", "/analyse"), ("Games", "/games"), ("Runs", "/runs"), ("Ratings", "/ratings"))
THEME = "ramify-theme"  # cookie: dark or light
TURN = (
    "() => {const dark = document.body.classList.contains('body--dark'); Quasar.Dark.set(!dark); "
    f"document.cookie = '{THEME}=' + (dark ? 'light' : 'dark') + ';path=/;max-age=31536000;SameSite=Strict'}}"
)

GO = "(e) => {const t = e.target.closest('[data-turn]'); if (t) emit(t.dataset.turn)}"
SPINNER = '<span class="q-spinner material-icons" style="font-size:1.1rem">hourglass_top</span>'
LONGEST_NUMBER = 12  # digits
PROBLEMS = (ValueError, TypeError, KeyError, OSError, ImportError, RuntimeError, ArithmeticError)  # StoreError is one


@contextmanager
def frame(title: str, request: Request) -> Iterator[None]:
    """A page with the bar at its top; what is made inside is its content."""
    ui.page_title(f"{title} – ramify")
    ui.add_head_html('<link rel="stylesheet" href="/static/style.css"><script src="/static/keys.js" defer></script>')
    dark = {"dark": True, "light": False}.get(request.cookies.get(THEME, ""))
    ui.dark_mode(dark)
    with ui.element("header").classes("top"):
        links = "".join(
            f'<a href="{path}"{" aria-current=page" if name == title or path == request.url.path else ""}>{name}</a>'
            for name, path in PAGES
        )
        ui.html(
            '<a class="brand" href="/play"><img src="/static/icon.svg" alt=""><span>ramify</span></a>', sanitize=False
        )
        ui.html(f'<nav aria-label="Pages">{links}</nav>', sanitize=False).classes("grow")
        button = ui.button(icon="contrast").props('flat round dense color=grey aria-label="Light or dark"')
        button.on("click", js_handler=TURN)
    with ui.element("div").classes("page"):  # NiceGUI's own element around it is the main one
        yield


@contextmanager
def card(title: str = "") -> Iterator[ui.element]:
    """A box with a title."""
    with ui.element("section").classes("card") as box:
        if title:
            ui.html(f"<h2>{escape(title)}</h2>", sanitize=False)
        yield box


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (), marks: Sequence[str] = ()
) -> str:
    """A table as HTML. Cells are HTML: whoever makes them has escaped them. ``left``: columns written from the left;
    ``marks``: an attribute for every row."""
    cells = "".join(f'<th class="{"l" if i in left else ""}">{escape(word)}</th>' for i, word in enumerate(head))
    lines = []
    for number, row in enumerate(rows):
        mark = marks[number] if number < len(marks) else ""
        inner = "".join(f'<td class="{"l" if i in left else ""}">{cell}</td>' for i, cell in enumerate(row))
        lines.append(f"<tr {mark}>{inner}</tr>")
    body = f"<thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table class="grid">{body}</table></div>'


def facts(rows: dict[str, str]) -> str:
    """Names and values as HTML."""
    return (
        '<dl class="facts">' + "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in rows.items()) + "</dl>"
    )


def html(content: str = "") -> ui.html:
    """An element with HTML whose texts are escaped already."""
    return ui.html(content, sanitize=False)


def keyboard(on_key: Callable[..., Any], keys: Sequence[str]) -> ui.html:
    """Keys of the page: ``keys`` do not scroll it. Keys that a focused button, slider or tab has a use for go to that
    alone (static/keys.js)."""
    ui.keyboard(on_key=on_key, ignore=["input", "select", "textarea"])
    return html(keys_html(keys))


def keys_html(keys: Sequence[str]) -> str:
    return f'<span hidden data-keys="{escape(",".join(keys))}"></span>'


def whole(text: str) -> int:
    """A whole number in an address; 0 for anything else."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else 0


def turn_of(event: Any) -> int | None:
    """The turn that a click named (``GO``); None for anything else."""
    text = str(event.args)
    return int(text) if text.isdecimal() and len(text) < 6 else None


def tell(problem: Exception | str) -> None:
    """An error, as a message that goes away by itself."""
    text = problem if isinstance(problem, str) else (str(problem).partition("\n")[0] or type(problem).__name__)
    ui.notify(text[:300], type="warning", position="top", close_button=True)


def refused(text: str) -> None:
    """The content of a page that has nothing to show."""
    with card():
        ui.label(text).classes("error")
