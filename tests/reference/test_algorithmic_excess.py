"""What the steps of Newton's method tell of the rows: ranks, against exact arithmetic, and rows that are found again.

The ranks are those of the Jacobian of all sums by all covariates. The oracle differentiates by hand and eliminates in
200 digits, where no singular value is lost; it shares no code with the package.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations_with_replacement

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import least_squares

from sottovoce.statistics.algorithmic_excess import (
    determined_rows,
    jacobian,
    measured_excess,
    measured_rows,
    shown_rank,
    step_numbers,
)

DIGITS = 200
NOTHING = Decimal(10) ** -150  # the last iterates are some 1e-16 apart, and powers of that count


def logistic(x, y, theta):
    X = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    eta = X @ theta
    mean = 1 / (1 + np.exp(-eta))
    j, k = np.triu_indices(X.shape[1])
    weight = (mean * (1 - mean))[:, None]
    return np.column_stack([y * eta - np.log(1 + np.exp(eta)), (y - mean)[:, None] * X, weight * X[:, j] * X[:, k]])


def poisson(x, y, theta):
    X = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    eta = X @ theta
    mean = np.exp(eta)
    j, k = np.triu_indices(X.shape[1])
    return np.column_stack([y * eta - mean, (y - mean)[:, None] * X, mean[:, None] * X[:, j] * X[:, k]])


def sample(p, seed=0, rows=600):
    """Rows, and the path of Newton's method on all of them, as statsmodels takes it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, p))
    eta = x @ np.full(p, p**-0.5) - 0.5
    y = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(float)
    points = [np.zeros(p + 1)]
    sm.Logit(y, sm.add_constant(x)).fit(method="newton", start_params=points[0], disp=0, callback=points.append)
    return x, y, points


# The oracle


def slopes(row, y, theta):
    """Of each number that a row adds at a point, by its covariates; by hand."""
    row, theta = [Decimal(1), *map(Decimal, row)], [Decimal(float(t)) for t in theta]
    mean = 1 / (1 + (-sum(a * b for a, b in zip(row, theta, strict=True))).exp())
    weight, rest, k = mean * (1 - mean), Decimal(int(y)) - mean, len(row)
    bend = weight * (1 - 2 * mean)
    found = [[rest * theta[j] for j in range(1, k)]]
    found += [[-weight * theta[j] * row[a] + rest * (a == j) for j in range(1, k)] for a in range(k)]
    for a, b in combinations_with_replacement(range(k), 2):
        own = [weight * (row[b] * (a == j) + row[a] * (b == j)) for j in range(1, k)]
        found.append([bend * theta[j] * row[a] * row[b] + own[j - 1] for j in range(1, k)])
    return found


def exact_rank(x, y, points):
    """By elimination with complete pivots."""
    with localcontext() as context:
        context.prec = DIGITS
        at = [[slopes(row.tolist(), label, theta) for row, label in zip(x, y, strict=True)] for theta in points]
        numbers = range(len(at[0][0]))
        left = [[v for row in rows for v in row[number]] for rows in at for number in numbers]
        left = [[v / top for v in line] for line in left if (top := max(map(abs, line))) > NOTHING]
        rank = 0
        while left:
            size, pivot, j = max((abs(v), i, j) for i, line in enumerate(left) for j, v in enumerate(line))
            if size < NOTHING:
                break
            rank, head = rank + 1, left.pop(pivot)
            shares = [line[j] / head[j] for line in left]
            left = [[a - s * b for a, b in zip(line, head, strict=True)] for line, s in zip(left, shares, strict=True)]
        return rank


# Derivatives and ranks


@pytest.mark.parametrize("of_rows", [logistic, poisson])
def test_the_jacobian_is_that_of_central_differences(of_rows):
    rng = np.random.default_rng(1)
    x, y, points = rng.normal(size=(4, 3)), np.array([0.0, 1.0, 1.0, 0.0]), list(rng.normal(size=(2, 4)))
    J, h = jacobian(of_rows, x, y, points), 1e-5
    assert J.shape == (2 * step_numbers(4), 12)

    def sums(values):
        return np.concatenate([of_rows(values.reshape(4, 3), y, theta).sum(axis=0) for theta in points])

    for column, unit in zip(J.T, np.eye(12), strict=True):
        about = (sums(x.ravel() + h * unit) - sums(x.ravel() - h * unit)) / (2 * h)
        np.testing.assert_allclose(column, about, atol=1e-7, rtol=1e-7)  # h^2, and rounding / h


