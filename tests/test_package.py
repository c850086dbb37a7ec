"""What is published: metadata that agree with each other, and a wheel that works without a compiler."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ramify as rf
from tests.children import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LIGHT = {"filelock", "numpy", "pydantic", "rich", "typer"}


def yaml_of(name: str) -> Any:
    return pytest.importorskip("yaml").safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_package_alone_is_light() -> None:
    """A new dependency of everybody is a decision: torch, databases and other libraries are extras."""
    assert {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["dependencies"]} == LIGHT  # type: ignore[index]


def test_versions_agree() -> None:
    assert yaml_of("CITATION.cff")["version"] == rf.__version__


def test_wheels_are_for_the_pythons_that_are_supported() -> None:
    stated = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["project"]["requires-python"])
    assert stated
    minors = range(int(stated[1]), int(stated[2]))
    assert PROJECT["tool"]["cibuildwheel"]["build"].split() == [f"cp3{minor}-*" for minor in minors]
    listed = [line for line in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert listed == [f"Programming Language :: Python :: 3.{minor}" for minor in minors]
    tried = yaml_of(".github/workflows/wheels.yml")["jobs"]["empty-environment"]["strategy"]["matrix"]["python"]
    assert tried == [f"3.{minor}" for minor in minors]


def test_wheels_are_built_for_every_processor_that_is_configured() -> None:
    settings = PROJECT["tool"]["cibuildwheel"]
    wanted = {arch for system in ("linux", "macos", "windows") for arch in settings[system]["archs"]}
    jobs = yaml_of(".github/workflows/wheels.yml")["jobs"]
    assert {entry["archs"] for entry in jobs["wheels"]["strategy"]["matrix"]["include"]} == wanted


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_forms_of_issues_are_sound(name: str) -> None:
    form = yaml_of(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    assert all(part["attributes"]["label"] for part in form["body"])
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("page", ["SECURITY.md", "CODE_OF_CONDUCT.md", "docs/adapters.md", "docs/plugins.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http")]
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    """As `make package`: the wheel is built from the source distribution, which is therefore complete."""
    for tool in ("build", "twine"):
        pytest.importorskip(tool, reason="needs ramify[package]")
    for arguments in (
        ["build", "--no-isolation", "--outdir", tmp_path, ROOT],
        ["twine", "check", "--strict", *(tmp_path / name for name in ("*.whl", "*.tar.gz"))],
    ):
        subprocess.run([sys.executable, "-m", *arguments], check=True, timeout=1800, cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "tools.try_wheel", wheel], check=True, timeout=600, cwd=ROOT)
