"""The projections onto ``Psi`` and ``Psi_perp`` against dense matrices, on every path and every shape."""

from __future__ import annotations

import tracemalloc

import numpy as np
import projection_twin
import pytest
from numba import get_num_threads, set_num_threads

import sottovoce as sv
from sottovoce.errors import InvalidInput, SottovoceError
from sottovoce.privacy.moments import subspace as module
from sottovoce.privacy.moments.subspace import Solver, Subspace


def general(network, rng, dims, rows, b=True):
    """Random blocks ``A_ij`` with ``dims[i]`` columns and ``rows(i, j)`` rows."""
    A = {(i, j): rng.normal(size=(rows(i, j), dims[i])) for i, j in network.half_edges.tolist()}
    return network.with_constraints(A, {(i, j): np.ones(rows(i, j)) for i, j in network.edges.tolist()} if b else None)


def unequal(network, rng):
    """Dimensions 1, 2, 3 in turn, and one or two rows an edge."""
    return general(network, rng, [1 + i % 3 for i in range(network.n)], lambda i, j: 1 + (i + j) % 2)


def disguised(network, d=2):
    """Consensus written as general constraints: singular, and nobody says so."""
    signs = {(i, j): (1.0 if i > j else -1.0) for i, j in network.half_edges.tolist()}
    return network.with_constraints({key: sign * np.eye(d) for key, sign in signs.items()})


def unused(network):
    """The second entry of every ``x_i`` is in no constraint."""
    signs = {(i, j): (1.0 if i > j else -1.0) for i, j in network.half_edges.tolist()}
    return network.with_constraints({key: [[sign, 0.0]] for key, sign in signs.items()})


NETWORKS = {
    "two nodes": sv.Network.from_edges(2, [(0, 1)]),
    "even ring": sv.Network.ring(6),
    "odd ring": sv.Network.ring(7),
    "tree": sv.Network.from_edges(7, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (5, 6)]),
    "star": sv.Network.star(6),
    "grid": sv.Network.grid(3, 4),
    "complete": sv.Network.complete(6),
    "geometric": sv.Network.random_geometric(12, seed=4),
    "odd ring and tail": sv.Network.from_edges(6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)]),
    "unequal": unequal(sv.Network.random_geometric(9, seed=2), np.random.default_rng(1)),
    "wide blocks": general(sv.Network.ring(5), np.random.default_rng(2), [4] * 5, lambda i, j: 1),
    "tall blocks": general(sv.Network.ring(5), np.random.default_rng(3), [1] * 5, lambda i, j: 3),
    "disguised": disguised(sv.Network.grid(3, 3)),
    "unused": unused(sv.Network.ring(5)),
}
EVERY = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())

# Dense and sparse solutions of systems with condition number kappa(K)^2, at most 1e3 on these networks, differ by
# kappa^2 eps; the conjugate gradients and the factorisation stop at a relative residual of 1e-13, which kappa(K) < 40
# turns into 4e-12 of the projection.
CLOSE, CLOSE_SPARSE = 1e-12, 1e-11


def spanning(network):
    """``[C, PC]``, whose range is ``Psi`` by definition."""
    C = network.C.toarray()
    return np.concatenate([C, C[network.P]], axis=1)


def projector(network):
    B = spanning(network)
    return B @ np.linalg.pinv(B)


PATHS = {
    "dense": {},
    "conjugate gradients": {"DENSE": 0, "BAND": 0.0},
    "factorisation": {"DENSE": 0, "BAND": 1e9},
    "factorisation, one draw at a time": {"DENSE": 0, "BAND": 0.0, "STEPS": 1, "CHUNK": 1},
    "chunks": {"CHUNK": 50},
}


@pytest.fixture(params=PATHS.values(), ids=PATHS.keys())
def path(request, monkeypatch):
    for name, value in request.param.items():
        monkeypatch.setattr(module, name, value)


# Projections


