"""The site: every program of the gallery runs, every public name and command has its place."""

from __future__ import annotations

import inspect
import json
import re
import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_faults import faults, kept
from typer.testing import CliRunner

import sottovoce
from sottovoce import baselines, errors, privacy, runtime, statistics
from sottovoce.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = sorted((DOCS / "gallery").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_programs_of_the_gallery_draw_their_picture(program, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    assert len(program.read_text().splitlines()) < 40
    figures = kept(monkeypatch)
    runpy.run_path(str(program), run_name="__main__")
    assert faults(figures[0]) == []  # of an animation the frames follow
    pyplot.close("all")
    assert 0 < (tmp_path / f"{program.stem}.png").stat().st_size < 60_000


def test_pictures_of_the_readme_the_glossary_and_the_guides_can_be_read(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    figures: list[Any] = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    drawn = runpy.run_path(str(DOCS / "pictures.py"), run_name="pictures")
    with matplotlib.rc_context():
        drawn["main"]()
        drawn["message"]()
        drawn["overlays"]()
        assert [faults(figure) for figure in figures] == [[], [], []]
    matplotlib.pyplot.close("all")


def test_the_gallery_shows_every_program():
    page = (DOCS / "gallery" / "index.md").read_text()
    assert re.findall(r"literalinclude} (\w+)\.py", page) == re.findall(r"images/gallery/(\w+)\.png", page)
    assert {program.stem for program in PROGRAMS} == set(re.findall(r"literalinclude} (\w+)\.py", page))


def listed() -> list[str]:
    """The names on the pages of the API, each of which gets a page of its own."""
    pages = "".join(page.read_text() for page in sorted((DOCS / "reference" / "api").glob("*.md")))
    return [name for block in re.findall(r":nosignatures:\n\n(.*?)```", pages, re.DOTALL) for name in block.split()]


def test_every_public_name_has_a_page():
    modules = (sottovoce, baselines, privacy, privacy.research, runtime)
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    public |= {f"sottovoce.statistics.{name}" for name in statistics.__all__ if name[0].isupper()}
    raised = inspect.getmembers(errors, lambda member: inspect.isclass(member) and issubclass(member, Exception))
    public |= {f"sottovoce.errors.{name}" for name, _ in raised if not name.startswith("_")}
    assert public - set(listed()) == set()


def test_no_name_has_two_pages_and_each_exists():
    names = listed()
    assert len(names) == len(set(names))
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(__import__(module, fromlist=[attribute]), attribute), name


def test_every_command_is_on_its_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import command_line

    page = command_line.PAGE.read_text()
    assert sorted(re.findall(r"commands/sottovoce (\w+)\.txt", page)) == sorted(command_line.commands())
    assert command_line.says("node").startswith("Usage: sottovoce node")


def test_the_problem_file_of_the_tutorial_is_solved(tmp_path, monkeypatch):
    """Its Python blocks write the CSV files, and the fit that they end with is what the command finds."""
    page = (DOCS / "tutorials" / "from-csv.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)), names)
    (tmp_path / "problem.toml").write_text(re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0])
    done = CliRunner().invoke(app, ["solve", "problem.toml", "--json"])
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)["answer"]
    assert answer["params"] == names["fit"].params.tolist()


def cited(pages: Iterable[Path]) -> Iterator[tuple[Path, str, str]]:
    for page in pages:
        for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text()):
            yield page, file, name


def test_tests_that_pages_name_are_there():
    found = list(cited(DOCS.rglob("*.md")))
    assert len(found) > 50
    for page, file, name in found:
        path = DOCS.parent / file
        assert path.exists(), f"{page.name}: {file}"
        assert not name or f"def {name}(" in path.read_text(), f"{page.name}: {file}::{name}"


def test_the_readme_is_short_and_the_version_is_one():
    assert len((DOCS.parent / "README.md").read_text().splitlines()) <= 120
    for file, line in (("CITATION.cff", "version: {}"), ("pyproject.toml", 'version = "{}"')):
        assert line.format(sottovoce.__version__) in (DOCS.parent / file).read_text().splitlines()


SOURCES = sorted(path for folder in ("src", "tests", "benchmarks") for path in (DOCS.parent / folder).rglob("*.py"))
SOURCES = [path for path in SOURCES if DOCS.parent / "benchmarks" / "build" not in path.parents]  # others' packages


@pytest.mark.parametrize("page", ["theory", "engine"])
def test_sections_that_the_code_cites_are_there(page):
    """``theory: Open channels`` is a section of docs/explanation/theory.md, whatever punctuation follows."""
    text = (DOCS / "explanation" / f"{page}.md").read_text()
    sections = set(re.findall(r"^##+ (.*)$", text, re.MULTILINE))
    found = set()
    for path in SOURCES:
        for title in re.findall(rf"\b{page}: (?!Engine\b)([A-Z][\w ]*)", path.read_text()):  # not the type Engine
            known = [section for section in sections if title == section or title.startswith(f"{section} ")]
            assert known, f"{path.name}: {page}: {title}"
            found |= set(known)
    assert found
    assert not any(f"{page.upper()} {k}" in path.read_text() for path in SOURCES for k in range(9))


def test_pages_that_the_code_names_are_there():
    files = [path for kind in ("py", "toml", "json") for path in (DOCS.parent / "src").rglob(f"*.{kind}")]
    found = {(path.name, page) for path in files for page in re.findall(r"docs/[\w/-]+\.md", path.read_text())}
    assert len(found) > 10
    assert [(name, page) for name, page in sorted(found) if not (DOCS.parent / page).exists()] == []
