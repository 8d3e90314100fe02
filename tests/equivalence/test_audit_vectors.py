"""Vector secrets: the auditor against a dense Gaussian computation that knows nothing of it.

Every message is a row over ``(s, z(0))``, formed as the equations say (theory: The iteration), and one conditioning of
all of them follows. No structure is used, and no rank is saved.
"""

from __future__ import annotations

import numpy as np
import pytest
from situations import TOLERANCE

import sottovoce as sv
from sottovoce.privacy import Transcript, audit

BOWTIE = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])  # 2 cuts it
EVERYBODY = range(6)
VARIANCES = [1.0, 2.0, 0.5, 1.0, 3.0, 0.2]
WAKES = {
    "synchronous": (sv.Synchronous(), 2, [EVERYBODY, EVERYBODY]),
    "asynchronous": (sv.Trace([1, 3, 0, 5, 1, 2, 4, 3, 2]), None, [[1], [3], [0], [5], [1], [2], [4], [3], [2]]),
    "prefix": (sv.Trace(node_sets=[[3], [1, 2], [3]]), None, [[3], [1, 2], [3]]),
}


def functionals(network, Q, c, theta, wakes, corrupt, sees_all):
    """Rows over ``(s, z(0))``: secrets and pads of the coalition, and every message that it sees."""
    n, d = len(Q), Q.shape[1]
    half_edges = [(int(i), int(j)) for i, j in network.half_edges]
    unit = np.eye(d * (n + len(half_edges)))
    s = {i: unit[d * i : d * i + d] for i in range(n)}
    pads = {pair: unit[d * (n + h) : d * (n + h) + d] for h, pair in enumerate(half_edges)}
    z, rows = dict(pads), [*(s[i] for i in corrupt), *(pad for pair, pad in pads.items() if set(pair) & corrupt)]
    for awake in wakes:
        y = {}
        for i in awake:
            around, sign = network.neighbours(i).tolist(), {j: 1.0 if i > j else -1.0 for j in range(n)}
            gradient = sum((sign[j] * z[i, j] for j in around), -Q[i] @ s[i])
            x = -np.linalg.solve(Q[i] + c * len(around) * np.eye(d), gradient)
            y |= {(j, i): z[i, j] + 2 * c * sign[j] * x for j in around}
        rows += [value - pads[pair] for pair, value in y.items() if sees_all or set(pair) & corrupt]
        z |= {pair: (1 - theta) * z[pair] + theta * value for pair, value in y.items()}
    return np.vstack([np.zeros((0, len(unit))), *rows])


def sums(network, Q, corrupt):
    """``sum Q_j s_j`` over each group of honest nodes, and the coalition's secrets; nothing for an eavesdropper."""
    n, d = len(Q), Q.shape[1]
    left, rows = set(range(n)) - corrupt, []
    while left and corrupt:
        group, new = set(), {min(left)}
        while new:
            group |= new
            new = {int(j) for i in new for j in network.neighbours(i)} & left - group
        left -= group
        rows.append(np.hstack([Q[i] if i in group else np.zeros((d, d)) for i in range(n)]))
    rows += [np.hstack([np.eye(d) * (i == j) for j in range(n)]) for i in corrupt]
    pads = np.zeros((d, 2 * network.m * d))
    return np.vstack([np.zeros((0, n * d + pads.shape[1])), *(np.hstack([row, pads]) for row in rows)])


def information(K, V, n, d):
    """``1/2 ln det Cov S_i - 1/2 ln det Cov(S_i | V)``, from the directions that ``V`` leaves."""
    _, sizes, right = np.linalg.svd(V)
    free = right[int((sizes > 1e-9).sum()) :].T  # sizes are 0.01 at least, or rounding
    after = free @ np.linalg.inv(free.T @ np.linalg.inv(K) @ free) @ free.T
    nats = []
    for i in range(n):
        own = slice(d * i, d * i + d)
        left = np.linalg.slogdet(after[own, own])[1] if np.linalg.matrix_rank(after[own, own], 1e-9) == d else -np.inf
        nats.append(0.5 * (np.linalg.slogdet(K[own, own])[1] - left))
    return np.array(nats)


