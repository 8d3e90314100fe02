"""A public unit of what is averaged: what it rounds, what it refuses, and that nothing else hangs on it."""

from __future__ import annotations

import hashlib
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data import read_problem_file
from sottovoce.errors import InvalidFile, InvalidInput, PrecisionLost, Unsupported
from sottovoce.numerics.grid import on_grid
from sottovoce.pdmm.collapsed_arithmetic import collapse, general_sums
from sottovoce.pdmm.unit import Unit, whole_multiples

RING = sv.Network.ring(4)
MASK = sv.GaussianMask(1e6)
PRICES = [1.99, 2.49, 0.35, 4.05]
UNITS = st.builds(lambda digits, power: digits * Fraction(10) ** power, st.integers(1, 999), st.integers(-20, 20))


@given(UNITS, st.lists(st.integers(-(2**49), 2**49), min_size=1, max_size=5))
def test_multiples_of_decimals_are_found_and_given_back(size, integers):
    unit = Unit(size)
    values = np.array([float(k * size) for k in integers])
    assert unit.multiples(values).tolist() == integers
    np.testing.assert_allclose(unit.values(np.array(integers, float)), values, rtol=2**-51)
    assert unit.in_steps(-2 * values).tolist() == [-2 * k * unit.power for k in integers]


@given(UNITS)
def test_steps_are_the_unit_but_for_a_power_of_two(size):
    unit = Unit(size)
    assert 1 <= unit.step < 2
    assert math.frexp(unit.power)[0] == 0.5
    assert Fraction(unit.power) <= size < 2 * Fraction(unit.power)
    assert unit.step == float(size / Fraction(unit.power))


@given(UNITS, st.floats(1e-3, 1e3))
def test_pads_are_multiples_of_the_grid_in_steps_and_collapse_gives_them_back(size, times):
    sigma = float(size) * 10**5 * times
    unit, mask = Unit(size), sv.GaussianMask(sigma**2)
    pads, g = unit.draw(mask, (64,), 1), unit.grid(mask.sigma)
    multiples = pads / unit.step / g
    assert np.abs(multiples).max() < 2**51
    np.testing.assert_array_equal(unit.step * (g * np.rint(multiples)), pads)
    np.testing.assert_allclose(np.abs(multiples - np.rint(multiples)).max(), 0, atol=0.25)


@pytest.mark.parametrize("mask", [MASK, sv.UniformMask(1e6)])
def test_pads_have_the_variance_of_the_mask(mask):
    pads = Unit(Fraction(1, 10)).draw(mask, (40_000,), 3)
    assert pads.var() == pytest.approx(mask.variance, rel=0.05)  # 7 standard errors of a Gaussian's
    assert abs(pads.mean()) < 5 * mask.sigma / 200
    assert not np.array_equal(*(Unit(Fraction(1, 10)).draw(mask, (5,), None) for _ in range(2)))


@pytest.mark.parametrize("how", [{}, {"overlay": "tree"}, {"schedule": sv.Asynchronous()}, {"arithmetic": "plain"}])
def test_the_answer_is_the_mean_of_the_multiples(how):
    problem = sv.averaging(RING, PRICES, unit=0.01)
    result = sv.solve(problem, mask=MASK, seed=2, **how)
    np.testing.assert_allclose(result.x, 2.22, atol=1e-8)
    again = sv.solve(sv.averaging(RING, PRICES), mask=MASK, seed=2, **how)
    np.testing.assert_allclose(result.x, again.x, atol=1e-8)
    # Pads of one seed are those without a unit, but for what is cut off them: 2^-45 of their size.
    np.testing.assert_allclose(problem.unit.draw(MASK, (9,), 2), MASK.draw((9,), 2), atol=2**-44 * MASK.sigma)


def test_one_unit_for_each_column():
    s = [[1.05, 2.5], [3, 3.3], [0.1, -4], [5, 1]]
    problem = sv.averaging(RING, s, unit=[0.05, 0.1])
    assert problem.unit == Unit(Fraction(1, 20))
    np.testing.assert_allclose(sv.solve(problem, mask=MASK).x, np.tile(np.mean(s, axis=0), (4, 1)), atol=1e-8)
    several = sv.averaging(RING, np.full((4, 3), 1.2), unit=[Decimal("0.6"), Fraction(4, 10), np.float32(0.1)])
    assert several.unit == Unit(Fraction(1, 10))
    assert "unit" in several._repr_html_()
    assert "unit" not in sv.averaging(RING, [1, 2, 3, 4])._repr_html_()


