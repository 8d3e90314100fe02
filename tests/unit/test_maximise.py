"""Newton's method on exact sums: the same point at every party, steps that are halved, what the rows do not tell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import together
from scipy import optimize

from sottovoce.data.rows import ArrayRows
from sottovoce.statistics.likelihood.columns import columns_of, own_products, products_of, square
from sottovoce.statistics.likelihood.fixed_point import LOW, about, exponent, join, pair, value
from sottovoce.statistics.likelihood.maximise import MOST, maximise
from sottovoce.sums import Beyond, on_grid

BITS = 50


def summed(objective, score, information):
    """Of one party, in steps of 2^-50."""
    parts = np.concatenate([np.ravel(objective), score, np.ravel(information)])
    return on_grid(parts, BITS).astype(object)


def read(total, theta):
    k, found = len(theta), np.array([int(each) / 2**BITS for each in total])
    return found[0], found[1 : 1 + k], found[1 + k :].reshape(k, k)


def climbed(parts, start, names=("a",), read=read, **options):
    """The maximum as each party has it, or its refusal; how often sums were agreed on; who objected when."""
    size = 1 + len(start) + len(start) ** 2

    def program(agreements, i):
        return maximise(agreements, [parts[i]], np.array(start, float), names, read, size=size, **options)

    found, sent = together(program, len(parts))
    objected = [[bool(part[-1]) for part in parts] for parts in sent]
    return found, len(sent), objected


def log_cosh(places):
    """A concave objective from whose flanks Newton's step goes far beyond the top."""
    places = np.asarray(places, dtype=float)

    def sums(theta):
        t = np.tanh(theta[0] - places)
        height = -np.logaddexp(theta[0] - places, places - theta[0]).sum() + len(places) * np.log(2)
        return summed(height, [-t.sum()], (1 - t**2).sum())

    return sums


PLACES = [[0.1, 0.4], [-0.3], [0.2, 0.9, -0.2, 0.3], [], [0.5, 0.0, -0.1]]
TOP = optimize.brentq(lambda t: np.tanh(t - np.concatenate(PLACES)).sum(), -1, 1, xtol=1e-15)


@pytest.mark.parametrize("start", [0.0, 1.5, -2.5])
def test_the_top_is_found_although_steps_must_be_halved(start):
    found, agreements, _ = climbed([log_cosh(places) for places in PLACES], [start])
    for top in found:
        assert top.theta[0] == pytest.approx(TOP, abs=1e-14)
        assert top.theta.tobytes() == found[0].theta.tobytes()
        assert top.score[0] == pytest.approx(0, abs=1e-13)
        assert top.first == pytest.approx(-np.log(np.cosh(start - np.concatenate(PLACES))).sum(), rel=1e-13)
        assert top.first_information[0, 0] == pytest.approx((np.cosh(start - np.concatenate(PLACES)) ** -2.0).sum())
        assert top.steps == agreements
    assert agreements <= (6 if start == 0 else 12)


def test_a_start_at_the_top_is_the_end():
    """Nothing is left that could be told, so no step is taken."""
    parts = [quadratic([[1.0]], [1.0]), quadratic([[2.0]], [2.0])]
    found, agreements, _ = climbed(parts, [1.0])
    assert agreements == found[0].steps == 1
    assert found[0].theta[0] == 1.0


def only_positive(y):
    """``log theta - y theta``, which has no value at 0 or below."""
    y = np.asarray(y)

    def sums(theta):
        t = theta[0]
        if not len(y):
            return summed(0.0, [0.0], 0.0)
        if not t > 0:
            raise Beyond
        return summed(np.sum(np.log(t) - y * t), [np.sum(1 / t - y)], len(y) / t**2)

    return sums


RESPONSES = [[0.2, 0.1], [0.3], [], [0.15]]


def test_points_without_an_objective_are_taken_by_nobody():
    """A party without rows has one everywhere."""
    found, _, objected = climbed([only_positive(y) for y in RESPONSES], [50.0], reach=np.inf)
    assert [top.theta[0] for top in found] == [found[0].theta[0]] * 4
    assert found[0].theta[0] == pytest.approx(4 / 0.75, rel=1e-14)
    assert any(any(stage) for stage in objected)
    assert all(not stage[2] for stage in objected)


@pytest.mark.parametrize("start", [[-1.0], [np.nan]])
def test_a_start_without_an_objective_is_refused_by_all(start):
    found, _, _ = climbed([only_positive([1.0]) for _ in range(3)], start)
    assert all(text.startswith("the sums at the start are not finite for the rows of some party") for text in found)


