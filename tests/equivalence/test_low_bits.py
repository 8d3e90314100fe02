"""Decimals on a binary grid: what the last bits of a masked answer tell, and that a public unit takes it away.

A triangle, node 2 corrupt: it knows the sum of the other two numbers, and should know no more. Each of them is rounded
to the grid of the mask before anything is added, and the sum of the rounded ones depends on how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.numerics.grid import on_grid

TRIANGLE = sv.Network.complete(3)
MASK = sv.GaussianMask(1e8)
TOTAL = 1001  # tenths: both numbers add up to 100.1
TENTHS = [20, 21, 22, 23, 24, 317, 503, 504, 998]
HONEST = [h for h, pair in enumerate(TRIANGLE.half_edges.tolist()) if 2 not in pair]
HOW: dict[str, Any] = {"c": 1.0, "tol": 0, "max_iter": 200}  # long after nothing changes but roundings


def problem(tenths, unit):
    return sv.averaging(TRIANGLE, np.array([tenths, TOTAL - tenths, 70]) / 10, unit=unit)


def on_the_grid(tenths):
    """``2 s`` of the two honest nodes as multiples of the mask's grid, and their sum: two classes of pairs."""
    first, second = (on_grid(np.array([2 * k / 10]), MASK.grid)[0] / MASK.grid for k in (tenths, TOTAL - tenths))
    return int(first), int(first + second)


def answers(tenths, unit, seeds):
    runs = [sv.solve(problem(tenths, unit), mask=MASK, seed=seed, **HOW) for seed in seeds]
    return np.array([run.x.mean() - 35.7 for run in runs])


def by_class(unit, seeds=range(12)):
    found: dict[int, list[Any]] = {}
    for tenths in TENTHS:
        found.setdefault(on_the_grid(tenths)[1], []).append(answers(tenths, unit, seeds))
    low, high = (np.concatenate(found[total]) for total in sorted(found, reverse=True))
    return sorted((low, high), key=np.mean)


def test_without_a_unit_every_answer_says_which_class_it_is_of():
    """Measured: -2.97e-12 and 1.92e-12, each within 0.4e-12 whatever the pads."""
    low, high = by_class(None)
    assert high.mean() - low.mean() == pytest.approx(MASK.grid / 6, rel=0.05)  # one step of the grid in 2 s, of three
    assert high.min() - low.max() > 3 * max(np.ptp(low), np.ptp(high))


@pytest.mark.filterwarnings("ignore::sottovoce.errors.SottovoceWarning")  # no run reaches that tol
def test_that_is_so_of_a_run_to_the_end_with_defaults():
    low, high = (sv.solve(problem(k, None), mask=MASK, tol=1e-15, seed=0, max_rounds=500).x for k in (22, 23))
    assert high.min() - low.max() > 2e-12


def test_with_a_unit_the_classes_have_one_distribution():
    """Measured: the means are 4e-15 apart, each answer within 0.6e-12. The sum of 60 has an error of a few 1e-14."""
    low, high = by_class(0.1)
    spread = max(low.std(), high.std())
    assert 0 < spread < 0.4e-12
    assert high.mean() - low.mean() < 4 * spread * np.sqrt(1 / len(low) + 1 / len(high))


@dataclass(frozen=True)
class Moved(sv.GaussianMask):
    """Pads of which both of the honest edge are moved: ``e`` stays as it is, and ``q_0 - u`` if ``q_0`` moves, too."""

    by: float = 0.0

    def draw(self, shape, seed=None):
        pads = super().draw(shape, seed)
        pads[HONEST] += self.by
        return pads


def transcript(tenths, unit, by, how=HOW):
    run = sv.solve(problem(tenths, unit), mask=Moved(MASK.variance, by), seed=4, record=[sv.Transcript()], **how)
    messages = run.history["transcript"]
    return run.x.tobytes(), *(np.asarray(column).tobytes() for column in messages.columns().values())


@pytest.mark.parametrize(
    "how",
    [
        HOW,
        {"overlay": "tree", "tol": 0, "max_iter": 40},
        {"schedule": sv.Asynchronous(), "theta": 0.8, "c": 0.5, "tol": 0, "max_iter": 600},
        {"overlay": [(0, 2), (1, 2)], "c": 0.5, "tol": 0, "max_iter": 100, "engine": "reference"},
    ],
    ids=["rounds", "tree", "random wakes", "around the corrupt node"],
)
def test_with_a_unit_every_pair_has_pads_that_give_the_very_same_bits(how):
    """So what the corrupt node sees, all messages and its answer, has one distribution, but for the density of pads
    that are moved by up to 0.02 of their standard deviation: the excess that the audit counts."""
    power = problem(20, 0.1).unit.power
    seen = {transcript(tenths, 0.1, -2 * power * (tenths - 20), how) for tenths in range(6, TOTAL - 5, 21)}
    assert len(seen) == 1


def test_without_one_every_class_has_bits_of_its_own():
    seen: dict[int, set[Any]] = {}
    for tenths in TENTHS:
        first, total = on_the_grid(tenths)
        moved = -MASK.grid * (first - on_the_grid(20)[0])
        seen.setdefault(total, set()).add(transcript(tenths, None, moved))
    assert [len(bits) for bits in seen.values()] == [1, 1]
    assert not set.intersection(*seen.values())


@pytest.mark.parametrize(("values", "bits", "lost"), [(501, 8.247, 0.676), (1000, 9.244, 0.677)])
def test_how_much_the_sum_on_the_grid_tells(values, bits, lost):
    """By enumeration: one-decimal numbers from 0.0, all equally likely, of two honest nodes. ``bits`` of a number are
    left by the sum, and the sum on the grid takes ``lost`` of them; with a unit it takes none."""
    tenths = np.arange(values)
    total = (tenths[:, None] + tenths).ravel()
    assert entropy_of_one(total) == pytest.approx(bits, abs=5e-4)
    on_grid_2s = on_grid(2 * (tenths / 10), MASK.grid) / MASK.grid
    told = (on_grid_2s[:, None] + on_grid_2s).ravel()
    assert entropy_of_one(total) - entropy_of_one(told) == pytest.approx(lost, abs=5e-4)
    unit = problem(20, 0.1).unit
    in_units = on_grid(unit.in_steps(2 * (tenths / 10)), unit.grid(MASK.sigma))
    assert entropy_of_one(total) == entropy_of_one((in_units[:, None] + in_units).ravel())


def entropy_of_one(told):
    """Bits that one of two numbers has left, where ``told`` is known of every pair: those of the pair."""
    count = np.unique(told, return_counts=True)[1]
    return float((count * np.log2(count)).sum() / count.sum())