@EVERY
@pytest.mark.usefixtures("path")
def test_projections_are_the_dense_ones(network, rng):
    subspace, Pi = Subspace(network), projector(network)
    z = rng.normal(size=(8, len(Pi))) * np.logspace(-3, 8, 8)[:, None]  # draws of any size, side by side
    z[3] = 0
    size = np.linalg.norm(z, axis=1, keepdims=True)
    assert (np.abs(subspace.psi(z, axis=-1) - z @ Pi) <= CLOSE_SPARSE * size).all()
    assert (np.abs(subspace.perp(z, axis=-1) - (z - z @ Pi)) <= CLOSE_SPARSE * size).all()


@EVERY
@pytest.mark.usefixtures("path")
def test_draws_of_any_size_that_float64_has(network, rng):
    """Their squares leave its range: draws were 0, or never arrived, and from then on all others were factorised."""
    subspace, Pi = Subspace(network), projector(network)
    one, iterates = rng.normal(size=len(Pi)), subspace._solve_plus.iterates
    for size in (1e307, 1e153, 1e-155, 1e-165, 1e-300):
        psi = subspace.psi(size * one) / size
        assert np.abs(psi - Pi @ one).max() <= CLOSE_SPARSE * np.linalg.norm(one)
    assert subspace._solve_plus.iterates == iterates or module.STEPS == 1
    assert np.array_equal(subspace.psi(one * 2.0**600), 2.0**600 * subspace.psi(one))  # to the bit


@EVERY
@pytest.mark.usefixtures("path")
def test_projections_are_idempotent_and_orthogonal(network, rng):
    """``psi(perp(z))`` is the hard part: what is left of the right-hand side is rounding, outside the range."""
    subspace = Subspace(network)
    z = rng.normal(size=(5, network.C.shape[0]))
    psi, perp = subspace.psi(z, axis=-1), subspace.perp(z, axis=-1)
    assert np.abs(subspace.psi(psi, axis=-1) - psi).max() < CLOSE_SPARSE
    assert np.abs(subspace.perp(perp, axis=-1) - perp).max() < CLOSE_SPARSE
    assert np.abs(subspace.psi(perp, axis=-1)).max() < CLOSE_SPARSE
    assert np.abs(subspace.perp(psi, axis=-1)).max() < CLOSE_SPARSE
    assert np.abs(psi @ perp.T).max() < CLOSE_SPARSE * z.shape[1]
    # Draws inside and outside of Psi, together.
    mixed = np.stack([psi[0], perp[1], z[2]])
    np.testing.assert_allclose(subspace.psi(mixed, axis=-1), [psi[0], 0 * z[1], psi[2]], atol=CLOSE_SPARSE)


@EVERY
@pytest.mark.usefixtures("path")
def test_psi_is_what_the_iteration_moves(network, rng):
    """``C x`` and ``P C x`` lie in ``Psi``, and ``Psi_perp`` is what both transposes cannot see (paper, section 4)."""
    subspace, C = Subspace(network), network.C
    x = rng.normal(size=(C.shape[1], 3))
    for inside in ((C @ x).T, (C @ x)[network.P].T):
        assert np.abs(subspace.perp(inside, axis=-1)).max() < CLOSE_SPARSE * max(1, np.abs(inside).max())
    perp = subspace.perp(rng.normal(size=(3, C.shape[0])), axis=-1)
    assert np.abs(C.T @ perp.T).max() < 10 * CLOSE_SPARSE  # times the degrees
    assert np.abs(C.T @ perp.T[network.P]).max() < 10 * CLOSE_SPARSE


