"""Formulas as MathML, which browsers draw themselves: no script, no fonts, no network."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

MARKED = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', flags=re.DOTALL)


def render(page: str) -> str:
    """A page of HTML with the formulas that arithmatex has marked replaced by MathML."""
    return MARKED.sub(lambda found: mathml(found[2], display=found[1] == "div"), page)


def mathml(marked: str, display: bool) -> str:
    r"""One formula, given as \(…\) or \[…\]."""
    latex = html.unescape(marked).strip()[2:-2].strip()
    return convert(latex, display="block" if display else "inline")
