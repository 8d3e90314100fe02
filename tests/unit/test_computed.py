"""Pages that are computed as the site is built: their programs run, their pictures can be read, and no result is typed
by hand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from picture_faults import faults, kept

DOCS = Path(__file__).parents[2] / "docs"
STUDY = DOCS / "tutorials" / "multi-centre-study.md"
RUN = "```python\nprint({})\n```\n"


@pytest.fixture
def site(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    import computed

    yield computed
    sys.modules.pop("computed", None)


def test_what_is_printed_takes_the_place_of_the_mark(site):
    code = RUN.format("6 * 7")
    text = site.computed(f"before\n\n{code}<!-- printed -->\nafter\n", "page.md")
    assert text == f"before\n\n{code}```text\n42\n```\nafter\n"


def test_blocks_are_one_program_and_marks_take_what_is_new(site):
    first, second = "```python\nx = 6\nprint(x)\n```\n", RUN.format("x * 7")
    text = site.computed(
        f"{first}{second}<!-- printed as Markdown -->\n{second}<!-- printed as Markdown -->\n", "page.md"
    )
    assert text == f"{first}{second}6\n42\n{second}42\n"


@pytest.mark.parametrize("code", ["1 / 0", "assert 1 == 2", "raise SystemExit('stop')", "not Python"])
def test_a_block_that_fails_ends_the_build(site, code):
    with pytest.raises(site.NotComputed, match=r"page\.md, block at line 3: \w+: ") as failed:
        site.computed(f"words\n\n```python\n{code}\n```\n<!-- printed -->\n", "page.md")
    assert failed.value.__cause__ is not None


def test_a_traceback_has_the_line_of_the_page(site):
    with pytest.raises(site.NotComputed) as failed:
        site.computed("words\n\n```python\n1 / 0\n```\n", "page.md")
    assert failed.value.__cause__.__traceback__.tb_next.tb_lineno == 4


def test_a_mark_without_anything_printed_ends_the_build(site):
    with pytest.raises(site.NotComputed, match=r"page\.md, line 5: nothing was printed"):
        site.computed("words\n```python\nx = 1\n```\n<!-- printed -->\n", "page.md")


def test_the_site_computes_pages_with_marks_alone_and_keeps_their_pictures(site, tmp_path, monkeypatch):
    monkeypatch.setattr(site, "HERE", tmp_path)
    (tmp_path / "images").mkdir()
    plain = [RUN.format("6 * 7")]
    site.fill(None, "guides/plain", plain)
    assert plain == [RUN.format("6 * 7")]
    marked = ["```python\nprint(open('own.png', 'w').write('drawn'))\n```\n<!-- printed -->\n"]
    site.fill(None, "guides/marked", marked)
    assert "```text\n5\n```" in marked[0]
    assert [path.name for path in (tmp_path / "images").rglob("*.png")] == ["own.png"]
    assert (tmp_path / "images" / "marked" / "own.png").exists()


def test_the_study_in_the_documentation_runs(site, tmp_path, monkeypatch):
    """What it asserts holds: the same as statsmodels and lifelines on pooled rows, and at every party of a network."""
    monkeypatch.chdir(tmp_path)
    figures = kept(monkeypatch)
    source = STUDY.read_text()
    page = site.computed(source, STUDY.name)
    assert [faults(figure) for figure in figures] == [[] for _ in figures]
    pictures = re.findall(r"images/multi-centre-study/(\w+\.png)", source)
    assert {path.name for path in tmp_path.glob("*.png")} == set(pictures)
    assert site.MARK not in page
    ledger = re.findall(r"^\| ([\w -]+?) \| (\d+) \|", page, re.MULTILINE)  # of the appendix
    assert [name for name, _ in ledger] == [
        "flow chart", "Table 1", "Kaplan-Meier", "log-rank", "logistic regression", "ROC", "calibration", "Cox",
    ]  # fmt: skip


def test_the_study_has_no_result_in_its_source():
    """Numbers in its words are those of public choices, and those in its code are no estimates."""
    source = STUDY.read_text()
    blocks = r"^```\w+\n.*?^```\n"
    words = re.sub(r"^    .*$|\]\([^)]*\)", "", re.sub(blocks, "", source, flags=re.DOTALL | re.MULTILINE), flags=re.M)
    assert set(re.findall(r"\d[\d.,]*\d|\d", words)) <= {"1", "95", "0.01"}  # Table 1; 95 %; 0.01 nats are 1 %
    code = "".join(re.findall(blocks, source, re.DOTALL | re.MULTILINE))
    assert set(re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", code)) <= {"0.0", "0.001", "0.01", "0.1"}  # of an error
    assert not re.search(r"\d{3,}", re.sub(r"\b(0\.001|127\.0\.0\.1|360|361|1000|120)\b", "", code))
