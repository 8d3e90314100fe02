"""Bases that a user may subclass: a mask and a recorder of one's own. Costs: test_from_gradient.py, and docs/guides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput


class LaplaceMask(sv.masks.Mask):
    def quantile(self, p):
        return stats.laplace.ppf(p) / np.sqrt(2)


class Spread(sv.recorders.Recorder):
    name = "spread"

    def __call__(self, run):
        return float(np.ptp(run.x))


def test_homes_hold_the_flat_names():
    for home in (sv.costs, sv.masks, sv.recorders, sv.schedules, sv.statistics):
        assert sorted(home.__all__) == list(home.__all__)
        for name in set(home.__all__) & set(sv.__all__):
            assert getattr(sv, name) is getattr(home, name)
    assert {"Mask", "ModularMask"} <= set(sv.masks.__all__)
    assert sv.masks.ModularMask is sv.ModularMask
    assert not hasattr(sv, "Error")
    with pytest.raises(AttributeError, match="no attribute 'Modular'"):
        _ = sv.masks.Modular


@pytest.mark.parametrize("seed", [None, 3])
def test_a_mask_of_ones_own_draws_what_it_says(seed):
    pads = LaplaceMask(9.0).draw((100_000,), seed)
    # The secret sample differs from run to run: a threshold that chance passes once in 1e9 runs.
    assert stats.kstest(pads, "laplace", args=(0, 3 / np.sqrt(2))).pvalue > 1e-9
    np.testing.assert_array_equal(pads / LaplaceMask(9.0).grid % 1, 0)
    assert np.array_equal(pads, LaplaceMask(9.0).draw((100_000,), seed)) == (seed is not None)


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_extreme_bits_give_probabilities_within(monkeypatch, byte):
    monkeypatch.setattr("sottovoce.pdmm.masks.os.urandom", lambda count: byte * count)
    assert np.isfinite(LaplaceMask(1.0).draw((3,))).all()


@pytest.mark.parametrize("costs", [sv.Averaging, sv.Huber], ids=["collapsed", "plain"])
def test_a_mask_of_ones_own_solves(costs):
    network, s = sv.Network.ring(5), np.array([1.0, 2, 3, 4, 10])
    problem = sv.Problem(network, [costs(value) for value in s])
    plain = sv.solve(problem, c=0.5)
    result = sv.solve(problem, c=0.5, mask=LaplaceMask(1e6), schedule=sv.Asynchronous(), theta=0.9)
    assert (result.status, result.secret, result.hidden) == (sv.Status.CONVERGED, True, True)
    np.testing.assert_allclose(result.x, plain.x, atol=1e-6)
    first = next(sv.iterate(problem, c=0.5, mask=LaplaceMask(1e6), seed=1))
    assert np.abs(first.z).max() > 100


def test_a_mask_of_ones_own_is_not_certified():
    problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    with pytest.raises(InvalidInput, match="mask must be a mask such as"):
        sv.privacy.audit(problem, mask=LaplaceMask(1e6), c=0.5)


@pytest.mark.parametrize(
    ("quantile", "sentence"),
    [
        (None, "Bad must define quantile"),
        (lambda self, p: 0.0, "Bad: quantile.* must return a finite number for every p"),
        (lambda self, p: p[:1], "must return a finite number for every p"),
        (lambda self, p: np.where(p < 0.5, -np.inf, 1.0), "must return a finite number for every p"),
    ],
)
def test_masks_that_are_refused(quantile, sentence):
    Bad = type("Bad", (sv.masks.Mask,), {"quantile": quantile} if quantile else {})
    with pytest.raises(InvalidInput, match=sentence):
        sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), mask=Bad(1e4), c=0.5)
    with pytest.raises(InvalidInput, match="variance must be a positive number"):
        LaplaceMask(-1.0)


def test_a_recorder_of_ones_own_is_called():
    problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    for engine in ("reference", "compiled"):
        arguments = {"c": 0.5, "tol": 0, "engine": engine}
        history = sv.solve(problem, max_iter=9, record=[Spread()], record_every=3, **arguments).history
        assert history["iteration"].tolist() == [0, 3, 6, 9]
        assert history["spread"].tolist() == [
            0.0,
            *(float(np.ptp(sv.solve(problem, max_iter=k, **arguments).x)) for k in (3, 6, 9)),
        ]


def test_a_recorder_without_a_function_is_not_one():
    class Half(sv.recorders.Recorder):
        name = "half"

    with pytest.raises(TypeError, match="abstract"):
        Half()
