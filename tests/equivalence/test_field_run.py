"""The compiled run modulo a prime against its twin in NumPy: the same rows, to the last digit."""

from __future__ import annotations

import encrypted_fuzz
import field_twin
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy import Transcript, audit
from sottovoce.privacy.encrypted import own_edges
from sottovoce.privacy.encrypted.own_edges import EncryptedRun
from sottovoce.privacy.encrypted.prime_field import PRIMES, Span, product
from sottovoce.privacy.methods.secrets_and_prior import secrets_of

SCHEDULES = [sv.Synchronous(), sv.Asynchronous(), sv.NodeBernoulli(0.5), sv.EdgeBernoulli(0.6), sv.Delayed(2)]


def both(monkeypatch, how, p):
    run = how.modulo(p)
    with monkeypatch.context() as patched:
        patched.setattr(own_edges, "FieldRun", field_twin.FieldRun)
        return run, how.modulo(p)


def same(run, twin):
    assert run.iteration == twin.iteration
    assert np.array_equal(run.learned.pivots, twin.learned.pivots)
    assert np.array_equal(run.learned.rows, twin.learned.rows)
    assert np.array_equal(run.woken, twin.woken)


@pytest.mark.parametrize("seed", range(25))
def test_the_compiled_run_learns_what_its_twin_learns(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    n, schedule = int(rng.integers(3, 13)), SCHEDULES[seed % 5]
    network = encrypted_fuzz.network_of(rng, n)
    if seed % 3 == 0:
        problem = sv.averaging(network, np.zeros(n))
    else:  # vectors, with Hessians that mix their entries
        Q = [[[2.0 + i, 0.5], [0.5, 1.0]] for i in range(n)]
        problem = sv.Problem(network, [sv.Quadratic(np.array(Q[i]), np.zeros(2)) for i in range(n)])
    corrupt = frozenset(rng.choice(n, int(rng.integers(1, min(3, n))), replace=False).tolist())
    theta, c = float(rng.choice([1.0, 0.8, 0.5])), float(rng.choice([0.4, 1.0, 2.0]))
    unmasked = np.zeros((1, 0)) if seed % 7 == 6 else None
    how = EncryptedRun(secrets_of(problem, 1.0), schedule, corrupt, theta=theta, c=c, seed=seed, factor=unmasked)
    run, twin = both(monkeypatch, how, PRIMES[seed % 3])
    for _ in range(3):
        iterations = int(rng.integers(1, 1 + 3 * schedule.round(network)))
        run.play(iterations)
        twin.play(iterations)
        same(run, twin)
        assert run.opened(run.woken) == twin.opened(twin.woken)
        assert schedule.late or run.shown() == twin.shown()
    run, twin = both(monkeypatch, how, PRIMES[seed % 3])
    assert how.play_out(run) == how.play_out(twin)
    same(run, twin)


@pytest.mark.parametrize("seed", range(16))
def test_what_can_still_come_is_the_space_of_the_twin(monkeypatch, seed):
    """Of a state of unit vectors, one for each entry, the images are the functionals themselves."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    network = encrypted_fuzz.network_of(rng, n)
    schedule = sv.Asynchronous() if seed % 2 else sv.EdgeBernoulli(0.6)
    secrets = secrets_of(sv.averaging(network, np.zeros(n)), 1.0)
    how = EncryptedRun(secrets, schedule, frozenset({int(rng.integers(n))}), theta=0.8, c=0.4, seed=seed)
    run, twin = both(monkeypatch, how, PRIMES[0])
    entries = len(run.own) + len(run.between)
    q, z = (np.zeros((len(rows), entries), dtype=np.uint32) for rows in (run.q, run.start))
    q[run.own], z[run.between] = np.split(np.eye(entries, dtype=np.uint32), [len(run.own)])
    change = run.said(z, q, np.arange(n))[run.P[run.between]].astype(np.int64) - z[run.between]
    moved = [product(rows, change[block] % run.p, run.p) for block, rows in run.ahead.blocks]
    found, future = Span(entries, run.p), twin.future()
    found.add(np.vstack([run.ahead.first, *moved]))
    assert found.rank == future.rank
    assert not future.without(found.rows).any()


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()])
@pytest.mark.parametrize(("theta", "iterations"), [(1.0, None), (0.8, None), (0.8, 60)])
def test_reports_are_those_of_the_twin(monkeypatch, schedule, theta, iterations):
    network = sv.Network.random_geometric(24, seed=3)
    how = {"mask": sv.GaussianMask(10.0), "corrupt": {0, 5}, "channels": "encrypted", "seed": 1, "prior": 1.0}
    more = {"schedule": schedule, "theta": theta, "c": 0.4, "seen": Transcript(iterations)}
    report = audit(sv.averaging(network, np.zeros(24)), **how, **more)
    monkeypatch.setattr(own_edges, "FieldRun", field_twin.FieldRun)
    twin = audit(sv.averaging(network, np.zeros(24)), **how, **more)
    assert (report.guarantee, report.method) == (twin.guarantee, twin.method)
    for name in ("leakage", "floor", "excess", "posterior_std"):
        np.testing.assert_allclose(getattr(report, name), getattr(twin, name), rtol=0, atol=1e-9)
