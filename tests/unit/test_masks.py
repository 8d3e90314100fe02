from __future__ import annotations

import numpy as np
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

    monkeypatch.setattr("sottovoce.masks.os.urandom", lambda count: bytes_of(count)[:count])
    pads = sv.GaussianMask(1.0).draw((64,))
    assert asked == [8 * 64]
    assert np.isfinite(pads).all()


def test_extreme_bits_give_finite_pads(monkeypatch):
    for byte in (b"\x00", b"\xff"):
        monkeypatch.setattr("sottovoce.masks.os.urandom", lambda count, byte=byte: byte * count)
        assert np.isfinite(sv.GaussianMask(1.0).draw((3,))).all()