def cases(rng, d):
    """Hessians and priors: dense or isotropic, independent, coupled between nodes, or all over."""
    root = rng.normal(size=(6, d, d))
    dense, isotropic = (
        root @ root.transpose(0, 2, 1) + 0.5 * np.eye(d),
        rng.uniform(0.5, 3, 6)[:, None, None] * np.eye(d),
    )
    between = rng.normal(size=(6, 6))
    everything = rng.normal(size=(6 * d, 6 * d))
    coupled, full = between @ between.T + np.eye(6), everything @ everything.T / d + np.eye(6 * d)
    return {
        "dense costs": (dense, 1.3, 1.3 * np.eye(6 * d)),
        "dense costs, coupled nodes": (dense, coupled, np.kron(coupled, np.eye(d))),
        "isotropic costs, coupled entries": (isotropic, full, full),
        "isotropic costs": (
            isotropic,
            VARIANCES,
            np.kron(np.diag(VARIANCES), np.eye(d)),
        ),
        "all": (dense, full, full),
    }


@pytest.mark.parametrize(
    "name", ["dense costs", "dense costs, coupled nodes", "isotropic costs, coupled entries", "isotropic costs", "all"]
)
@pytest.mark.parametrize("wakes", WAKES)
@pytest.mark.parametrize("d", [2, 3])
def test_vector_secrets(rng, d, wakes, name):
    Q, prior, K_s = cases(rng, d)[name]
    schedule, iterations, awake = WAKES[wakes]
    c, theta, v, n = 0.6, 0.8, 5.0, 6
    problem = sv.Problem(BOWTIE, sv.Quadratic.many(Q[:, 0, 0] if "isotropic" in name else Q, np.zeros((n, d))))
    K = np.zeros(2 * [d * (n + 2 * BOWTIE.m)])
    K[: d * n, : d * n] = K_s
    K[d * n :, d * n :] = v * np.eye(2 * BOWTIE.m * d)
    for corrupt in (set(), {0}, {2}, {1, 5}):
        honest = [i for i in range(n) if i not in corrupt]
        told = sums(BOWTIE, Q, corrupt)
        floor = information(K, told, n, d)[honest]
        for method, channels in (("closed form", "open"), ("elimination", "open"), ("auto", "encrypted")):
            if channels == "encrypted" and not corrupt:
                continue
            report = audit(
                problem, mask=sv.GaussianMask(v), corrupt=corrupt, prior=prior, schedule=schedule, theta=theta, c=c,
                seen=Transcript(iterations), channels=channels, method=method, hessians="public",
            )  # fmt: skip
            V = functionals(BOWTIE, Q, c, theta, awake, corrupt, channels == "open")
            seen, both = (information(K, rows, n, d)[honest] for rows in (V, np.vstack([V, told])))
            got = np.array([report.leakage, report.floor, report.excess])
            np.testing.assert_allclose(got[:, honest], [seen, floor, both - floor], rtol=0, atol=TOLERANCE)
            assert np.isnan(got[:, list(corrupt)]).all()


def test_entries_that_nothing_couples_are_counted_apart(rng):
    """``d`` independent entries leak ``d`` times what one does, and each keeps its standard deviation."""
    one, three = sv.averaging(BOWTIE, np.zeros(6)), sv.averaging(BOWTIE, np.zeros((6, 3)))
    for more in ({}, {"corrupt": {0}}, {"corrupt": {0}, "channels": "encrypted"}):
        single, triple = (audit(p, mask=sv.GaussianMask(7.0), c=0.5, seed=0, **more) for p in (one, three))
        for name in ("leakage", "floor", "excess"):
            np.testing.assert_allclose(getattr(triple, name), 3 * getattr(single, name), rtol=1e-12)
        np.testing.assert_allclose(triple.posterior_std, np.repeat(single.posterior_std, 3, axis=1), rtol=1e-12)
        np.testing.assert_allclose(triple.share, single.share, rtol=1e-12)


def test_disclosed_vectors():
    report = audit(sv.averaging(sv.Network.star(4), np.zeros((4, 2))), mask=sv.GaussianMask(1e8), corrupt={0})
    assert report.exposed == (1, 2, 3)
    assert (report.posterior_std[1:] == 0).all()