def test_a_first_step_that_is_known_saves_an_agreement():
    parts = [log_cosh(places) for places in PLACES]
    (plain, *_), agreements, _ = climbed(parts, [0.0])
    step = plain.first_score / plain.first_information[0]
    (ahead, *_), fewer, _ = climbed(parts, [0.0], ahead=step)
    assert fewer == agreements - 1
    assert ahead.theta[0] == plain.theta[0]


def test_a_first_step_that_is_too_long_is_halved():
    """Where nobody has an objective, and where that at the start is higher, as the totals there tell."""
    found, _, objected = climbed([only_positive(y) for y in RESPONSES], [3.0], reach=np.inf, ahead=np.array([-4.0]))
    assert found[0].theta[0] == pytest.approx(4 / 0.75, rel=1e-14)
    assert any(objected[0])
    parts = [log_cosh(places) for places in PLACES]
    found, _, _ = climbed(parts, [0.0], ahead=np.array([4.0]), before=lambda total: -1.0)
    assert found[0].theta[0] == pytest.approx(TOP, abs=1e-14)
    assert found[0].first < -10


def quadratic(X, y):
    """Least squares."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)

    def sums(theta):
        r = y - X @ theta
        return summed(-r @ r / 2, X.T @ r, X.T @ X)

    return sums


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda x, z: [x, 0 * x, z], "column 'b' does not vary over the rows of all parties"),
        (lambda x, z: [x, 0 * x, 0 * z], "the columns 'b', 'c' do not vary over the rows of all parties"),
        (lambda x, z: [x, z, 2 * x], "the columns 'a', 'c' are linearly dependent over the rows of all parties"),
    ],
)
def test_what_the_rows_do_not_tell_is_refused_by_all_with_one_sentence(make, sentence, rng):
    parts = [quadratic(np.column_stack(make(*rng.normal(size=(2, 4)))), rng.normal(size=4)) for _ in range(4)]
    found, _, _ = climbed(parts, [0.0, 0.0, 0.0], names=("a", "b", "c"))
    assert len(set(found)) == 1
    assert sentence in found[0]


def logistic(X, y):
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)

    def sums(theta):
        eta = X @ theta
        mean = 1 / (1 + np.exp(-eta))
        return summed(y @ eta - np.logaddexp(0, eta).sum(), X.T @ (y - mean), (X * (mean * (1 - mean))[:, None]).T @ X)

    return sums


def test_estimates_without_bound_are_named_and_the_intercept_that_goes_along_is_not():
    x, z = np.linspace(-1, 2, 12), np.array([1.0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1])
    parts = [logistic(np.column_stack([np.ones(4), x[i::3], z[i::3]]), x[i::3] > 0.4) for i in range(3)]
    found, agreements, _ = climbed(parts, [0.0] * 3, ("Intercept", "dose", "z"), infinite=": it separates. Drop it.")
    assert set(found) == {"the estimate of 'dose' is infinite: it separates. Drop it."}
    assert agreements < MOST / 2
    both = [logistic(np.column_stack([np.ones(4), x[i::3], -(x[i::3] ** 3)]), x[i::3] > 0.4) for i in range(3)]
    found, _, _ = climbed(both, [0.0] * 3, ("Intercept", "dose", "cube"))
    assert set(found) == {"the estimates of 'dose', 'cube' are infinite"}


def test_an_estimate_beyond_the_reach_counts_as_infinite():
    found, _, _ = climbed([quadratic([[1.0]], [50.0])] * 2, [0.0], reach=20.0)
    assert set(found) == {"the estimate of 'a' is infinite"}


def test_parameters_have_names_of_what_they_are_made_into():
    """``a`` and ``b`` are half of the sum and of the difference; what has no end is their sum."""
    x = np.linspace(-1, 2, 12)
    parts = [logistic(np.column_stack([np.ones(4), x[i::3]]), x[i::3] > 0.4) for i in range(3)]
    found, _, _ = climbed(parts, [0.0, 0.0], ("a", "b"), named=np.array([[0.0, 0.5], [0.0, 0.5]]))
    assert set(found) == {"the estimates of 'a', 'b' are infinite"}
    found, _, _ = climbed([quadratic([[1.0]], [50.0])] * 2, [0.0], reach=20.0, named=np.array([[0.01]]))
    assert set(found) == {"the estimate of 'a' is infinite"}


def test_there_is_an_end_to_it():
    def endless(theta):  # every step is as long as the last
        return summed(theta[0] / 10, [10.0], 10.0)

    found, agreements, _ = climbed([endless] * 3, [0.0], reach=np.inf)
    assert {text.partition(".")[0] for text in found} == {f"there is no maximum after {MOST} steps"}
    assert agreements == MOST


def test_fisher_scoring_that_only_divides_the_error_goes_on_until_it_is_small():
    """The information is 1.4 times too large: every step leaves 0.29 of the error, and the last one too."""

    def sums(theta):
        return summed(-0.5 * (theta[0] - 1) ** 2, [1 - theta[0]], 1.4)

    found, _, _ = climbed([sums] * 10, [0.0])
    assert [top.theta[0] for top in found] == pytest.approx([1.0] * 10, abs=1e-13)


def test_rounding_that_no_step_can_better_is_the_end():
    """Sums in steps of 2^-20: the score is never 0, and no step gets shorter than what that leaves."""

    def coarse(total, theta):
        f, g, H = read(total, theta)
        return f, np.array([round(1e6 * each + 0.3) / 1e6 for each in g]), H

    found, agreements, _ = climbed([log_cosh(places) for places in PLACES], [0.0], read=coarse)
    assert found[0].theta[0] == pytest.approx(TOP, abs=1e-6)
    assert agreements < 12


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_an_objective_whose_unit_nobody_knows_is_measured_by_what_is_left_of_it(unit, rng):
    """Squares of a curve's residuals: in other units the same points, to the bit."""
    x, noise = rng.normal(size=(2, 60))
    y = np.exp(0.5 * x) + 0.1 * noise

    def part(x, y):
        def of(theta):
            curve = np.exp(theta[0] * x)
            return summed(-((y - curve) ** 2).sum() / 2, [(y - curve) @ (curve * x)], (curve * x) @ (curve * x))

        return of

    def other(total, theta):
        return tuple(unit**2 * each for each in read(total, theta))

    parts = [part(x[i::3], y[i::3]) for i in range(3)]
    plain, agreements, _ = climbed(parts, [0.4], rows=60)
    found, as_many, _ = climbed(parts, [0.4], read=other, rows=60)
    assert as_many == agreements < 15
    assert found[0].theta[0] == pytest.approx(plain[0].theta[0], rel=1e-15)
    left = plain[0].score[0] ** 2 / plain[0].information[0, 0] / (-2 * plain[0].objective / 60)
    assert left < 1e-25  # squared standard errors


