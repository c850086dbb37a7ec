"""A small writer of SVG: shapes go in, one text comes out."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

LETTER = 7.5  # width of a letter of a caption, with room to spare

Point = tuple[float, float]


def rectangle(x: float, y: float, width: float, height: float) -> list[Point]:
    """The corners of a rectangle."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _number(x: float) -> str:
    return f"{x:.2f}".rstrip("0").rstrip(".")


class Canvas:
    """A picture being drawn; later shapes lie on top."""

    def __init__(self, width: float, height: float, background: str | None = None) -> None:
        self.width = width
        self.height = height
        self._background = background
        self._parts: list[str] = []

    def _add(self, tag: str, body: str = "", /, **attributes: str | float | None) -> None:
        self._parts.append(self._element(tag, body, **attributes))

    @staticmethod
    def _element(tag: str, body: str = "", /, **attributes: str | float | None) -> str:
        words = [
            f'{name.replace("_", "-")}="{escape(value) if isinstance(value, str) else _number(value)}"'
            for name, value in attributes.items()
            if value is not None
        ]
        head = f"<{tag} {' '.join(words)}"
        return f"{head}>{body}</{tag}>" if body else f"{head}/>"

    def rect(self, x: float, y: float, width: float, height: float, **style: str | float | None) -> None:
        """A rectangle; style: fill, stroke, stroke_width, rx, opacity ..."""
        self._add("rect", x=x, y=y, width=width, height=height, **style)

    def circle(self, x: float, y: float, radius: float, **style: str | float | None) -> None:
        self._add("circle", cx=x, cy=y, r=radius, **style)

    def line(self, start: Point, end: Point, **style: str | float | None) -> None:
        self._add("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], **style)

    def polygon(self, points: Iterable[Point], **style: str | float | None) -> None:
        self._add("polygon", points=" ".join(f"{_number(x)},{_number(y)}" for x, y in points), **style)

    def path(self, data: str, **style: str | float | None) -> None:
        """Any outline in SVG path notation."""
        self._add("path", d=data, **style)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 14,
        anchor: str = "middle",
        family: str = "sans-serif",
        **style: str | float | None,
    ) -> None:
        self._add(
            "text",
            escape(text).replace(" ", "&#160;"),
            x=x,
            y=y,
            font_size=size,
            text_anchor=anchor,
            font_family=family,
            **style,
        )

    def caption(self, groups: Iterable[Iterable[str]], *, fill: str) -> None:
        """Add texts below everything drawn so far; the picture grows by them.

        A group begins on a line of its own; its parts share lines as long as the picture is wide enough.
        """
        room = max(20, int((self.width - 16) / LETTER))
        lines: list[str] = []
        for group in groups:
            first, *others = group
            lines.append(first)
            for part in others:
                if len(lines[-1]) + 3 + len(part) <= room:
                    lines[-1] += f" · {part}"
                else:
                    lines.append(part)
        self.width = max(self.width, 16 + LETTER * max(map(len, lines)))
        for line in lines:
            self.height += 20
            self.text(self.width / 2, self.height, line, fill=fill)
        self.height += 10

    def picture(self, svg: str, width: float, height: float) -> None:
        """Another picture, an SVG element, at the top left."""
        self._add("svg", svg, width=width, height=height)

    def render(self) -> str:
        """The finished picture as a text."""
        size = f'width="{_number(self.width)}" height="{_number(self.height)}"'
        box = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}"'
        body = "".join(self._parts)
        if self._background:
            sides = {"width": self.width, "height": self.height}
            body = self._element("rect", x=0.0, y=0.0, **sides, fill=self._background) + body
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>{body}</svg>'
