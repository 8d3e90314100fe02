"""What the ledger refuses: against all vectors of a span, in rational arithmetic; and what a file of it survives."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sottovoce.data.identities import BY_COLUMN
from sottovoce.errors import PolicyError
from sottovoce.statistics.policy import span
from sottovoce.statistics.policy.ledger import Ledger, Release, opened, read
from sottovoce.statistics.policy.span import Isolates, isolates, surely_not


def rank(rows: list[list[Fraction]]) -> int:
    """Over the rationals."""
    rows, found = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in rows[found:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(found, pivot)
        for k in range(found + 1, len(rows)):
            factor = rows[k][column] / pivot[column]
            rows[k] = [a - factor * b for a, b in zip(rows[k], pivot, strict=True)]
        found += 1
    return found


def by_force(old: np.ndarray, new: np.ndarray, weights: np.ndarray, least: int, groups: np.ndarray) -> bool:
    """For every set of groups that weighs too little: is there a combination with ``new`` in it that is zero elsewhere,
    and not zero everywhere?"""
    every = [[Fraction(int(x)) for x in row] for row in np.vstack([old, new])]
    if rank(every) == rank(every[:-1]):
        return False
    units = range(len(weights))
    for size in range(1, len(weights) + 1):
        for few in combinations(units, size):
            if weights[list(few)].sum() >= least:
                continue
            rest = groups[[g for g in units if g not in few]].any(axis=0)
            there = [[x for x, kept in zip(row, rest, strict=True) if kept] for row in every]
            if rank(there) == rank(there[:-1]):  # outside of them it is what the others make
                return True
    return False


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "persons"])
def test_as_all_vectors_of_the_span(grouped: bool) -> None:
    rng = np.random.default_rng(11)
    seen = {True: 0, False: 0}
    for _ in range(250):
        atoms, k = int(rng.integers(2, 8)), int(rng.integers(0, 5))
        old, new = rng.integers(0, 2, (k, atoms)), rng.integers(0, 2, atoms)
        groups = rng.integers(0, 2, (int(rng.integers(1, 7)), atoms)).astype(bool) if grouped else np.eye(atoms) > 0
        groups = np.vstack([groups, np.eye(atoms)[~groups.any(axis=0)] > 0])  # every atom is somebody's
        weights, least = rng.integers(1, 5, len(groups)), int(rng.integers(1, 8))
        expected = by_force(old, new, weights, least, groups)
        found = isolates(old, new, weights, least, groups if grouped else None)
        assert found is (Isolates.YES if expected else Isolates.NO), (old, new, weights, least, groups)
        seen[expected] += 1
    assert min(seen.values()) > 40


def of(*sets: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indicators of sets of rows that letters stand for; the last is the new one."""
    rows = sorted(set("".join(sets)))
    matrix = np.array([[int(row in each) for row in rows] for each in sets])
    return matrix[:-1], matrix[-1], np.ones(len(rows), np.int64)


def test_two_sets_that_differ_in_a_row() -> None:
    assert isolates(*of("abcdef", "abcdefg"), 2) is Isolates.YES
    assert isolates(*of("abcdef", "abcdefgh"), 2) is Isolates.NO
    assert isolates(*of("abcdef", "abcdef"), 7) is Isolates.NO  # the same again tells nothing new
    assert isolates(*of("ab"), 3) is Isolates.YES
    assert isolates(*of("abc"), 3) is Isolates.NO


def test_three_sets_of_which_no_two_tell() -> None:
    """1_ab + 1_bc - 1_ac is twice one row. Every two of them differ in two."""
    many = "stuvwxyz"
    sets = f"ab{many}", f"bc{many}", f"ac{many}"
    for one, other in combinations(sets, 2):
        assert isolates(*of(one, other), 2) is Isolates.NO
    assert isolates(*of(*sets), 2) is Isolates.NO  # many is in all three: a half of it is always left
    whole = ("pqrstuvwxyz", "abpqrstuvwxyz", "bcpqrstuvwxyz", "acpqrstuvwxyz")
    assert isolates(*of(*whole[:3]), 2) is Isolates.NO
    assert isolates(*of(*whole), 2) is Isolates.YES
    disjoint = ("pqr", "stu", "pqrstux")
    for one, other in combinations(disjoint, 2):
        assert isolates(*of(one, other), 2) is Isolates.NO
    assert isolates(*of(*disjoint), 2) is Isolates.YES