# Columns


def products(rows, places, units, weight=None):
    d = len(places)
    return square(sum(own_products(part, places, units, weight) for part in rows), d + 1)


def test_columns_are_standardised_by_what_is_rounded_once(rng):
    table = np.round(rng.normal(size=(41, 4)) * [1, 0.02, 0, 3] + [3, 2, 1, 0], 4)
    rows = [ArrayRows(part) for part in np.split(table, [2, 32, 32])]
    units = [Fraction(1, 10**4)] * 4
    gram = products(rows, (0, 1, 2, 3), units)
    found = columns_of(gram, ("a", "b", "c", "d"), units, intercept=True)
    assert len(own_products(rows[0], (0, 1, 2, 3), units)) == products_of(4)
    assert (found.names, found.places, found.aliased) == (("a", "b", "d"), (0, 1, 3), ("c",))
    assert found.terms == ("Intercept", "a", "b", "d")
    exact = [[Fraction(round(1e4 * cell), 10**4) for cell in column] for column in table[:, [0, 1, 3]].T]
    means = [sum(column) / 41 for column in exact]
    assert found.centre.tolist() == [float(mean) for mean in means]
    variances = [sum((cell - mean) ** 2 for cell in column) / 41 for column, mean in zip(exact, means, strict=True)]
    assert found.deviation.tolist() == [float(variance) ** 0.5 for variance in variances]
    z, theta = found.matrix(table), rng.normal(size=4)
    np.testing.assert_allclose(z[:, 1:].mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(z[:, 1:].std(axis=0), 1, rtol=1e-13)
    plain = np.column_stack([np.ones(41), table[:, [0, 1, 3]]])
    np.testing.assert_allclose(z @ theta, plain @ found.params(theta), rtol=1e-11)
    covariance = found.covariance(np.diag(theta**2))
    np.testing.assert_allclose(covariance, found.back @ np.diag(theta**2) @ found.back.T, rtol=1e-12)
    assert (covariance == covariance.T).all()


def test_combinations_are_left_out_in_the_order_of_the_columns(rng):
    x = rng.integers(-9, 9, (30, 2)).astype(float)
    table = np.column_stack([x[:, 0], x[:, 0] * 2 - 3, x[:, 1], x[:, 0] - x[:, 1], np.ones(30)])
    rows, units, names = [ArrayRows(table)], [Fraction(1)] * 5, ("a", "b", "c", "d", "one")
    gram = products(rows, range(5), units)
    assert columns_of(gram, names, units, intercept=True).aliased == ("b", "d", "one")
    # Without an intercept the constant is one more direction, and b is of it and of a.
    found = columns_of(gram, names, units, intercept=False)
    assert (found.aliased, found.terms) == (("d", "one"), ("a", "b", "c"))
    assert found.centre.tolist() == [0, 0, 0]
    np.testing.assert_allclose((found.matrix(table) ** 2).mean(axis=0), 1, rtol=1e-14)
    kept = columns_of(gram, names, units, intercept=True, alias=False)
    assert (kept.aliased, kept.deviation[-1]) == ((), 1.0)
    assert not kept.matrix(table)[:, -1].any()


def test_columns_at_right_angles(rng):
    """As they are mixed, and back."""
    table = np.round(rng.normal(size=(60, 3)), 6)
    table[:, 2] = np.round(table[:, 0] + 1e-4 * table[:, 2], 6)
    units = [Fraction(1, 10**6)] * 3
    gram = products([ArrayRows(table)], range(3), units)
    mixed = columns_of(gram, ("a", "b", "c"), units, intercept=True)
    plain = replace(mixed, mix=None)
    z = plain.matrix(table)
    np.testing.assert_allclose(mixed.mix, np.linalg.cholesky(z[:, 1:].T @ z[:, 1:] / 60), rtol=1e-7, atol=1e-12)
    assert columns_of(gram, ("a", "b", "c"), units, intercept=True, alias=False).mix is None  # under a penalty
    assert columns_of(gram[:3, :3], ("a", "b"), units[:2], intercept=True).mix is None  # far from dependent
    q = mixed.matrix(table)
    np.testing.assert_allclose(q.T @ q / 60, np.eye(4), atol=1e-7)  # 1e-16 of a square of which 1e-8 is left
    theta = rng.normal(size=4)
    np.testing.assert_allclose(q @ theta, z @ mixed.unmixed.T @ theta, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mixed.params(theta), plain.params(mixed.unmixed.T @ theta), rtol=1e-12)
    for rows in ([0], [0, 7, 59]):  # to the bit, whatever is beside
        assert mixed.matrix(table[rows])[0].tobytes() == q[0].tobytes()


def test_weights_are_in_means_and_deviations(rng):
    table = np.column_stack([rng.integers(0, 50, (40, 2)), rng.integers(1, 9, 40)]).astype(float)
    units = [Fraction(1)] * 3
    found = columns_of(products([ArrayRows(table)], (0, 1), units, 2), ("a", "b"), units, intercept=True)
    x, w = table[:, :2], table[:, 2]
    np.testing.assert_allclose(found.centre, np.average(x, axis=0, weights=w), rtol=1e-15)
    spread = np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w)
    np.testing.assert_allclose(found.deviation, np.sqrt(spread), rtol=1e-14)


# Numbers as integers


@settings(max_examples=200)
@given(st.floats(-1e12, 1e12), st.sampled_from([-20, 0, 20]))
def test_a_pair_of_integers_has_all_digits_that_steps_allow(number, bits):
    (high, low), *_ = pair(np.array([number]), bits)
    found, step = Fraction(join(high, low), 1) / Fraction(2) ** (bits + LOW), Fraction(2) ** -(bits + LOW)
    assert abs(found - Fraction(number)) <= step / 2
    assert value(join(high, low), bits + LOW) == float(found)


def test_pairs_of_what_is_no_number():
    for number in (np.nan, np.inf, 2.0**43):
        with pytest.raises(Beyond):
            pair(np.array([1.0, number]))


def test_public_sizes_are_told_alike_by_machines_that_round_differently():
    for size in (0.25, 1.0, 3.0, 1e-9, 2.0**40):
        for other in np.nextafter(size, [0, np.inf]):
            assert exponent(size) == exponent(other)
            assert about(size) == about(other)
        assert size < 2.0 ** exponent(size) <= 4 * size
        assert about(-size) == -about(size) == pytest.approx(-size, rel=2**-20)
    assert exponent(0.0) == exponent(np.inf) == 0
    assert about(0.0) == 0.0
