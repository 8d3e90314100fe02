"""Folds over tables: the same bits for any batches, threads and order, and no answer from a table that changes."""

from __future__ import annotations

import threading
import weakref
from fractions import Fraction

import numpy as np
import pytest

from sottovoce.data import fold
from sottovoce.data.rows import ArrayRows, Rows
from sottovoce.data.table_rows import TableRows
from sottovoce.errors import InvalidInput
from sottovoce.sums import on_grid

RNG = np.random.default_rng(5)
TABLE = np.column_stack(
    [RNG.normal(size=20_011), RNG.lognormal(0, 3, 20_011), RNG.integers(0, 2, 20_011), RNG.normal(1e9, 1, 20_011)]
)
BETA = np.array([0.3, -1e-16, 2.0, 1e-9])


def cut(size, table=TABLE, backwards=False):
    starts = range(0, len(table), size)
    return lambda: (table[start : start + size] for start in (reversed(starts) if backwards else starts))


def made(rows):
    """What statistics ask for: plain terms, squares about a centre, products, a linear predictor in a function."""
    centre = TABLE[0]

    def logistic(block):
        return 1 / (1 + np.exp(-rows.linear(block, BETA)))[:, None]

    def weighted(block):
        return logistic(block) * block, block

    def same(block):
        centred = block - centre
        return centred, centred

    found = [
        rows.totals(lambda block: on_grid(block, 20)),
        rows.totals(lambda block: on_grid(logistic(block), 50)),
        rows.grams(lambda block: same_grid(*same(block))),
        rows.grams(lambda block: tuple(on_grid(part, 20) for part in weighted(block))),
        rows.largest(),
        [len(rows)],
        rows.needed_units().units,
    ]
    return [repr(np.asarray(part).tolist()) for part in found]


def same_grid(left, right):
    integers = on_grid(left, 20)
    return integers, integers


@pytest.fixture(scope="module")
def whole():
    return made(TableRows(cut(len(TABLE)), 4, threads=1))


def test_the_sums_are_those_of_fractions():
    rows = TableRows(cut(1000), 4)
    exact = [sum(map(Fraction, np.rint(column).tolist())) for column in TABLE.T]
    assert rows.totals(lambda block: on_grid(block, 0)).tolist() == exact
    assert rows.largest().tolist() == np.abs(TABLE).max(axis=0).tolist()
    assert len(rows) == len(TABLE)
    whole = np.rint(TABLE).astype(np.int64).astype(object)
    found = rows.grams(lambda block: same_grid_of(block))
    assert (found == whole.T @ whole).all()


def same_grid_of(block):
    integers = on_grid(block, 0)
    return integers, integers


@pytest.mark.parametrize("size", [1, 7, 1000, len(TABLE)])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_batches_and_threads_do_not_show(whole, size, threads):
    assert made(TableRows(cut(size), 4, threads=threads)) == whole


@pytest.mark.parametrize("rows", [1, 7, 333, 10**6])
def test_blocks_that_terms_are_made_of_do_not_show(whole, rows, monkeypatch):
    """Batches are brought to blocks of one size; here that size is another, as at the ends of partitions."""
    monkeypatch.setattr(fold, "MOST", rows)
    monkeypatch.setattr(fold, "FEWEST", rows)
    table = TABLE if rows > 1 else TABLE[:500]
    expected = whole if rows > 1 else None
    found = made(TableRows(cut(1000, table), 4, threads=2))
    monkeypatch.undo()
    assert found == (expected or made(TableRows(cut(1000, table), 4, threads=1)))


@pytest.mark.parametrize("rows", [ArrayRows(TABLE), TableRows(lambda: iter([TABLE[:5], TABLE[5:]]), TABLE.shape[1])])
def test_several_products_in_one_pass_are_those_of_a_pass_each(rows):
    def pairs(block):
        left, right = on_grid(block[:, :2], 20), on_grid(block[:, 1:], 20)
        return [(left, left), (left, right), (right, left)]

    together, apart = rows.several_grams(pairs), Rows.several_grams(rows, pairs)
    assert [one.tolist() for one in together] == [one.tolist() for one in apart]
    assert together[1].tolist() == together[2].T.tolist()


def test_the_order_of_rows_does_not_show(whole):
    assert made(TableRows(cut(777, backwards=True), 4)) == whole
    assert made(TableRows(cut(777, TABLE[RNG.permutation(len(TABLE))]), 4, threads=2)) == whole


def test_linear_predictors_do_not_depend_on_the_rows_beside():
    """As those by BLAS may, whose order of summation follows the shape."""
    block = RNG.normal(size=(4096, 11))
    beta = RNG.normal(size=11)
    rows = TableRows(lambda: iter([block]), 11)
    alone = np.concatenate([rows.linear(block[k : k + 1], beta) for k in range(len(block))])
    assert rows.linear(block, beta).tobytes() == alone.tobytes()
    assert rows.linear(np.asfortranarray(block), beta).tobytes() == alone.tobytes()
    np.testing.assert_allclose(alone, block @ beta, rtol=0, atol=1e-14)  # 11 terms of size 1, eps each


