"""Statistics of very many numbers are agreed on in blocks of columns, so that memory is that of one block."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.pdmm.solve import solve
from sottovoce.statistics import agreements

N = 6


@pytest.fixture
def played(monkeypatch):
    """Half-edges times columns of every run, its seed, and what it came to; with three columns in a block."""
    found = []

    def watched(problem, **arguments):
        run = solve(problem, **arguments)
        found.append((problem.dim, arguments["seed"], run))
        return run

    monkeypatch.setattr(agreements, "BLOCK", 3 * 2 * N)
    monkeypatch.setattr(agreements, "solve", watched)
    return found


@pytest.fixture
def network():
    return sv.Network.ring(N)


@pytest.fixture
def shards(rng):
    return [(rng.normal(size=(9, 3)), rng.normal(size=9)) for _ in range(N)]


def test_blocks_give_the_answer_of_the_whole(played, network, shards):
    fit = sv.private_least_squares(network, shards, seed=1)
    # 1 count; 4 means in two blocks, 10 products in four, 1 residual: each with the public number that rides along.
    assert [dim for dim, _, _ in played[1:]] == [4, 2, 4, 4, 4, 2, 2]
    assert len({seed for _, seed, _ in played}) == len(played)  # a pad used twice is no pad
    assert [problem.dim for problem in fit.problems] == [1, 5, 11, 2]
    A, b = (np.concatenate(part) for part in zip(*shards, strict=True))
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(A)), A]), b, rcond=None)[0]
    np.testing.assert_allclose(fit.parameters, expected, atol=1e-7)
    for run, blocks in zip(fit.runs, (played[:1], played[1:3], played[3:7], played[7:]), strict=True):
        assert run.z is None
        assert run.iterations == max(block.iterations for _, _, block in blocks)
        assert run.residual == max(block.residual for _, _, block in blocks)
    np.testing.assert_array_equal(fit.runs[2].x[:, 3:6], played[4][2].x[:, :3])
    assert fit.audit_total(corrupt={0}).verdict() == "safe"


def test_counts_in_blocks_are_exact(played, network, rng):
    values = [rng.normal(size=20) for _ in range(N)]
    edges = np.linspace(-2, 2, 12)
    result = sv.private_histogram(network, values, bins=edges)
    assert len(played) == 5  # 13 counts
    np.testing.assert_array_equal(result.counts, np.histogram(np.concatenate(values), edges)[0])


def test_one_block_has_the_bits_of_a_run(monkeypatch, network, shards):
    whole = sv.private_least_squares(network, shards, seed=1)
    monkeypatch.setattr(agreements, "BLOCK", 10 * 2 * N)  # the products, and their rider
    np.testing.assert_array_equal(sv.private_least_squares(network, shards, seed=1).parameters, whole.parameters)


def test_a_block_that_does_not_converge_ends_the_statistic(played, monkeypatch, rng):
    """The count needs ten digits; pads of 1e4 need thirteen, and more iterations on a long ring."""
    network, rows = sv.Network.ring(30), [rng.normal(size=(5, 7)) for _ in range(30)]
    monkeypatch.setattr(agreements, "BLOCK", 3 * 2 * 30)
    enough = sv.private_mean(network, rows, seed=1, overlay="all").runs[0].iterations
    played.clear()
    result = sv.private_mean(network, rows, seed=1, max_iter=enough, overlay="all")
    assert result.status is sv.Status.MAX_ITER
    assert len(played) == 2  # the count, and the first of three blocks
    assert np.isnan(result.runs[1].x[:, 3:7]).all()
    assert not np.isnan(result.runs[1].x[:, :3]).any()