def test_numbers_that_are_no_multiples_are_rounded_and_counted():
    with pytest.warns(PrecisionLost, match="2 of 4 numbers are no whole multiples of the unit, and were") as said:
        problem = sv.averaging(RING, [1.04, 2.5, 3.14, 0.1 + 0.2], unit=0.1)
    assert [problem.cost(i).s.item() for i in range(4)] == [1.0, 2.5, 3.1, 0.3]
    assert said[0].filename == __file__
    assert not re.search(r"1\.04|3\.14", str(said[0].message))


@pytest.mark.parametrize(
    "unit", [0, -1, math.nan, math.inf, -math.inf, "0.1", True, {"a": 1}, [0], [[1]], 1e301, 1e-320, Decimal("nan")]
)
def test_what_is_no_unit_is_refused(unit):
    with pytest.raises(InvalidInput, match=r"^unit must be (a positive number|one number)"):
        sv.averaging(RING, PRICES, unit=unit)


def test_as_many_units_as_columns():
    with pytest.raises(InvalidInput, match="one for each column, 2; got list of 3"):
        sv.averaging(RING, np.ones((4, 2)), unit=[1, 2, 3])


@pytest.mark.parametrize("unit", [1e-15, 1e-300])
def test_a_unit_of_which_data_have_too_many_is_refused(unit):
    with pytest.raises(InvalidInput, match=r"unit is too small for column 1: a number in it is 2\^50 times") as refused:
        sv.averaging(RING, np.array([[0.0, 5.0]] * 4), unit=unit)
    assert "5" not in str(refused.value).replace("2^50", "").replace(f"{unit:g}", "")


def test_a_unit_below_what_the_mask_carries_is_refused():
    fine = sv.averaging(RING, [0.199, 0.249, 0.035, 0.405], unit=1e-12)
    with pytest.raises(InvalidInput, match=r"unit = 1e-12 is too small for pads of size 1e\+03"):
        sv.solve(fine, mask=MASK)
    with pytest.raises(InvalidInput, match="too small for pads"):
        sv.solve(fine, z0=MASK.draw((8,), 1), arithmetic="collapsed")
    assert sv.solve(fine, mask=sv.GaussianMask(1e4)).converged
    assert sv.solve(fine).converged  # without a mask nothing is hidden


def test_general_constraints_are_refused():
    network = RING.with_constraints({(i, j): np.eye(1) for i, j in RING.half_edges.tolist()})
    with pytest.raises(Unsupported, match="every edge says x_i = x_j"):
        sv.averaging(network, np.ones((4, 1)), unit=1)


def test_fractions_add_up_to_what_halves_of_float64_do(monkeypatch):
    """As they must for data so far beyond the mask that these do not hold them."""
    problem = sv.averaging(RING, PRICES, unit=0.01)
    pads = problem.unit.draw(MASK, (8, 1), 1)
    halves, *_ = collapse(problem, pads, MASK.sigma)
    monkeypatch.setattr("sottovoce.pdmm.collapsed_arithmetic.consensus_sums", general_sums)
    exact, *_ = collapse(problem, pads, MASK.sigma)
    np.testing.assert_array_equal(halves.q, exact.q)
    far = sv.averaging(RING, [1e14, -3e13, 7, 0.5], unit=0.5)
    monkeypatch.undo()
    added, *_ = collapse(far, pads, 1e-3)  # pads of size 1000, on a grid of 1e-3
    np.testing.assert_allclose(added.q.sum(), -2 * (7e13 + 7.5), rtol=2**-50)  # each of four is rounded once


def test_modular_pads_take_decimals_with_a_unit():
    with pytest.raises(InvalidInput, match=r"give sv\.averaging the unit"):
        sv.solve(sv.averaging(RING, PRICES), mask=sv.ModularMask())
    problem = sv.averaging(RING, PRICES, unit=0.01)
    assert sv.solve(problem, mask=sv.ModularMask()).x.tolist() == [2.22] * 4
    assert sv.privacy.audit(problem, sv.ModularMask(), corrupt={1}).excess[0] == 0


def test_noise_lies_on_a_grid_of_its_own():
    noisy = sv.LocalNoise(1.0).on(sv.averaging(RING, PRICES, unit=0.01), seed=1)
    assert noisy.unit is None
    s = np.concatenate([noisy.cost(i).s[0] for i in range(4)])
    np.testing.assert_array_equal(on_grid(s, sv.LocalNoise(1.0).grid), s)


