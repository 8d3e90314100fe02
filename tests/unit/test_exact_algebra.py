"""Exact algebra against Gauss and Jordan on the columns themselves, in fractions: no shared code, no Gram matrix."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.errors import InvalidInput, Undetermined
from sottovoce.numerics.exact_algebra import (
    PRIME,
    NestedModels,
    independent,
    inverse_of,
    is_semidefinite,
    least_squares,
    nearest,
    residual_squares,
    solved,
)
from sottovoce.numerics.exact_sweeps import BITS, WORK, ExactSweeps, RoundedSweeps, effort, sweeps_of

EXAMPLES = settings(max_examples=60, deadline=None)
ROUNDED = 0  # work, with which nothing is exact
BOTH = pytest.mark.parametrize("work", [10**30, ROUNDED], ids=["exact", "rounded"])


def table(rows):
    """An array of objects, whatever they are."""
    return np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object).reshape(len(rows), -1)


def whole(rows):
    return np.array([[int(entry) for entry in row] for row in rows], dtype=object)


def reduced(matrix):
    """Gauss-Jordan: the reduced matrix and its columns with a pivot."""
    M, pivots = [[Fraction(entry) for entry in row] for row in matrix], []
    for j in range(len(M[0])):
        place = next((i for i in range(len(pivots), len(M)) if M[i][j]), None)
        if place is None:
            continue
        r = len(pivots)
        M[r], M[place] = M[place], M[r]
        M[r] = [entry / M[r][j] for entry in M[r]]
        for i in range(len(M)):
            if i != r and M[i][j]:
                M[i] = [entry - M[i][j] * above for entry, above in zip(M[i], M[r], strict=True)]
        pivots.append(j)
    return M, pivots


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def fitted(X, y):
    """Columns kept, coefficients, inverse and residual sum of squares, from columns of a table."""
    kept = reduced(X)[1] if len(X[0]) else []
    columns = [[row[j] for row in X] for j in kept]
    if not kept:
        return kept, [], [], dot(y, y)
    identity = [[int(i == j) for j in range(len(kept))] for i in range(len(kept))]
    normal = [[dot(a, b) for b in columns] + identity[i] + [dot(a, y)] for i, a in enumerate(columns)]
    solution = reduced(normal)[0]
    b, inverse = [row[-1] for row in solution], [row[len(kept) : -1] for row in solution]
    left = [value - dot(b, [column[r] for column in columns]) for r, value in enumerate(y)]
    return kept, b, inverse, dot(left, left)


def floats(numbers):
    return [float(number) for number in numbers]  # Python rounds a fraction once


def agree(found, exact, sizes, work):
    """To the bit. What is below 2^-150 of its size may be 0 where it is rounded (``exact_sweeps``: below 2^-160, and
    sizes are powers of two there)."""
    return all(
        a == b or (not work and a == 0 and abs(b) < 2.0**-150 * size)
        for a, b, size in zip(np.ravel(found).tolist(), floats(np.ravel(exact)), np.ravel(sizes).tolist(), strict=True)
    )


@st.composite
def designs(draw, most=5, bits=90):
    """Rows of integers of any size whose columns hang on each other, or not; the last is the target."""
    p, n = draw(st.integers(1, most)), draw(st.integers(1, 8))
    entries = st.integers(-3, 3) | st.integers(-(2**bits), 2**bits)
    X = [draw(st.lists(entries, min_size=p, max_size=p)) for _ in range(n)]
    for _ in range(draw(st.integers(0, 2))):
        of, by, to = (draw(st.integers(0, p - 1)) for _ in range(3))
        factor = draw(st.integers(-2, 2))
        X = [[*row[:to], row[of] + factor * row[by], *row[to + 1 :]] for row in X]
    return X


def gram_of(X):
    X = whole(X)
    return X.T @ X


@BOTH
@EXAMPLES
@given(X=designs())
def test_dependent_columns_are_those_without_a_pivot(work, X):
    assert independent(gram_of(X), work=work) == reduced(X)[1]


def test_a_multiple_of_the_prime_is_looked_at_again():
    """With as much work as it takes; what is more is beyond the promise, and here is what it then means."""
    assert independent([[1, 0], [0, PRIME]]) == [0, 1]
    assert independent([[PRIME, 1], [1, 1]]) == [0, 1]
    assert independent([[1, 0], [0, PRIME]], work=ROUNDED) == [0]


def test_large_ranks():
    rng = np.random.default_rng(3)
    X = whole(rng.integers(-(2**40), 2**40, (90, 60)))
    X[:, 7] = X[:, 3] - X[:, 5]
    X[:, 59] = X[:, :10].sum(axis=1)
    G = X.T @ X
    assert effort(G) > WORK
    assert independent(G) == [k for k in range(60) if k not in (7, 59)]
    assert is_semidefinite(G)
    for k in (20, 7):  # of a column of its own no more than half can go, and of a dependent one nothing
        less = G.copy()
        less[k, k] -= G[k, k] // 2 if k == 20 else 1
        assert not is_semidefinite(less)
    G[3, 59] = G[59, 3] = G[3, 59] + 1
    assert not is_semidefinite(G)
    with pytest.raises(InvalidInput, match="not positive semidefinite"):
        independent(G)


def minors(A):
    for size in range(1, len(A) + 1):
        for places in combinations(range(len(A)), size):
            yield determinant([[Fraction(A[i][j]) for j in places] for i in places])


def determinant(M):
    if not M:
        return 1
    return sum(
        (-1) ** j * M[0][j] * determinant([row[:j] + row[j + 1 :] for row in M[1:]]) for j in range(len(M)) if M[0][j]
    )


@BOTH
@EXAMPLES
@given(X=designs(most=4), at=st.integers(0, 3), by=st.sampled_from([0, 1, -1, 2**60, -(2**60)]))
def test_semidefinite_if_no_principal_minor_is_negative(work, X, at, by):
    G = gram_of(X)
    G[at % len(G), at % len(G)] += by
    assert is_semidefinite(G, work=work) == all(minor >= 0 for minor in minors(G.tolist()))


@BOTH
@EXAMPLES
@given(entries=st.lists(st.integers(-3, 9), min_size=10, max_size=10))
def test_semidefinite_of_any_symmetric_matrix(work, entries):
    A = [[0] * 4 for _ in range(4)]
    for (i, j), entry in zip(np.argwhere(np.tri(4)).tolist(), entries, strict=True):
        A[i][j] = A[j][i] = entry
    assert is_semidefinite(A, work=work) == all(minor >= 0 for minor in minors(A))


@BOTH
def test_a_matrix_that_is_hardly_indefinite(work):
    """Its least eigenvalue is about ``-2**-1200`` of the others: rounded sweeps take more bits until they see it."""
    large = 2**1200
    for last, answer in ((1, True), (0, True), (-1, False)):
        A = [[large, large, 0], [large, large + last, 0], [0, 0, large]]
        assert is_semidefinite(A, work=work) is answer


@BOTH
@EXAMPLES
@given(X=designs(), divisor=st.integers(1, 12))
def test_solutions_and_inverses(work, X, divisor):
    kept = reduced(X)[1]
    A = np.array([[Fraction(int(entry), divisor) for entry in row] for row in gram_of(X)[np.ix_(kept, kept)]], object)
    if not kept:
        return
    B = [[Fraction(3 * i - j, 7) for j in range(2)] for i in range(len(kept))]
    identity = np.eye(len(kept), dtype=int).tolist()
    exact = reduced([[*row, *right, *one] for row, right, one in zip(A.tolist(), B, identity, strict=True)])[0]
    X_, inverse = [row[len(kept) : -len(kept)] for row in exact], [row[-len(kept) :] for row in exact]
    if work:
        assert solved(A, B, work=work).tolist() == X_
        assert inverse_of(A, work=work).tolist() == inverse
    length = np.sqrt(nearest(np.diagonal(A)))
    sizes = np.outer(1 / length, (np.abs(nearest(B)) / length[:, None]).max(axis=0))
    assert agree(nearest(solved(A, B, work=work)), X_, sizes, work)
    assert agree(nearest(solved(A, [row[0] for row in B], work=work)), [row[0] for row in X_], sizes[:, 0], work)
    assert agree(nearest(inverse_of(A, work=work)), inverse, np.outer(1 / length, 1 / length), work)


@BOTH
def test_singular_matrices_have_no_solution(work):
    G = gram_of([[1, 2, 3], [4, 5, 9], [7, 8, 15], [1, 0, 1]])
    with pytest.raises(Undetermined, match="column 2 depends"):
        solved(G, [1, 2, 3], work=work)
    with pytest.raises(Undetermined, match="column 2 depends"):
        inverse_of(G, work=work)
    with pytest.raises(Undetermined, match="column 1"):
        inverse_of([[1, 2], [2, 1]], work=work)


LARGE = st.integers(-(2**1080), 2**1080)


@EXAMPLES
@given(LARGE | st.integers(-9, 9), LARGE.map(abs).map(lambda size: size + 1) | st.integers(1, 9))
def test_nearest_is_no_further_than_its_neighbours(above, below):
    exact = Fraction(above, below)
    found = float(nearest([exact])[0])
    if abs(exact) >= 2**1024 - 2**970:  # the middle between the largest and what would come next
        assert found == (math.inf if exact > 0 else -math.inf)
        return
    away = abs(Fraction(found) - exact)
    for neighbour in (math.nextafter(found, math.inf), math.nextafter(found, -math.inf)):
        if math.isfinite(neighbour):
            other = abs(Fraction(neighbour) - exact)
            assert away < other or (away == other and np.float64(found).view(np.int64) % 2 == 0)


def test_nearest_at_the_ends():
    tiny, huge = Fraction(1, 2**1074), 2**1024
    values = [tiny / 2, tiny * 3 / 4, -tiny / 4, huge, -huge, Fraction(huge, 3), 2**53 + 1, 2**53 + 3, np.int64(7)]
    found = nearest(np.array(values, dtype=object))
    assert found.tolist() == [0, 5e-324, 0, math.inf, -math.inf, 5.992310449541053e307, 2.0**53, 2.0**53 + 4, 7]
    assert not np.signbit(found[2])


@BOTH
@EXAMPLES
@given(X=designs(), constant=st.booleans())
def test_least_squares(work, X, constant):
    data = [[1, *row] for row in X]
    target, regressors = len(data[0]) - 1, range(0 if constant else 1, len(data[0]) - 1)
    y = [row[target] for row in data]
    kept, b, inverse, left = fitted([[row[j] for j in regressors] for row in data], y)
    model = NestedModels(gram_of(data), target, work=work).fit(regressors)
    assert model.columns == tuple(regressors[k] for k in kept)
    length = np.sqrt(nearest(np.diagonal(gram_of(data))))
    own = length[list(model.columns)]
    assert agree(model.coefficients, b, length[target] / own, work)
    assert agree(model.inverse, inverse, np.outer(1 / own, 1 / own), work)
    assert agree(model.residual_squares, left, length[target] ** 2, work)
    assert model.squares_about_zero == float(dot(y, y))
    assert agree(model.squares_about_mean, fitted([[1]] * len(y), y)[3], float(dot(y, y)), work)


@EXAMPLES
@given(X=designs(most=6, bits=20), models=st.lists(st.sets(st.integers(0, 5)), max_size=6))
def test_nested_models_in_any_order(X, models):
    """Each from the one before it; a rounded one leaves exactly as much as another of the same span."""
    data = [[1, *row] for row in X]
    target = len(data[0]) - 1
    exact, rounded = (NestedModels(gram_of(data), target, work=work) for work in (10**30, ROUNDED))
    y = [row[target] for row in data]
    left = {}
    for model in models:
        columns = sorted(k for k in model if k < target)
        kept, _, _, squares = fitted([[row[j] for j in columns] for row in data], y)
        assert exact.independent(columns) == rounded.independent(columns) == tuple(columns[k] for k in kept)
        assert exact.residual_squares(columns) == residual_squares(gram_of(data), columns, target) == squares
        assert agree(nearest(rounded.residual_squares(columns)), squares, float(dot(y, y)), ROUNDED)
        assert left.setdefault(squares, rounded.residual_squares(columns)) == rounded.residual_squares(columns)


@BOTH
def test_units_are_those_of_the_data(work):
    """Columns in tenths and thirds, a target in hundredths: as fractions of the data themselves."""
    units = [Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(1, 100)]
    data = [[1, 3, 5, 271], [1, 4, 9, 314], [1, 1, 2, 141], [1, 6, 7, 161], [1, 2, 8, 577]]
    plain = [[entry * unit for entry, unit in zip(row, units, strict=True)] for row in data]
    _, b, inverse, left = fitted([row[:3] for row in plain], [row[3] for row in plain])
    model = NestedModels(gram_of(data), 3, units, work=work).fit([0, 1, 2])
    assert model.coefficients.tolist() == floats(b)
    assert model.inverse.tolist() == [floats(row) for row in inverse]
    assert model.residual_squares == float(left)


@BOTH
def test_a_perfect_fit_leaves_nothing(work):
    X = [[1, k, k * k, 2**70 * k + 3 * k * k] for k in range(6)]
    model = NestedModels(gram_of(X), 3, work=work).fit([0, 1, 2])
    assert model.coefficients.tolist() == [0, 2.0**70, 3]
    assert model.residual_squares == 0


@BOTH
def test_a_hard_polynomial(work):
    """Degree 10 in 82 points with nine decimals between -3 and -9, as NIST's Filip is, whose scaled products have a
    condition number of about ``1e30``."""
    x = [-3_132_002_490 - (k * 5_649_349_050) // 81 - k * k % 7 for k in range(82)]
    y = [8_000 + (k * k * 331) % 1_201 for k in range(82)]
    data = [[a**power for power in range(11)] + [b] for a, b in zip(x, y, strict=True)]
    units = [Fraction(1, 10 ** (9 * power)) for power in range(11)] + [Fraction(1, 10**4)]
    plain = [[entry * unit for entry, unit in zip(row, units, strict=True)] for row in data]
    _, b, inverse, left = fitted([row[:-1] for row in plain], [row[-1] for row in plain])
    models = NestedModels(gram_of(data), 11, units, work=work)
    model = models.fit(range(11))
    assert model.columns == tuple(range(11))
    assert model.coefficients.tolist() == floats(b)
    assert model.inverse.tolist() == [floats(row) for row in inverse]
    assert model.residual_squares == float(left)
    if not work:
        assert models._sweeps.bits > BITS
    by_numpy = np.linalg.lstsq(
        np.array([row[:-1] for row in plain], float), np.array([row[-1] for row in plain], float)
    )
    assert np.abs(by_numpy[0] / model.coefficients - 1).max() > 1e-9  # hard it is


def test_a_bad_condition_that_no_pivot_shows():
    """``R'R`` of a triangular ``R`` with 1 on its diagonal and up to 1000 above: each column leaves some ``2^-22`` of
    itself, and yet the inverse has entries beyond ``2^300``."""
    upper = np.triu(np.random.default_rng(2).integers(-(10**6), 10**6, (30, 30)), 1)
    R = whole(upper + 1000 * np.eye(30, dtype=int))
    exact = inverse_of(R.T @ R, work=10**11)
    assert max(exact.flat) * 1000**2 > 2**300
    assert nearest(inverse_of(R.T @ R, work=ROUNDED)).tolist() == nearest(exact).tolist()


@BOTH
def test_a_right_side_of_another_size(work):
    assert nearest(solved([[2**600]], [3], work=work)).tolist() == [3 * 2.0**-600]
    assert nearest(solved([[3]], [2**600], work=work)).tolist() == [float(Fraction(2**600, 3))]


def test_large_models_are_rounded_and_equal():
    """What is beyond ``WORK`` by itself, against exact sweeps."""
    rng = np.random.default_rng(5)
    X = whole(rng.integers(-(2**60), 2**60, (40, 25)))
    X[:, 0] = 1
    G = X.T @ X
    assert isinstance(sweeps_of(G, WORK), RoundedSweeps)
    assert type(sweeps_of(G, 10**11)) is ExactSweeps
    fast, exact = least_squares(G, range(24), 24), NestedModels(G, 24, work=10**11).fit(range(24))
    assert fast.columns == exact.columns
    assert fast.coefficients.tobytes() == exact.coefficients.tobytes()
    assert fast.inverse.tobytes() == exact.inverse.tobytes()
    assert fast.residual_squares == exact.residual_squares


@BOTH
def test_no_columns(work):
    G = [[4, 6], [6, 10]]
    model = NestedModels(G, 1, work=work).fit([])
    assert (model.columns, model.coefficients.shape, model.inverse.shape) == ((), (0,), (0, 0))
    assert (model.residual_squares, model.squares_about_zero, model.squares_about_mean) == (10, 10, 1)
    assert independent(np.empty((0, 0), dtype=object), work=work) == []
    assert solved(np.empty((0, 0), dtype=object), np.empty((0, 2), dtype=object), work=work).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: independent([[1.0]]), "integers or fractions"),
        (lambda: independent([[1, 2]]), r"square; its shape is \(1, 2\)"),
        (lambda: is_semidefinite([[1, 2], [3, 9]]), "mirror image"),
        (lambda: independent([[1, 0], [0, -1]]), "not positive semidefinite"),
        (lambda: independent([[1, 2], [2, 1]]), "not positive semidefinite"),
        (lambda: independent([[1, 1, 1], [1, 1, 2], [1, 2, 9]]), "not positive semidefinite"),
        (lambda: independent([[1, 1, 1], [1, 1, 2], [1, 2, 9]], work=ROUNDED), "not positive semidefinite"),
        (lambda: solved([[1]], [1, 2]), r"a row for each of the 1 columns of A; its shape is \(2,\)"),
        (lambda: least_squares([[1, 1], [1, 1]], [0], 1, [Fraction(1)]), "one entry for each of 2 columns"),
        (lambda: least_squares([[1, Fraction(1, 2)], [Fraction(1, 2), 1]], [0], 1), "must be integers"),
    ],
)
def test_what_cannot_be_used(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