@EVERY
def test_dimensions_and_basis(network):
    subspace, B = Subspace(network), spanning(network)
    rank = np.linalg.matrix_rank(B)
    assert subspace.dim_psi == rank
    assert subspace.dim_perp == len(B) - rank
    C = network.C.toarray()
    assert subspace.rank_plus == np.linalg.matrix_rank(C + C[network.P])
    assert subspace.rank_minus == np.linalg.matrix_rank(C - C[network.P])
    basis = subspace.basis()
    assert basis.shape == (len(B), rank)
    assert np.abs(basis.T @ basis - np.eye(rank)).max() < CLOSE
    assert np.abs(basis @ basis.T - projector(network)).max() < CLOSE


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="longdouble is no wider than float64 here")
def test_a_basis_in_extended_precision():
    for name in ("odd ring", "grid", "geometric", "unequal"):
        network = NETWORKS[name]
        basis = Subspace(network).basis(np.longdouble)
        assert basis.dtype == np.longdouble
        # A few dozen products are summed, each rounded at the eps of the type.
        assert np.abs(basis.T @ basis - np.eye(basis.shape[1])).max() < 100 * np.finfo(np.longdouble).eps
        C = network.C.toarray().astype(np.longdouble)
        for inside in (C, C[network.P]):
            assert np.abs(inside - basis @ (basis.T @ inside)).max() < 100 * np.finfo(np.longdouble).eps


@pytest.mark.parametrize("n", [4, 5, 8, 9])
def test_dimensions_by_hand(n):
    """A cycle: one circulation is symmetric; an antisymmetric one exists where signs can alternate around it."""
    assert Subspace(sv.Network.ring(n)).dim_perp == (2 if n % 2 == 0 else 1)
    assert Subspace(sv.Network.star(n)).dim_perp == 0
    complete = sv.Network.complete(n)
    assert Subspace(complete).dim_perp == (complete.m - n + 1) + (complete.m - n)


@pytest.mark.parametrize("scale", [1e-3, 1e-7, 1e-9])
def test_an_edge_in_other_units_still_counts(scale):
    """``0.001 x_0 = 0.001 x_1`` is a constraint like any other, though ``K'K`` squares its size."""
    ring = sv.Network.ring(5)
    A = {
        (i, j): (1.0 if i > j else -1.0) * (scale if {i, j} == {0, 1} else 1.0) * np.eye(1)
        for i, j in ring.half_edges.tolist()
    }
    network = ring.with_constraints(A)
    subspace, B = Subspace(network), spanning(network)
    left, singular, _ = np.linalg.svd(B)
    rank = int((singular > 1e-13 * singular[0]).sum())
    assert rank == 9  # as without the factor
    assert subspace.dim_psi == rank
    # The singular vectors of the small singular value are known to eps / scale.
    Pi = left[:, :rank] @ left[:, :rank].T
    assert np.abs(subspace.psi(np.eye(10), axis=-1) - Pi).max() < 100 * np.finfo(float).eps / scale


# Shapes


def test_every_shape_of_z(network, rng):
    """``(2m,)``, ``(B, 2m)``, ``(2m, d)``, ``(B, 2m, d)``: the same projection, entry by entry of ``x``."""
    subspace, Pi, rows = Subspace(network), projector(network), 2 * network.m
    one, batch = rng.normal(size=rows), rng.normal(size=(4, rows))
    vectors, vector_batch = rng.normal(size=(rows, 3)), rng.normal(size=(4, rows, 3))
    for z, want in (
        (one, Pi @ one),
        (batch, batch @ Pi),
        (vectors, Pi @ vectors),
        (vector_batch, np.einsum("hk,bkd->bhd", Pi, vector_batch)),
        (vector_batch[None], np.einsum("hk,bkd->bhd", Pi, vector_batch)[None]),
        (vectors[:, :1], Pi @ vectors[:, :1]),
        (batch[:0], batch[:0]),
    ):
        for f, expected in ((subspace.psi, want), (subspace.perp, z - want)):
            assert f(z).shape == z.shape
            np.testing.assert_allclose(f(z), expected, atol=CLOSE_SPARSE)
    np.testing.assert_allclose(subspace.psi(one.tolist()), Pi @ one, atol=CLOSE_SPARSE)


def test_z_as_solve_returns_it(network, rng):
    """Batches and vectors, from a run: ``perp(z)`` of a synchronous PDMM run of even length is that of ``z(0)``."""
    subspace = Subspace(network)
    for s, batch in ((rng.normal(size=12), None), (rng.normal(size=12), 3), (rng.normal(size=(12, 2)), 3)):
        problem = sv.averaging(network, s)
        z0 = rng.normal(size=(*([batch] if batch else []), 2 * network.m, *s.shape[1:]))
        run = sv.solve(problem, z0=z0, batch=batch, theta=1.0, c=0.4, tol=0, max_iter=10, seed=1)
        # Ten iterations round at eps |z|.
        np.testing.assert_allclose(subspace.perp(run.z), subspace.perp(z0), atol=1e-12)


