"""Hooks of mkdocs: generated pages, navigation, links to files outside docs/, formulas."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.site import api, commands, decisions, formulas, games, notebooks, settings

ROOT = Path(__file__).resolve().parents[2]
# Pages of the repository's root that are also pages of the site.
ROOT_PAGES = {"CONTRIBUTING.md": "project/contributing.md", "ARCHITECTURE.md": "project/architecture.md"}
ROOT_PAGES |= {"CHANGELOG.md": "project/changelog.md"}


FILE = re.compile(r"^<!-- file: ([\w./]+) -->$", flags=re.MULTILINE)
# The section that has the pages of a folder.
SECTIONS = {"methods": "Methods", "howto": "How to", "": "How to", "games": "Games", "notebooks": "Start"}
SECTIONS |= {"reference/api": "API"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add pages that the navigation does not name yet to the section of their folder."""
    docs, named = Path(config.docs_dir), set(_leaves(config.nav))
    made = {*generated(), *ROOT_PAGES.values()}
    for folder, section in SECTIONS.items():
        found = {path.relative_to(docs).as_posix() for path in (docs / folder).glob("*.md")}
        found |= {name for name in made if posixpath.dirname(name) == folder}
        _section(config.nav, section).extend(sorted(found - named))
    return config


def _section(nav: Any, name: str) -> list[Any]:
    """The pages of a section, wherever it is."""
    for entry in nav:
        for title, content in entry.items() if isinstance(entry, dict) else ():
            if title == name:
                return content  # type: ignore[no-any-return]
            if isinstance(content, list) and (found := _section(content, name)):
                return found
    return []


def _leaves(nav: Any) -> list[str]:
    """The pages that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    return [leaf for entry in (nav.values() if isinstance(nav, dict) else nav) for leaf in _leaves(entry)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and those of the repository's root."""
    contents: dict[str, str | bytes] = dict(generated())
    for name, uri in ROOT_PAGES.items():
        contents[uri] = (ROOT / name).read_text(encoding="utf-8")
    contents |= games.pictures()
    for uri, content in contents.items():
        files.append(File.generated(config, uri, content=content))
    return files


def generated() -> dict[str, str]:
    """{path: Markdown} of every page that is written by a program."""
    parts = [settings.pages(), commands.pages(), api.pages(), decisions.pages(), notebooks.pages()]
    return {path: text for part in parts for path, text in part.items()}


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make links to files outside docs/ links to their pages, or plain code where they have none."""
    uri, markdown = page.file.src_uri, FILE.sub(_file_text, games.with_facts(markdown))
    markdown = markdown.replace("<!-- extras -->", extras())
    source = next((name for name, target in ROOT_PAGES.items() if target == uri), None)
    here = "" if source is not None else f"docs/{posixpath.dirname(uri)}"
    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", lambda found: _link(found, here, uri), markdown)


def extras() -> str:
    """The table of extras, which the README has."""
    table = re.search(
        r"^\| extra \|.*?\n\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    if table is None:
        raise PluginError("the README has no table of extras")
    return table[0].strip()


def _file_text(found: re.Match[str]) -> str:
    """A file of the repository as a block of code: the example itself, which the tests run."""
    name = found[1]
    return f'```python title="{name}"\n{(ROOT / name).read_text(encoding="utf-8").rstrip()}\n```'


def _link(found: re.Match[str], here: str, uri: str) -> str:
    """A link as the site has it; ``here`` is the folder in the repository that it is relative to."""
    target, _, anchor = found[2].partition("#")
    if not target or re.match(r"[a-z]+:", target):
        return found[0]
    place = posixpath.normpath(posixpath.join(here, target))
    inside = ROOT_PAGES.get(place) or (place.removeprefix("docs/") if place.startswith("docs/") else None)
    if inside is None:  # a file that the site does not have, such as a tool
        return found[1] if "`" in found[1] else f"`{place}`"
    if inside.endswith(".ipynb") and not found[1].startswith("Download"):
        inside = inside.replace(".ipynb", ".md")  # a notebook is also a page
    relative = posixpath.relpath(inside, posixpath.dirname(uri) or ".")
    return f"[{found[1]}]({relative}{'#' + anchor if anchor else ''})"


def on_page_content(html: str, **_: Any) -> str:
    """Draw formulas, and show names in docstrings as code, without the roles of another format."""
    return re.sub(r":(?:class|func|meth|mod):(?=<code>)", "", formulas.render(html))


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Refuse a page that would load something from elsewhere: the site has to work without a network."""
    loaded = re.findall(r'(?:src|data)="(https?:[^"]+)"|<link[^>]+href="(https?:[^"]+)"', output)
    if loaded:
        raise PluginError(f"{page.file.src_uri} loads {loaded[0][0] or loaded[0][1]}: put it into docs/")
    return output
