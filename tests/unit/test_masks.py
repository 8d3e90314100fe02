from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv


def test_secret_and_seeded_pads_are_gaussian_with_the_asked_variance():
    mask = sv.GaussianMask(variance=4.0)
    for pads in (mask.draw((100_000,)), mask.draw((100_000,), seed=1)):
        # The secret sample differs from run to run: a threshold that chance passes once in 1e9 runs.
        assert stats.kstest(pads, "norm", args=(0, 2)).pvalue > 1e-9


def test_seeded_pads_repeat_and_secret_ones_do_not():
    mask = sv.GaussianMask(1.0)
    np.testing.assert_array_equal(mask.draw((5, 2), seed=3), mask.draw((5, 2), seed=3))
    assert not np.array_equal(mask.draw((5, 2)), mask.draw((5, 2)))


def test_secret_pads_come_from_the_operating_system(monkeypatch):
    asked = []

    def bytes_of(count: int) -> bytes:
        asked.append(count)
        return bytes(range(256)) * (count // 256 + 1)

    monkeypatch.setattr("sottovoce.pdmm.masks.os.urandom", lambda count: bytes_of(count)[:count])
    pads = sv.GaussianMask(1.0).draw((64,))
    assert asked == [8 * 64, 4 * 64]
    assert np.isfinite(pads).all()


def test_extreme_bits_give_finite_pads(monkeypatch):
    for byte in (b"\x00", b"\xff"):
        monkeypatch.setattr("sottovoce.pdmm.masks.os.urandom", lambda count, byte=byte: byte * count)
        assert np.isfinite(sv.GaussianMask(1.0).draw((3,))).all()


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1.99, 1e4])
def test_pads_are_multiples_of_the_grid(monkeypatch, sigma):
    mask = sv.GaussianMask(sigma**2)
    assert 2.0**-49 * sigma < mask.grid <= 2.0**-48 * sigma
    for pads in (mask.draw((1000,)), mask.draw((1000,), seed=1)):
        steps = pads / mask.grid
        np.testing.assert_array_equal(steps, np.rint(steps))
        assert (steps % 2 == 1).any(), "the grid is used to the last bit"
    # The largest pad there is, 9.1 sigma: one more step is still a different float.
    monkeypatch.setattr("sottovoce.pdmm.masks.os.urandom", lambda count: b"\x00" * count)
    largest = mask.draw((1,))
    assert abs(largest[0]) > 9 * sigma
    assert (largest + mask.grid) - largest == mask.grid


def test_no_multiple_of_the_grid_is_likelier_than_its_neighbours():
    mask = sv.GaussianMask(1.0)
    low = (mask.draw((200_000,)) / mask.grid) % 64
    # Uniform on 64 values; a threshold that chance passes once in 1e9 runs.
    assert stats.chisquare(np.bincount(low.astype(int), minlength=64)).pvalue > 1e-9