def test_an_audit_does_not_hang_on_the_unit():
    with_unit, without = (
        sv.privacy.audit(sv.averaging(RING, PRICES, unit=unit), MASK, corrupt={1}) for unit in (0.01, None)
    )
    np.testing.assert_allclose(with_unit.leakage, without.leakage, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")
def test_runs_without_a_unit_are_what_they_were_to_the_bit():
    """Hashes of runs before there were units: averaging, the reference's arithmetic, pads from a seed."""
    s = np.random.default_rng(3).normal(50, 10, size=(12, 2)).round(1)
    problem, found = sv.averaging(sv.Network.random_geometric(12, seed=1), s), []
    for mask in (MASK, sv.UniformMask(1e6)):  # which hide such data badly
        for how in ({}, {"overlay": "tree"}, {"arithmetic": "plain"}):
            run = sv.solve(
                problem, mask=mask, c=0.3, schedule=sv.Asynchronous(), seed=5, tol=0, max_iter=300, engine="reference",
                **how,
            )  # fmt: skip
            found.append(hashlib.sha256(run.x.tobytes() + run.z.tobytes()).hexdigest()[:16])
    assert found == [
        "b48d43b5645d6aa8", "2207ce9d07ae7513", "0fd1d5ef9f13426a",
        "55c3ebdecf1cb637", "ea4bb60865af2aef", "3d0e31f9fe424486",
    ]  # fmt: skip


# In files


def read(folder, cost):
    path = folder / "problem.toml"
    mask = '[mask]\ntype = "gaussian"\nvariance = 1e6'
    path.write_text(f'[network]\ngenerator = "complete"\n[cost]\n{cost}\n{mask}\n[pdmm]\nseed = 1\n')
    return read_problem_file(path)


@pytest.mark.parametrize("unit", ["unit = 0.1", "unit = [0.1, 1]", "unit = { a = 0.1, b = 1 }"])
def test_a_problem_file_takes_units(tmp_path, unit):
    cost = 'type = "averaging"\ncolumns = ["a", "b"]\nvalues = [[1.5, 2], [2.2, 3], [3.1, 1]]\n'
    file = read(tmp_path, cost + unit)
    assert file.problem.unit == Unit(Fraction(1, 10))
    result = file.in_units(sv.solve(file.problem, **file.options))
    np.testing.assert_allclose(result.solution, [6.8 / 3, 2], atol=1e-8)
    assert read(tmp_path, cost).problem.unit is None


def test_rows_of_a_party_are_rounded_each_and_added_exactly(tmp_path):
    rows = [[0.1, 0.2, 0.3, 0.34], [0.7], [0.9, 1.1]]
    parties = "".join(f"[[cost.parties]]\nrows = {[[value] for value in own]}\n" for own in rows)
    with pytest.warns(PrecisionLost, match="1 of 7 numbers"):
        file = read(tmp_path, f'type = "averaging"\nunit = 0.1\n{parties}')
    assert file.problem.q.tolist() == [-2 * total for total in (0.9, 0.7, 2.0)]
    assert file.problem.unit.in_steps(file.problem.q).tolist() == [-2 * k * 0.0625 for k in (9, 7, 20)]
    assert sv.solve(file.problem, **file.options).solution == pytest.approx(3.6 / 7, abs=1e-8)


@pytest.mark.parametrize(
    ("cost", "sentence"),
    [
        ('type = "averaging"\nvalues = [1, 2, 3]\nunit = 0', "line 6: .cost. unit must be a positive number"),
        ('type = "averaging"\nvalues = [1, 2, 3]\nunit = [1, 2]', "unit must be one number, or one for each column, 1"),
        ('type = "averaging"\nvalues = [1, 2, 3]\nunit = { y = 1 }', "must have a number for every column; 'x' has"),
        ('type = "averaging"\nvalues = [1, 2, 3]\nunit = { x = 1, z = 1 }', "unit names 'z', which is no column"),
        ('type = "averaging"\nvalues = [1, 2, 3]\nunit = 1e-18', "unit is too small for column 0"),
        ('type = "huber"\nvalues = [1, 2, 3]\nunit = 1', "unit has no meaning with type = "),
    ],
)
def test_units_of_files_that_cannot_be_used(tmp_path, cost, sentence):
    with pytest.raises(InvalidFile, match=sentence):
        read(tmp_path, cost)


def test_whole_multiples_have_one_unit_in_common():
    values, common, rounded = whole_multiples(np.array([[0.75, 3.0]]), [Fraction(3, 4), Fraction(1, 2)])
    assert (values.tolist(), common, rounded) == ([[0.75, 3.0]], Unit(Fraction(1, 4)), 0)
