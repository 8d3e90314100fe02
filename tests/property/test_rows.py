"""Costs of rows: parties with any numbers of rows, in one batch and one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.costs import Hinge, Logistic

families = pytest.mark.parametrize("family", [Logistic, Hinge])


def party(family: Any, rng: np.random.Generator, rows: int, d: int) -> Any:
    return family(rng.normal(size=(rows, d)), rng.integers(0, 2, rows), rng.exponential())


@families
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), rows=st.lists(st.integers(0, 12), min_size=1, max_size=6), d=st.integers(1, 15))
def test_a_batch_of_unequal_parties_is_its_parties(family: Any, seed: int, rows: list[int], d: int) -> None:
    rng = np.random.default_rng(seed)
    parties = [party(family, rng, m, d) for m in rows]
    batch = family.join(parties)
    g, rho = rng.normal(size=(2, len(rows), d)), rng.exponential(size=len(rows)) + 0.1
    x, values = batch.step(g, rho), batch.value(g)
    for i, f in enumerate(parties):
        np.testing.assert_array_equal(x[:, i], f.step(g[:, i : i + 1], rho[i : i + 1])[:, 0])
        np.testing.assert_array_equal(values[:, i], f.value(g[:, i : i + 1])[:, 0])
        np.testing.assert_array_equal(batch.take(slice(i, i + 1)).A, f.A)
        if family is Logistic:
            np.testing.assert_array_equal(batch.hessian(g[0])[i], f.hessian(g[0, i : i + 1])[0])
    assert batch.sizes[1] == max(f.sizes[1] for f in parties)
    largest = [f.sizes[0] for f in parties if f.sizes[0] > 0]
    assert batch.sizes[0] == min(largest, default=0.0)
    chosen = rng.integers(0, len(rows), size=4)
    np.testing.assert_array_equal(batch.take(chosen).step(g[:, chosen], rho[chosen]), x[:, chosen])


@families
def test_one_long_party_does_not_lengthen_the_others(family: Any) -> None:
    rng = np.random.default_rng(0)
    costs = [party(family, rng, m, 4) for m in (20_000, *[5] * 99)]
    problem = sv.Problem(sv.Network.ring(100), costs)
    (_, batch), *others = problem.groups
    assert not others
    assert batch.A.nbytes == sum(f.A.nbytes for f in costs)