def test_what_takes_too_long_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small atoms that move independently, and rows that no combination singles out."""
    old = np.hstack([np.eye(12, dtype=np.int64)] * 3 + [np.eye(12, dtype=np.int64)[::-1]])
    new, weights = np.ones(48, np.int64), np.full(48, 2)
    new[[5, 17, 29]] = 0
    assert isolates(old, new, weights, 7) is not Isolates.PERHAPS
    monkeypatch.setattr(span, "STEPS", 3)
    assert isolates(old, new, weights, 7) is Isolates.PERHAPS


def test_some_atoms_are_enough_to_see_that_nothing_is_told(rng: np.random.Generator) -> None:
    """Never said of what is isolated; and said, mostly, of what is not."""
    said = 0
    for _ in range(200):
        atoms, k, least = int(rng.integers(2, 12)), int(rng.integers(0, 4)), int(rng.integers(1, 6))
        old, new, weights = rng.integers(0, 2, (k, atoms)), rng.integers(0, 2, atoms), rng.integers(1, 9, atoms)
        if surely_not(old, new, weights, least):
            assert isolates(old, new, weights, least) is Isolates.NO
            said += 1
    assert said > 60


# The file


def words(*names: int) -> np.ndarray:
    return np.array(names, np.uint64) * np.uint64(0x1234567)


def of_run(name: str, kind: str = "mean") -> Release:
    return Release(name, name, kind, ("age",), 0, 1, np.empty(0, np.int64))


def test_what_is_recorded(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.entries() == []
    assert ledger.verdict(of_run("a"), words(1, 2, 3)).startswith("It is release 1 of the ledger; no combination")
    assert not ledger.path.exists()  # to look is not to release
    ledger.record(of_run("a"), words(1, 2, 3, 3))
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert "release 1 of the ledger, which has it already" in ledger.record(of_run("a"), words(3, 2, 1, 3))
    assert "release 2 of the ledger, on the same rows as an earlier one" in ledger.record(
        of_run("b", "variance"), words(1, 2, 3, 3)
    )
    said = ledger.record(of_run("c"), words(11, 12, 13))
    assert "No row is in common with any release before" in said
    assert "cannot check weights" in said
    entries = ledger.entries()
    assert [(entry["run"], entry["type"], entry["columns"], entry["rows"]) for entry in entries] == [
        ("a", "mean", ["age"], 4), ("b", "variance", ["age"], 4), ("c", "mean", ["age"], 3)
    ]  # fmt: skip
    assert len({entry["set"] for entry in entries}) == 2
    kept = sqlite3.connect(ledger.path).execute("SELECT name FROM blobs WHERE name LIKE 'set/%'").fetchall()
    assert len(kept) == 2  # each set of rows once


def test_what_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.record(of_run("all"), words(*range(1, 9)))
    for rows in (range(1, 8), range(1, 10), range(2, 10)):  # one less, one more, one for another
        with pytest.raises(PolicyError, match=r"release 1 in .* differ in fewer than 3 rows"):
            ledger.record(of_run("again"), words(*rows))
    with pytest.raises(PolicyError, match="the analysis is of fewer than 3 rows"):
        ledger.record(of_run("few"), words(21, 22))
    assert len(ledger.entries()) == 1
    ledger.record(of_run("five"), words(*range(1, 6)))  # three less
    ledger.record(of_run("nobody"), words())
    with pytest.raises(PolicyError, match=r"a combination of it and the 3 releases in .* tells of fewer than 3 rows"):
        ledger.record(of_run("rest"), words(6, 7, 8, 9, 10))  # with all - five it tells of 9 and 10
    with pytest.raises(PolicyError, match=r"max_runs: the ledger .* has 3 releases, and 3 are allowed"):
        Ledger(ledger.path, most=3).record(of_run("more"), words(*range(30, 40)))
    assert "has it already" in Ledger(ledger.path, most=3).record(of_run("all"), words(*range(1, 9)))


def test_rows_that_are_the_same_are_told_by_their_number(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite", least=2)
    ledger.record(of_run("a"), words(1, 1, 1, 2))
    with pytest.raises(PolicyError, match="differ in fewer than 2 rows"):
        ledger.record(of_run("b"), words(1, 1, 2))
    ledger.record(of_run("c"), words(1, 2))


def test_somebody_with_several_rows_is_one(tmp_path: Path) -> None:
    """Without an id five rows are five; with one they are those of one person, whom the difference tells of."""
    persons = words(1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7)
    rows = Ledger(tmp_path / "rows.sqlite")
    rows.record(of_run("all"), persons)
    rows.record(of_run("but 7"), persons[:6])
    by = Ledger(tmp_path / "persons.sqlite")
    by.record(of_run("all"), persons | BY_COLUMN)
    with pytest.raises(PolicyError, match="a combination of it and the release in"):
        by.record(of_run("but 7"), persons[:6] | BY_COLUMN)
    by.record(of_run("but three"), persons[:4] | BY_COLUMN)


@pytest.mark.parametrize("what", ["a bit", "the end", "all", "a row", "text"])
def test_a_ledger_that_is_damaged_refuses_everything(tmp_path: Path, what: str) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.record(of_run("a"), words(1, 2, 3))
    content = bytearray(ledger.path.read_bytes())
    if what == "a row":
        with sqlite3.connect(ledger.path) as database:
            database.execute("DELETE FROM blobs WHERE name LIKE 'entry/%'")
        database.close()
    else:
        content[content.index(b'"rows": 3') + 9] ^= 1
        text = {"a bit": bytes(content), "the end": bytes(content[:-100]), "all": b"", "text": b"0" * 8192}[what]
        ledger.path.write_bytes(text)
    for ask in (ledger.record, ledger.verdict):
        with pytest.raises(PolicyError, match="the ledger is damaged"):
            ask(of_run("b"), words(*range(20, 30)))


def test_two_that_record_at_once_do_not_overlook_each_other(tmp_path: Path) -> None:
    ledger, every = Ledger(tmp_path / "ledger.sqlite"), range(1, 9)

    def one(left_out: int) -> str:
        try:
            return ledger.record(of_run(f"without {left_out}"), words(*(k for k in every if k != left_out)))
        except PolicyError as error:
            return f"refused: {error}"

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(one, every))
    assert sum(not text.startswith("refused") for text in said) == 1
    assert len(ledger.entries()) == 1


def test_killed_while_it_writes(tmp_path: Path) -> None:
    """The release is there whole, or not at all, and what was there before is."""
    program = (
        "import os, sqlite3, sys\nimport numpy as np\nfrom pathlib import Path\n"
        "from sottovoce.statistics.policy import ledger as file\n"
        "from sottovoce.statistics.policy.ledger import Ledger, Release\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "def record(name, first): ledger.record(Release(name, name, 'mean', (), 0, 1, np.empty(0, int)),"
        " np.arange(first, first + 5000, dtype=np.uint64))\n"
        "record('a', 0)\n"
        "class Book(file.Book):\n"
        "    def add(self, blobs):\n"
        "        super().add(blobs)\n"
        "        os.kill(os.getpid(), 9)\n"
        "file.Book = Book\n"
        "record('b', 10000)\n"
    )
    path = tmp_path / "ledger.sqlite"
    done = subprocess.run([sys.executable, "-c", program, str(path)])
    assert done.returncode == -9
    assert [entry["run"] for entry in Ledger(path).entries()] == ["a"]
    Ledger(path).record(of_run("b"), np.arange(10_000, 15_000, dtype=np.uint64))


def test_a_ledger_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with opened(path):
        pass
    for mode in (0o640, 0o602, 0o666):
        path.chmod(mode)
        for look in (lambda: read(path), lambda: opened(path).__enter__()):
            with pytest.raises(PolicyError, match="others may read or write the ledger"):
                look()
    path.chmod(0o600)
    assert read(path) is not None