def test_terms_may_be_counts_of_a_block():
    counts = TableRows(cut(900), 4).totals(lambda block: np.array([[(block[:, 0] < 0).sum(), len(block)]]))
    assert counts.tolist() == [(TABLE[:, 0] < 0).sum(), len(TABLE)]


@pytest.mark.parametrize("threads", [1, 3])
def test_no_rows(threads):
    for blocks in ([], [np.empty((0, 2))], [np.empty((0, 2))] * 3):
        rows = TableRows(lambda blocks=blocks: iter(blocks), 2, threads=threads)
        assert (len(rows), rows.largest().tolist(), rows.totals(lambda block: on_grid(block)).tolist()) == (
            0,
            [0, 0],
            [0, 0],
        )
        assert rows.grams(same_grid_of).tolist() == [[0, 0], [0, 0]]


class Changing:
    """A table that is another one in every pass, as long as there are any."""

    def __init__(self, *tables):
        self.tables = list(tables)

    def __call__(self):
        return iter([self.tables.pop(0) if len(self.tables) > 1 else self.tables[0]])


MORE = np.concatenate([TABLE[:50], TABLE[:1]])
ONE_CELL = TABLE[:50].copy()
ONE_CELL[30, 2] = np.nextafter(ONE_CELL[30, 2], 2)
SWAPPED = TABLE[:50].copy()  # every column has the same cells: only products would tell
SWAPPED[[3, 4], 0] = SWAPPED[[4, 3], 0]
BALANCED = TABLE[:50] + np.array([0, 0, 1, 0]) * ([[1], [-1]] + [[0]] * 48)  # no column sum would tell


@pytest.mark.parametrize(
    ("other", "how"),
    [
        (MORE, "their number is another"),
        (TABLE[:49], "their number is another"),
        (ONE_CELL, "their numbers are others"),
        (SWAPPED, "their numbers are others"),
        (BALANCED, "their numbers are others"),
    ],
)
@pytest.mark.parametrize(
    "ask", [lambda rows: rows.totals(lambda block: on_grid(block, 20)), lambda rows: rows.grams(same_grid_of)]
)
def test_a_table_that_changes_is_refused(other, how, ask):
    rows = TableRows(Changing(TABLE[:50], other), 4)
    assert len(rows) == 50
    with pytest.raises(InvalidInput, match=rf"^the table changed between two passes over its rows: {how}\. Nobody"):
        ask(rows)


def test_a_count_that_is_known_takes_no_pass_and_is_checked():
    rows = TableRows(lambda: pytest.fail("read"), 4, count=50)
    assert len(rows) == 50
    with pytest.raises(InvalidInput, match="the table changed between two passes over its rows: their number"):
        TableRows(cut(10, TABLE[:51]), 4, count=50).largest()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("threads", [1, 2])
def test_cells_that_are_no_numbers_are_refused_and_not_quoted(wrong, threads):
    table = TABLE.copy()
    table[15_000, 2] = wrong
    rows = TableRows(cut(1000, table), 4, threads=threads)
    with pytest.raises(InvalidInput, match=r"missing, infinite or no numbers \(column 2 of what is used"):
        rows.totals(lambda block: on_grid(block[:, :1]))


def test_blocks_of_another_width_are_refused():
    for block in (np.zeros((3, 5)), np.zeros(4), [[1.0] * 4]):
        with pytest.raises(InvalidInput, match=r"must be an array \(rows, 4\); got"):
            len(TableRows(lambda block=block: iter([block]), 4))
    for threads in (0, 1.5, "2"):
        with pytest.raises(InvalidInput, match="threads must be an integer >= 1"):
            TableRows(cut(10), 4, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_source_that_fails_ends_all_threads_with_its_own_error(threads):
    def blocks():
        yield from cut(1000, TABLE[:12_000])()
        raise InvalidInput("the database went away.")

    before = threading.active_count()
    with pytest.raises(InvalidInput, match=r"^the database went away\.$"):
        TableRows(blocks, 4, threads=threads).totals(lambda block: on_grid(block, 20))
    assert threading.active_count() == before


def test_terms_that_fail_stop_the_reading():
    read = []

    def blocks():
        for k in range(1000):
            read.append(k)
            yield TABLE[:8192]

    def fails(block):
        if len(block):
            raise ZeroDivisionError
        return on_grid(block)

    with pytest.raises(ZeroDivisionError):
        TableRows(blocks, 4, threads=2).totals(fails)
    assert len(read) <= 4  # one that failed for each thread, and one that was being read


def test_only_a_few_blocks_are_in_memory():
    """A source whose blocks are counted as long as anybody has them."""
    alive: set[int] = set()
    most = 0

    def blocks():
        nonlocal most
        for k in range(60):
            block = np.ones((8192, 4))
            alive.add(k)
            weakref.finalize(block, alive.discard, k)
            most = max(most, len(alive))
            yield block
            del block

    rows = TableRows(blocks, 4, threads=3)
    assert rows.totals(lambda block: on_grid(block, 0)).tolist() == [60 * 8192] * 4
    assert most <= 3 + 2  # one each, one that is read, one that the generator has not let go of