def test_a_shape_that_can_be_read_in_two_ways_is_refused(rng):
    network = sv.Network.complete(3)
    subspace, Pi = Subspace(network), projector(network)
    z = rng.normal(size=(6, 6))  # six draws of six half-edges, or six half-edges of dimension six
    with pytest.raises(InvalidInput, match=r"\(6, 6\) can be read in two ways: use axis=-1 for draws"):
        subspace.psi(z)
    with pytest.raises(InvalidInput, match="two ways"):
        subspace.perp(rng.normal(size=(2, 6, 6)))
    np.testing.assert_allclose(subspace.psi(z, axis=-1), z @ Pi, atol=CLOSE)
    np.testing.assert_allclose(subspace.psi(z, axis=-2), Pi @ z, atol=CLOSE)
    np.testing.assert_allclose(subspace.perp(z, axis=-2), z - Pi @ z, atol=CLOSE)
    assert np.abs(z @ Pi - Pi @ z).max() > 0.1  # it does matter


def test_wrong_shapes_are_refused_with_a_sentence():
    subspace = Subspace(sv.Network.ring(5))
    for z in (np.float64(1), np.zeros(9), np.zeros((10, 2, 2)), np.zeros((3, 11))):
        with pytest.raises(InvalidInput, match=r"z must have 10 entries per draw in its last axis, or the one before"):
            subspace.psi(z)
    with pytest.raises(InvalidInput, match=r"10 entries per draw in axis -1; got shape \(10, 3\)"):
        subspace.psi(np.zeros((10, 3)), axis=-1)
    with pytest.raises(InvalidInput, match="in axis 0"):
        subspace.perp(np.zeros((10, 3)), axis=0)
    with pytest.raises(InvalidInput, match="one array of numbers"):
        Subspace(NETWORKS["unequal"]).psi([np.zeros(1), np.zeros(2)])
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidInput, match="finite"):
            subspace.psi(np.full(10, bad))
    for project in (subspace.psi, subspace.perp):
        with pytest.raises(InvalidInput, match="z must be real; got complex numbers"):
            project(np.full(10, 1 + 1j))


def test_a_system_that_is_singular_to_rounding_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "DENSE", 0)
    solver = Solver(np.diag([1.0, 1.0, 0.0]), nullity=None)
    with pytest.raises(SottovoceError, match="could not be solved"):
        solver(np.ones((3, 1)), np.ones(1))  # the right-hand side is not in the range


# Conjugate gradients

SPARSE = {
    "small world": (lambda: sv.Network.watts_strogatz(600, 6, 0.1, seed=1), 2e-12),
    "general": (lambda: disguised(sv.Network.regular(300, 5, seed=2)), 2e-12),
}


@pytest.mark.parametrize(("make", "close"), SPARSE.values(), ids=SPARSE.keys())
@pytest.mark.parametrize("draws", [1, 8, 21])
def test_compiled_conjugate_gradients_are_the_readable_ones(monkeypatch, rng, make, close, draws):
    """Both stop at a residual of 1e-13, times the condition number of ``K``, below 20. On any number of threads the
    bits are the same."""
    monkeypatch.setattr(module, "BAND", 0.0)
    subspace = Subspace(make())
    assert subspace._solve_plus.iterates
    z = rng.normal(size=(draws, subspace.C.shape[0])) * np.logspace(-3, 8, draws)[:, None]
    z[0, :5] = 0
    psi = subspace.psi(z, axis=-1)
    size = np.linalg.norm(z, axis=1, keepdims=True)
    assert (np.abs(psi - projection_twin.psi(subspace, z)) <= close * size).all()
    threads = get_num_threads()
    try:
        set_num_threads(1)
        assert np.array_equal(subspace.psi(z, axis=-1), psi)
    finally:
        set_num_threads(threads)