@pytest.mark.parametrize(("p", "steps"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
def test_ranks_are_those_of_exact_arithmetic(p, steps):
    """At points that lie apart, where all singular values can be seen."""
    rng = np.random.default_rng(p)
    points = list(1.5 * rng.normal(size=(steps, p + 1)))
    most = determined_rows(p + 1, steps, p)
    for rows in sorted({1, 2, most // 2, most, most + 1}):
        x, y = 2 * rng.normal(size=(rows, p)), (rng.random(rows) < 0.5).astype(float)
        rank = exact_rank(x, y, points)
        assert rank <= min(rows * p, steps * step_numbers(p + 1))
        if rows <= most // 2:
            assert rank == shown_rank(logistic, x, y, points, threshold=1e-13) == rows * p


def test_a_rank_does_not_depend_on_units():
    x, y, points = sample(2)
    units = np.logspace(-9, 9, step_numbers(3))
    ranks = [shown_rank(of_rows, x[:9], y[:9], points) for of_rows in (logistic, lambda *row: units * logistic(*row))]
    assert ranks == [18, 18]


def test_points_that_move_with_the_rows_tell_nothing_more():
    """A step is a function of the sums before it: the rank of the map through Newton's method is that at its points."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(9, 2)), np.array([0, 1, 0, 1, 1, 0, 0, 1, 0], float)
    step, start = 1e-30, np.zeros(3)

    def path(rows):
        points = [start.astype(complex)]
        for _ in range(2):
            sums = logistic(rows, y, points[-1]).sum(axis=0)
            information = np.zeros((3, 3), complex)
            information[np.triu_indices(3)] = sums[4:]
            information = information + np.triu(information, 1).T
            points.append(points[-1] + np.linalg.solve(information, sums[1:4]))
        return points

    moving = []
    for j in range(x.size):
        rows = x.astype(complex)
        rows.flat[j] += 1j * step
        moving.append(np.concatenate([logistic(rows, y, theta).sum(axis=0) for theta in path(rows)]).imag / step)
    fixed = jacobian(logistic, x, y, [point.real for point in path(x.astype(complex))])
    ranks = []
    for J in (np.array(moving).T, fixed):
        values = np.linalg.svd(J, compute_uv=False)
        ranks.append(int((values > 1e-11 * values[0]).sum()))
    assert ranks == [18, 18]


# How many rows


@pytest.mark.parametrize(("p", "expected"), [(2, (12, 17)), (4, (17, 22))])
def test_newtons_method_determines_so_many_rows(p, expected):
    """Medians over six samples of 600 rows, to nine digits (1e-9) and to those of float64 (1e-14).

    STATISTICS says 12 rows of 2 covariates, and 24 of 4: the first is what 1e-9 leaves, the second what float64 does.
    Counting, 6 or 7 steps of 10 or 21 numbers could determine 30 to 36 rows of either: an upper bound on each.
    """
    agreed, full, bounds = [], [], []
    for seed in range(6):
        x, y, points = sample(p, seed)
        assert 6 <= len(points) <= 8
        bounds.append(determined_rows(p + 1, len(points), p))
        agreed.append(measured_rows(logistic, x, y, points))
        full.append(measured_rows(logistic, x, y, points, threshold=1e-14))
    assert all(few <= many <= bound for few, many, bound in zip(agreed, full, bounds, strict=True))
    assert abs(np.median(agreed) - expected[0]) <= 1
    assert abs(np.median(full) - expected[1]) <= 1
    assert max(full) < 10 * (p + 1)  # ten rows per parameter are more than float64 can tell apart


def test_without_rounding_the_count_is_nearly_reached():
    """All numbers count but three: at theta = 0 the objective, the first score and the first weight have no slope."""
    x, y, points = sample(1)
    points = points[:4]
    numbers = len(points) * step_numbers(2)
    assert exact_rank(x[:numbers], y[:numbers], points) == numbers - 3
    assert exact_rank(x[: numbers - 3], y[: numbers - 3], points) == numbers - 3
    assert measured_rows(logistic, x, y, points) < (numbers - 3) / 2  # floats see less than half of that


def test_of_more_rows_no_single_covariate_is_known():
    """Beyond the bound every covariate can move while all sums stay: the kernel of the Jacobian has a share in each."""
    rng = np.random.default_rng(7)
    points = list(1.5 * rng.normal(size=(2, 3)))
    rows = determined_rows(3, 2, 2) + 1
    J = jacobian(logistic, 2 * rng.normal(size=(rows, 2)), (rng.random(rows) < 0.5).astype(float), points)
    kernel = np.linalg.svd(J)[2][len(J) :]
    assert len(kernel) == 2 * rows - len(J) > 0
    assert (np.linalg.norm(kernel, axis=0) > 1e-6).all()


# What that means


def test_six_rows_are_found_again_from_the_steps_and_not_from_the_last():
    """The sums of a component of six rows at the steps of everybody's fit, in ten digits: solved for its rows."""
    x, y, points = sample(2)
    own, labels = x[:6], y[:6]

    def sums(flat, at):
        return np.concatenate([logistic(flat.reshape(6, 2), labels, theta).sum(axis=0) for theta in at])

    start = own.ravel() + 0.1 * np.random.default_rng(0).normal(size=12)
    for at, known in ((points, True), (points[-1:], False)):
        shown = np.round(sums(own.ravel(), at), 10)
        found = least_squares(
            lambda flat, at=at, shown=shown: sums(flat, at) - shown, start, xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        assert np.abs(found.fun).max() < 1e-8  # both fit what was shown
        assert bool(np.abs(found.x - own.ravel()).max() < 1e-6) is known
    assert measured_excess(logistic, own, labels, points) == 12 - 10


@pytest.mark.parametrize(("rows", "expected"), [(3, 0), (5, 1), (8, 6), (12, 14), (40, None)])
def test_the_excess_is_what_counting_says_or_less(rows, expected):
    """At most as many numbers as there are iterates, or as rows have. Of five rows the last step tells 9 numbers and
    not 10: four of its sums move with the covariate across theta, which tell 4 of 5, and all with that along it."""
    x, y, points = sample(2)
    found = measured_excess(logistic, x[:rows], y[:rows], points)
    assert found <= min(2 * rows, step_numbers(3) * (len(points) - 1))
    assert expected is None or found == expected
    assert exact_rank(x[:5], y[:5], points[-1:]) == 9


def test_closed_forms_by_hand():
    assert [step_numbers(k) for k in (1, 2, 3, 5)] == [3, 6, 10, 21]
    assert determined_rows(k=3, steps=6, covariates=2) == 30
    assert determined_rows(k=5, steps=7, covariates=4) == 36
    assert determined_rows(k=2, steps=1, covariates=4) == 1
