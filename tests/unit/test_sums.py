"""Exact sums: integers in a ring, one party's state machine, columns in units, sums of products by limbs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.data.table_rows import TableRows
from sottovoce.errors import InvalidInput, PeerError
from sottovoce.sums import Beyond, IntegerSums, Party, Ring, Traffic, needed_unit, on_grid, summed, whole
from sottovoce.sums import integer_sums as integer_sums_module
from sottovoce.sums.party import EdgePads
from sottovoce.sums.units import decimals_of

INT64 = st.integers(-(2**62) + 1, 2**62 - 1)
NETWORKS = [
    sv.Network.ring(3),
    sv.Network.star(6),
    sv.Network.complete(5),
    sv.Network.random_geometric(12, seed=3),
    sv.Network.from_edges(2, [(0, 1)]),
]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{network.n} nodes, {network.m} edges")
@pytest.mark.parametrize("bits", [3, 64, 256])
def test_sums_are_those_of_pythons_integers_modulo_the_ring(network, bits):
    ring, rng = Ring(bits), np.random.default_rng(bits)
    own = [np.array([int(v) << (bits // 2) for v in rng.integers(-9, 9, 7)], object) for _ in range(network.n)]
    traffic = Traffic()
    total = summed(network, network.spanning_tree(), own, ring, traffic)
    half = 1 << (bits - 1)
    assert total.tolist() == [(int(value) + half) % (1 << bits) - half for value in sum(own)]
    assert traffic.messages == 2 * (network.n - 1)
    assert traffic.bytes == traffic.messages * 7 * ring.width * 8


@given(st.integers(-(2**255), 2**255 - 1), st.integers(-(2**255), 2**255 - 1))
def test_the_ring_adds_and_subtracts_as_integers_do(left, right):
    ring, modulus = Ring(256), 2**256
    words = ring.words([left]), ring.words([right])
    for operation, expected in ((ring.add, left + right), (ring.subtract, left - right)):
        value = ring.integers(operation(*words))[0]
        assert value % modulus == expected % modulus
        assert -(2**255) <= value < 2**255


@pytest.mark.parametrize("bits", [2, 64, 128, 256])
def test_all_parties_are_covered_as_each_by_itself(bits):
    network, ring = NETWORKS[3], Ring(bits)
    own, pads = ring.draw((network.n, 4)), ring.draw((network.m, 4))
    at_once = ring.cover_all(network, own, pads)
    for i in range(network.n):
        signed = [(1 if edge[0] == i else -1, pads[k]) for k, edge in enumerate(network.edges.tolist()) if i in edge]
        assert np.array_equal(ring.cover(own[i], signed), at_once[i])


def test_a_party_writes_down_what_was_said_once():
    ring = Ring(64)
    pads = {name: EdgePads(ring.draw((1,)), ring.draw((1,))) for name in "ab"}
    party = Party(ring, ring.words([5]), pads)
    said = ring.add(ring.words([7]), pads["a"].incoming)
    assert not party.is_ready("b")
    party.receive("a", said)
    assert party.is_ready("b")
    assert not party.is_done
    before = party.outgoing("b")
    party.receive("a", said)
    party.receive("b", ring.add(ring.words([1]), pads["b"].incoming))
    assert np.array_equal(party.outgoing("b"), before)
    assert ring.integers(party.total).tolist() == [13]
    with pytest.raises(PeerError, match="two different things"):
        party.receive("a", ring.add(said, ring.words([1])))
    with pytest.raises(PeerError, match="no neighbour"):
        party.receive("c", said)
    with pytest.raises(PeerError, match="shape"):
        party.receive("b", ring.words([1, 2]))


def test_rings_and_networks_that_cannot_be():
    with pytest.raises(InvalidInput, match="multiple of 64"):
        Ring(96)
    wide = sv.Network.star(2**16 + 1)
    with pytest.raises(InvalidInput, match="at most 65,536 parties"):
        summed(wide, wide.spanning_tree(), [], Ring(64), Traffic())


# Sums of products


@settings(max_examples=60)
@given(st.lists(st.tuples(INT64, INT64, INT64), min_size=1, max_size=9), st.data())
def test_products_by_limbs_are_those_of_pythons_integers(rows, data):
    table = np.array(rows, np.int64)
    weight = np.array(data.draw(st.lists(INT64, min_size=len(rows), max_size=len(rows))), np.int64)
    exact = table.astype(object)
    for left, weights in ((table, None), (table[:, :2], None), (table, weight)):
        sums = IntegerSums((left.shape[1], 3))
        sums.add_products(left, table, weights)
        factor = 1 if weights is None else weights.astype(object)[:, None]
        assert (sums.value() == (left.astype(object) * factor).T @ exact).all()
    terms = IntegerSums(3)
    terms.add(table)
    assert (terms.value() == exact.sum(axis=0)).all()


def test_products_of_integers_beyond_int64():
    table = np.array([[2**100, -3], [5, 2**90 + 1]], object)
    sums = IntegerSums((2, 2))
    sums.add_products(table, table)
    assert (sums.value() == table.T @ table).all()


def test_sums_are_flushed_before_they_overflow(monkeypatch):
    monkeypatch.setattr(integer_sums_module, "CHUNKS", 2)
    monkeypatch.setattr(integer_sums_module, "ROWS", 3)
    table = np.random.default_rng(0).integers(-(2**61), 2**61, (50, 4))
    sums, terms = IntegerSums((4, 4)), IntegerSums(4)
    sums.add_products(table, table)
    terms.add(table)
    exact = table.astype(object)
    assert (sums.value() == exact.T @ exact).all()
    assert (terms.value() == exact.sum(axis=0)).all()


@pytest.mark.parametrize("value", [2**60 - 1, -(2**60) + 1, 2**59 - 1, -(2**59), -(2**62) + 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_full_chunks_of_the_largest_limbs_are_exact(value, order):
    """The largest limbs in all places, in whole chunks, and as many of them as are added up before Python's integers
    take over: the largest sums that float64 and int64 have to hold."""
    rows, times = integer_sums_module.ROWS, integer_sums_module.CHUNKS // 3
    table = np.full((rows, 2), value, np.int64, order=order)
    sums, weighted, terms = IntegerSums((2, 2)), IntegerSums((2, 2)), IntegerSums(2)
    for _ in range(times):
        sums.add_products(table, table)
        terms.add(table)
    weighted.add_products(table, table, table[:, 0])
    assert (sums.value() == times * rows * value**2).all()
    assert (terms.value() == times * rows * value).all()
    assert (weighted.value() == rows * value**3).all()


@pytest.mark.parametrize("shape", [(0, 3, 2), (5, 0, 2), (5, 3, 0)])
def test_sums_without_rows_or_columns_are_empty_or_0(shape):
    rows, p, q = shape
    left, right = np.full((rows, p), 2**50), np.full((rows, q), 2**50)
    for weight in (None, np.full(rows, 2**50)):
        sums = IntegerSums((p, q))
        sums.add_products(left, right, weight)
        assert sums.value().tolist() == [[0] * q] * p


def test_rows_of_arrays_and_of_tables_have_the_same_totals():
    rng = np.random.default_rng(1)
    array = rng.integers(-1000, 1000, (20_001, 3)) / 8
    blocks = np.array_split(array, 7)
    tables = [ArrayRows(array), *(TableRows(lambda: iter(blocks), 3, threads=threads) for threads in (1, 3))]

    def sides(block):
        z = whole(block, [Fraction(1, 8)] * 3)
        return z, z[:, :2], z[:, 2]

    exact = (array * 8).astype(np.int64).astype(object)
    for rows in tables:
        assert (rows.totals(lambda block: on_grid(block)) == exact.sum(axis=0) * 2**37).all()
        assert (rows.grams(sides) == (exact * exact[:, 2:]).T @ exact[:, :2]).all()


# Units


@given(st.lists(st.decimals(-1000, 1000, places=4), min_size=1, max_size=5))
def test_decimals_become_the_integers_that_they_are(decimals):
    values = np.array([[float(value)] for value in decimals])
    assert whole(values, [Fraction(1, 10**4)])[:, 0].tolist() == [int(value * 10**4) for value in decimals]
    assert decimals_of(values[:, 0]) <= 4
    assert (1 / needed_unit(values[:, 0])).denominator == 1


@given(st.floats(1e-3, 1.0), st.sampled_from([14, 15, 16, 17]))
def test_the_nearest_multiple_is_right_beyond_the_digits_of_float64(value, digits):
    unit = Fraction(1, 10**digits)
    assert whole(np.array([[value]]), [unit])[0, 0] == round(Fraction(value) / unit)


def test_units_that_values_need():
    assert needed_unit(np.array([3.0, 120.0, 0.0])) == 1
    assert needed_unit(np.array([0.25, 7.5])) == Fraction(1, 100)
    assert needed_unit(np.array([np.pi, 25.0])) == Fraction(1, 10**15)
    assert needed_unit(np.array([1e-30 * np.pi])) == Fraction(1, 10**46)
    assert needed_unit(np.array([])) == 1
    assert whole(np.array([[1e-30 * np.pi]]), [Fraction(1, 10**46)])[0, 0] == round(Fraction(1e-30 * np.pi) * 10**46)
    assert whole(np.array([[1.5e9]]), [Fraction(1000)])[0, 0] == 1_500_000


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e30])
def test_numbers_beyond_the_window(value):
    for convert in (on_grid, lambda values: whole(values[:, None], [Fraction(1, 10)]), needed_unit):
        if convert is needed_unit and np.isfinite(value):
            continue
        with pytest.raises(Beyond):
            convert(np.array([1.0, value]))