@pytest.mark.parametrize("precision", [1e-2, 1e-4, 1e-6, 1e-8])
def test_columns_arrive_when_their_own_residual_says_so(monkeypatch, rng, precision):
    """Not that after a sweep, which is smaller or larger, column by column."""
    monkeypatch.setattr(module, "PRECISION", precision)
    hub = [(0, i) for i in range(1, 300)]  # degrees from 2 to 299
    subspace = Subspace(sv.Network.from_edges(300, [*hub, *((i, i + 1) for i in range(1, 299))]))
    for solver in (subspace._solve_plus, subspace._solve_minus):
        r = solver.H @ (rng.normal(size=(300, 8)) * np.linspace(0, 1, 300)[:, None] ** np.arange(8))
        x = solver.iterate(r.copy(), np.zeros(8))
        left = np.linalg.norm(r - solver.H @ x, axis=0)
        assert (left <= precision * (1 + 1e-6) * np.linalg.norm(r, axis=0)).all()


def test_draws_that_do_not_arrive_are_factorised(monkeypatch, rng):
    """The first eight arrive at once, the next in three steps never, the last are like the first."""
    subspace = Subspace(NETWORKS["geometric"])
    z = np.zeros((20, subspace.C.shape[0]))
    z[9:13] = rng.normal(size=(4, z.shape[1]))
    for name, value in {"DENSE": 0, "BAND": 0.0, "STEPS": 3}.items():
        monkeypatch.setattr(module, name, value)
    asked = []
    monkeypatch.setattr(
        Solver, "__call__", lambda self, r, size, solve=Solver.__call__: asked.append(r) or solve(self, r, size)
    )
    psi = subspace.psi(z)
    assert [r.shape[1] for r in asked] == [8, 8]  # of both systems
    assert np.abs(psi - z @ projector(subspace.network)).max() < CLOSE_SPARSE
    assert subspace._solve_plus.iterates
    asked.clear()
    subspace.psi(z[9:])  # the first do not arrive: no others are tried
    assert [r.shape[1] for r in asked] == [11, 11]
    assert not subspace._solve_plus.iterates


# Large


LARGE = {
    # 2e5 half-edges each. An expander takes conjugate gradients, the plane a factorisation.
    "expander": (lambda: sv.Network.regular(25_000, 8, seed=1), False),
    "plane": (lambda: sv.Network.random_geometric(20_000, radius=0.0129, seed=1, largest_component=True), True),
}


@pytest.mark.parametrize(("make", "factorised"), LARGE.values(), ids=LARGE.keys())
def test_large_batches_in_bounded_memory(monkeypatch, rng, make, factorised):
    network = make()
    rows, draws, width = 2 * network.m, 20, 2
    assert 190_000 < rows < 210_000
    subspace = Subspace(network)
    z = rng.normal(size=(draws, rows))
    monkeypatch.setattr(module, "CHUNK", width * rows)
    subspace.psi(z[0])  # makes what is made once
    tracemalloc.start()
    psi = subspace.psi(z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert subspace._solve_plus.iterates != factorised
    # The result, a byte per number for the check that all are finite, and a few arrays: of one chunk, or of eight
    # draws for each thread, with a number for each node.
    chunk = 8 * width * rows if factorised else get_num_threads() * (8 * 8 * network.n)
    assert peak < psi.nbytes + z.size + 8 * chunk
    C, perp = network.C, (z - psi).T
    # Relative residual 1e-13 of K'z, whose norm is about 2 |z|.
    bound = 1e-12 * np.linalg.norm(z[0])
    assert np.linalg.norm(C.T @ perp, axis=0).max() < bound
    assert np.linalg.norm(C.T @ perp[network.P], axis=0).max() < bound
    # |Pi z|^2 has expectation dim and variance 2 dim.
    dim = subspace.dim_psi
    assert np.abs((psi**2).sum(axis=1) - dim).max() < 5 * np.sqrt(2 * dim)
    assert np.abs(subspace.psi(z[0] - psi[0])).max() < 1e-11
