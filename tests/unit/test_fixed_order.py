"""Fixed order against the same in plain Python: one float at a time, lists and loops, equal to the bit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.errors import InvalidInput, NotConverged
from sottovoce.numerics import fixed_order
from sottovoce.numerics.fixed_order import cholesky, eigen, forward, inverse, product, quadratic, solve, total

EXAMPLES = settings(max_examples=40, deadline=None)
EPSILON = 2.0**-53


def sum_twin(terms):
    result = 0.0
    for term in terms:
        result = result + term
    return result


def product_twin(A, B):
    return [[sum_twin(a * row[j] for a, row in zip(left, B, strict=True)) for j in range(len(B[0]))] for left in A]


def cholesky_twin(A, threshold=0.0):
    n = len(A)
    L, rest = [[0.0] * n for _ in range(n)], [list(row) for row in A]
    for k in range(n):
        if not (rest[k][k] > 0 and rest[k][k] > threshold * A[k][k]):
            return L, k
        L[k][k] = math.sqrt(rest[k][k])
        for i in range(k + 1, n):
            L[i][k] = rest[i][k] / L[k][k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                rest[i][j] = rest[i][j] - L[i][k] * L[j][k]
    return L, None


def forward_twin(L, b):
    y = list(b)
    for i in range(len(y)):
        for k in range(i):
            y[i] = y[i] - L[i][k] * y[k]
        y[i] = y[i] / L[i][i]
    return y


def solve_twin(L, b):
    x = forward_twin(L, b)
    for i in reversed(range(len(x))):
        for k in reversed(range(i + 1, len(x))):
            x[i] = x[i] - L[k][i] * x[k]
        x[i] = x[i] / L[i][i]
    return x


def transposed(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def inverse_twin(L):
    columns = [forward_twin(L, [float(i == j) for i in range(len(L))]) for j in range(len(L))]
    return product_twin(columns, transposed(columns))


def turn_twin(rows, p, q, cosine, sine):
    for j, (first, second) in enumerate(zip(rows[p], rows[q], strict=True)):
        rows[p][j], rows[q][j] = cosine * first - sine * second, sine * first + cosine * second


def eigen_twin(A):
    """Pair after pair of a round, by the matrix from before it: its pairs have no column in common."""
    n = len(A)
    exponent = math.frexp(max(abs(entry) for row in A for entry in row))[1]
    A = [[math.ldexp(A[min(i, j)][max(i, j)], -exponent) for j in range(n)] for i in range(n)]
    S, V = [list(row) for row in A], [[float(i == j) for j in range(n)] for i in range(n)]
    rounds = [list(zip(p.tolist(), q.tolist(), strict=True)) for p, q in fixed_order._rounds(n)]
    turned = True
    while turned:
        turned = False
        for pairs in rounds:
            angles = []
            for p, q in pairs:
                size = abs(S[p][q])
                if size > 2.0**-64 and size > 2.0**-54 * math.sqrt(abs(S[p][p]) * abs(S[q][q])):
                    slope = (S[q][q] - S[p][p]) / (2.0 * S[p][q])
                    t = (-1.0 if slope < 0 else 1.0) / (abs(slope) + math.sqrt(slope * slope + 1.0))
                    cosine = 1.0 / math.sqrt(t * t + 1.0)
                    angles.append((p, q, cosine, t * cosine))
            if not angles:
                continue
            turned = True
            for matrix in (V, S):
                for angle in angles:
                    turn_twin(matrix, *angle)
            S = transposed(S)
            for angle in angles:
                turn_twin(S, *angle)
            for p, q, _, _ in angles:
                S[p][q] = S[q][p] = 0.0
            S = [[(S[i][j] + S[j][i]) * 0.5 for j in range(n)] for i in range(n)]
    inner = product_twin(V, transposed(V))
    V = product_twin([[1.5 * float(i == j) - 0.5 * inner[i][j] for j in range(n)] for i in range(n)], V)
    images = product_twin(V, A)
    values = [sum_twin(a * b for a, b in zip(image, v, strict=True)) for image, v in zip(images, V, strict=True)]
    order = sorted(range(n), key=lambda k: -values[k])
    vectors = []
    for k in order:
        largest = next(entry for entry in V[k] if abs(entry) == max(abs(other) for other in V[k]))
        vectors.append([entry * (-1.0 if largest < 0 else 1.0) for entry in V[k]])
    return [math.ldexp(values[k], exponent) for k in order], transposed(vectors)


def same(found, twin):
    """To the bit, but for the bits of NaN, of which IEEE 754 leaves some open."""
    found, twin = np.array(found, dtype=np.float64), np.array(twin, dtype=np.float64)
    found[np.isnan(found)] = twin[np.isnan(twin)] = np.nan
    return found.shape == twin.shape and found.tobytes() == twin.tobytes()


def random_gram(n, seed, rows=0):
    X = np.random.default_rng(seed).standard_normal((rows or n + 3, n))
    return product(X.T, X)


def nasty():
    """Of all sizes, nearly singular, singular, indefinite, with subnormal numbers, and with equal eigenvalues."""
    sizes = 10.0 ** np.array([150, -150, 0, 8, -8, 3, 100, -100])
    hilbert = 1 / (np.arange(9)[:, None] + np.arange(9) + 1)
    return {
        "random": random_gram(7, 0),
        "larger": random_gram(23, 1),
        "sizes": random_gram(8, 2) * sizes[:, None] * sizes,
        "hilbert": hilbert,
        "singular": random_gram(9, 3, rows=4),
        "indefinite": random_gram(6, 4) - 5 * np.eye(6),
        "zero": np.zeros((3, 3)),
        "one": np.array([[2.5]]),
        "ones": np.ones((6, 6)),
        "identity": np.eye(5),
        "subnormal": random_gram(4, 5) * 2.0**-1060,
        "huge": random_gram(4, 6) * 2.0**1016,
        "centring": 6 * np.eye(6) - 1,
    }


OVERFLOWS = pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
MATRICES = pytest.mark.parametrize("A", nasty().values(), ids=nasty())
SYMMETRIC = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.floats(-1e6, 1e6, width=32), min_size=n * n, max_size=n * n).map(
        lambda entries: np.triu(np.reshape(entries, (n, n))) + np.triu(np.reshape(entries, (n, n)), 1).T
    )
)


@OVERFLOWS
@MATRICES
@pytest.mark.parametrize("threshold", [0.0, 1e-9])
def test_cholesky_is_that_of_loops(A, threshold):
    L, column = cholesky(A, threshold)
    twin, place = cholesky_twin(A.tolist(), threshold)
    assert same(L, twin)
    assert column == place
    if column is None:
        b = np.random.default_rng(9).standard_normal((len(A), 3))
        assert same(solve(L, b).T, [solve_twin(L.tolist(), column) for column in b.T.tolist()])
        assert same(solve(L, b[:, 0]), solve_twin(L.tolist(), b[:, 0].tolist()))
        assert same(forward(L, b[:, 0]), forward_twin(L.tolist(), b[:, 0].tolist()))
        assert same(inverse(L), inverse_twin(L.tolist()))
        assert same(inverse(L), inverse(L).T.copy())


@OVERFLOWS
@MATRICES
def test_products_are_those_of_loops(A):
    v = np.random.default_rng(8).standard_normal((4, len(A)))
    images = product_twin(v.tolist(), A.tolist())
    forms = [
        sum_twin(a * b for a, b in zip(image, row, strict=True)) for image, row in zip(images, v.tolist(), strict=True)
    ]
    assert same(product(v, A), images)
    assert same(product(v, A[:, 0]), [row[0] for row in product_twin(v.tolist(), A[:, :1].tolist())])
    assert same(quadratic(A, v), forms)
    assert same(quadratic(A, v[0]), forms[0])
    assert same(total(A), [sum_twin(column) for column in A.T.tolist()])


@MATRICES
def test_eigen_is_that_of_loops(A):
    values, vectors = eigen(A)
    twins = eigen_twin(A.tolist())
    assert same(values, twins[0])
    assert same(vectors, twins[1])


@EXAMPLES
@given(SYMMETRIC)
def test_any_matrix_is_that_of_loops(A):
    L, column = cholesky(A)
    twin, place = cholesky_twin(A.tolist())
    assert same(L, twin)
    assert column == place
    values, vectors = eigen(A)
    twins = eigen_twin(A.tolist())
    assert same(values, twins[0])
    assert same(vectors, twins[1])


def test_sums_go_from_the_first_to_the_last():
    """In another order, such as that of pairs, these are something else."""
    terms = np.array([2.0**53, 1.0, 1.0, -(2.0**53)])
    assert total(terms) == 0
    assert total(terms[::-1]) == 2
    assert (terms[0] + terms[1]) + (terms[2] + terms[3]) == 1
    assert product(terms[None], np.ones(4)).tolist() == [0]


@MATRICES
def test_eigen_solves(A):
    """Against LAPACK, within what either can know: a few roundings of the largest one, or the least number there is."""
    values, vectors = eigen(A)
    n, size = len(A), np.abs(A).max() or 1.0
    known = 8 * n * EPSILON * n + math.ulp(0.0) / size
    assert np.abs(values / size - np.linalg.eigvalsh(A / size)[::-1]).max() <= known
    assert np.abs((A / size) @ vectors - vectors * (values / size)).max() <= known
    assert np.abs(vectors.T @ vectors - np.eye(n)).max() <= 8 * n * EPSILON
    assert (np.diff(values) <= 0).all()
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(n)] > 0).all()


def test_equal_eigenvalues_have_the_same_axes_in_each_call():
    values, vectors = eigen(np.eye(4))
    assert values.tolist() == [1] * 4
    assert vectors.tolist() == np.eye(4).tolist()


@pytest.mark.parametrize("n", range(8))
def test_each_column_meets_each_other_once(n):
    rounds = [list(zip(p.tolist(), q.tolist(), strict=True)) for p, q in fixed_order._rounds(n)]
    assert all(len({k for pair in pairs for k in pair}) == 2 * len(pairs) for pairs in rounds)
    assert sorted(pair for pairs in rounds for pair in pairs) == [(i, j) for i in range(n) for j in range(i + 1, n)]


def test_cholesky_solves():
    """The residual of a solution against fractions, within Higham's bound (Accuracy and Stability of Numerical
    Algorithms, 2nd ed., theorem 10.4): ``gamma(3n + 1) n max|A| max|x|``."""
    A = random_gram(12, 7)
    b = np.random.default_rng(1).standard_normal(12)
    L, column = cholesky(A)
    assert column is None
    x = solve(L, b)
    for row, right in zip(A.tolist(), b.tolist(), strict=True):
        left = sum((Fraction(a) * Fraction(c) for a, c in zip(row, x.tolist(), strict=True)), Fraction(0))
        assert abs(left - Fraction(right)) <= 37 * EPSILON * 12 * np.abs(A).max() * np.abs(x).max()
    assert np.allclose(inverse(L), np.linalg.inv(A), rtol=1e-12)


def test_the_column_that_depends_on_others():
    X = np.random.default_rng(4).standard_normal((20, 5))
    X[:, 3] = X[:, 0] - X[:, 1] + 1e-5 * X[:, 4]
    A = product(X.T, X)
    assert cholesky(A)[1] is None
    L, column = cholesky(A, 1e-8)
    assert column == 3
    assert (L[:, 3:] == 0).all()
    assert (L[3:, :3] != 0).all()
    units = np.array([1, 1, 1, 1e-9, 1])
    assert cholesky(A * units[:, None] * units, 1e-8)[1] == 3
    assert cholesky(A * units[:, None] * units)[1] is None
    assert cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))[1] == 1
    assert cholesky(np.array([[1.0, 0.0], [0.0, np.nan]]))[1] == 1
    assert cholesky(np.array([[np.inf, 0.0], [0.0, 1.0]]))[1] == 0


def test_only_half_of_a_matrix_is_read():
    A = random_gram(5, 1)
    noise = np.random.default_rng(2).standard_normal((5, 5))
    assert same(cholesky(np.tril(A) + np.triu(noise, 1))[0], cholesky(A)[0])
    assert same(eigen(np.triu(A) + np.tril(noise, -1))[1], eigen(A)[1])


def test_arguments_stay_as_they_are():
    A, b = random_gram(5, 1), np.arange(5.0)
    L = cholesky(A)[0]
    before = A.copy(), L.copy(), b.copy()
    for part in (solve(L, b), inverse(L), product(A, L), quadratic(A, b), *eigen(A)):
        assert not any(np.shares_memory(part, array) for array in (A, L, b))
    assert all(same(array, twin) for array, twin in zip((A, L, b), before, strict=True))


def test_what_cannot_be_used(monkeypatch):
    square = pytest.raises(InvalidInput, match=r"square; its shape is \(2, 3\)")
    for call in (cholesky, eigen, inverse):
        with square:
            call(np.ones((2, 3)))
    with pytest.raises(InvalidInput, match=r"b must have 2 rows, as L has; its shape is \(3,\)"):
        solve(np.eye(2), np.ones(3))
    with pytest.raises(InvalidInput, match=r"shapes \(2, 2\) and \(3,\) have no product"):
        product(np.eye(2), np.ones(3))
    with pytest.raises(InvalidInput, match="finite"):
        eigen(np.array([[np.nan]]))
    monkeypatch.setattr(fixed_order, "CYCLES", 2)
    with pytest.raises(NotConverged, match="2 cycles"):
        eigen(random_gram(20, 1))


def test_empty_matrices():
    nothing = np.empty((0, 0))
    assert cholesky(nothing)[1] is None
    assert [part.shape for part in eigen(nothing)] == [(0,), (0, 0)]
    assert product(np.empty((2, 0)), np.empty((0, 3))).tolist() == [[0, 0, 0]] * 2
