"""Noise on the data of a run: what is drawn, what it does to every kind of quadratic cost, and what a result says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported

RING = sv.Network.ring(4)
NUMBERS = [1.0, 2.0, 3.0, 6.0]
NOISE = sv.LocalNoise(variance=0.5)


def secrets(problem: sv.Problem) -> np.ndarray:
    """``s_i = -Q_i^{-1} q_i``, ``(n, d)``."""
    form = problem.quadratic
    Q = form.Q[:, None, None] * np.eye(problem.dim) if form.Q.ndim == 1 else form.Q
    return -np.linalg.solve(Q, form.q[:, :, None])[:, :, 0]


# What is drawn


def test_seeded_and_secret_noise_have_the_asked_variance():
    for eta in (NOISE.draw((100_000,), seed=1), NOISE.draw((100_000,))):
        # The secret sample differs from run to run: a threshold that chance passes once in 1e9 runs.
        assert stats.kstest(eta, "norm", args=(0, np.sqrt(0.5))).pvalue > 1e-9


def test_a_seed_repeats_the_noise_and_no_seed_does_not():
    np.testing.assert_array_equal(NOISE.draw((5, 2), seed=3), NOISE.draw((5, 2), seed=3))
    assert not np.array_equal(NOISE.draw((5, 2), seed=3), NOISE.draw((5, 2), seed=4))
    assert not np.array_equal(NOISE.draw((5, 2)), NOISE.draw((5, 2)))


def test_noise_and_pads_of_one_seed_have_nothing_in_common():
    pads = sv.GaussianMask(0.5).draw((10_000,), seed=7)
    assert abs(np.corrcoef(pads, NOISE.draw((10_000,), seed=7))[0, 1]) < 0.06  # six standard deviations of chance


def test_noisy_numbers_lie_on_the_grid_of_the_noise():
    """A number between two of its multiples would show in the low bits, whatever is added to it."""
    numbers = np.array([0.1, 1 / 3, np.pi, -2.7])
    noisy = secrets(NOISE.on(sv.averaging(RING, numbers), seed=1))
    assert np.array_equal(noisy / NOISE.grid, np.rint(noisy / NOISE.grid))
    for Q in (np.array([0.3, 1.7, 2.0, 5.5]), np.tile(np.diag([0.7, 2.9]) + 0.1, (4, 1, 1))):
        problem = sv.Problem(RING, sv.Quadratic.many(Q, np.full((4, 2), 0.1)))
        steps = NOISE.on(problem, seed=1).quadratic.q / (NOISE.grid / 4)  # the smallest Q is above 1/4
        assert np.array_equal(steps, np.rint(steps))


@pytest.mark.parametrize("variance", [0, -1.0, np.inf, np.nan, "1", None, True])
def test_a_variance_that_is_none_is_refused(variance):
    with pytest.raises(InvalidInput, match="variance of the noise must be a positive number"):
        sv.LocalNoise(variance)


# On every kind of quadratic cost


def test_on_averages_it_is_added_to_the_numbers():
    problem = sv.averaging(RING, NUMBERS)
    noisy = NOISE.on(problem, seed=5)
    np.testing.assert_allclose(secrets(noisy)[:, 0], NUMBERS + NOISE.draw((4, 1), 5)[:, 0], rtol=0, atol=1e-14)
    assert noisy.shape == problem.shape == ()
    vectors = sv.averaging(RING, np.arange(8.0).reshape(4, 2))
    np.testing.assert_allclose(secrets(NOISE.on(vectors, 5)), secrets(vectors) + NOISE.draw((4, 2), 5), atol=1e-14)


@pytest.mark.parametrize("dense", [False, True], ids=["numbers Q", "matrices Q"])
def test_on_quadratic_costs_it_moves_the_secrets_and_no_curvature(dense):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(4, 2, 2))
    Q = roots @ roots.transpose(0, 2, 1) + np.eye(2) if dense else rng.uniform(1, 3, 4)
    problem = sv.Problem(RING, sv.Quadratic.many(Q, rng.normal(size=(4, 2))))
    noisy = NOISE.on(problem, seed=5)
    np.testing.assert_array_equal(noisy.quadratic.Q, problem.quadratic.Q)
    np.testing.assert_allclose(secrets(noisy), secrets(problem) + NOISE.draw((4, 2), 5), atol=1e-13)


def test_on_several_families_each_party_keeps_its_own():
    rows = np.random.default_rng(1).normal(size=(5, 2))
    costs = [
        sv.Averaging([1.0, 2.0]),
        sv.LeastSquares(rows, rows @ [1.0, -1.0]),
        sv.Quadratic(3.0 * np.eye(2), [1.0, 0.0]),
        sv.Averaging([0.0, 5.0]),
    ]
    problem = sv.Problem(RING, costs)
    noisy = NOISE.on(problem, seed=2)
    np.testing.assert_allclose(secrets(noisy), secrets(problem) + NOISE.draw((4, 2), 2), atol=1e-12)
    result = sv.solve(problem, noise=NOISE, seed=2, c=1.0)
    Q, s = noisy.quadratic.Q, secrets(noisy)
    exact = np.linalg.solve(Q.sum(axis=0), np.einsum("ijk,ik->j", Q, s))
    np.testing.assert_allclose(result.solution, exact, atol=1e-7)


def test_names_and_variables_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kwh": [1.0, 2.0, 3.0], "m2": [50.0, 60.0, 70.0]}, index=["Ada", "Bo", "Cy"])
    network = sv.Network.ring(3).with_labels(["Ada", "Bo", "Cy"])
    problem = sv.averaging(network, frame)
    noisy = NOISE.on(problem, seed=1)
    assert noisy.variables == problem.variables == ("kwh", "m2")
    result = sv.solve(problem, noise=NOISE, seed=1, c=0.5)
    assert list(result.to_frame().columns) == ["node", "kwh", "m2"]
    np.testing.assert_allclose(result["Bo"], secrets(noisy).mean(axis=0), atol=1e-8)
    assert result.problem is problem  # the one without noise


# What comes out


def test_the_answer_is_exact_for_the_noisy_numbers_and_off_by_their_noise():
    problem, mask = sv.averaging(RING, NUMBERS), sv.GaussianMask(1e6)
    for more in ({"mask": mask}, {}, {"mask": mask, "overlay": "tree"}, {"schedule": sv.Asynchronous(), "c": 0.5}):
        result = sv.solve(problem, noise=NOISE, seed=3, **more)
        assert result.converged
        np.testing.assert_allclose(result.x, 3 + NOISE.draw((4, 1), 3).mean(), atol=1e-7)
    *_, last = (state for state, _ in zip(sv.iterate(problem, noise=NOISE, seed=3, c=0.5), range(60), strict=False))
    np.testing.assert_allclose(last.x, result.x, atol=1e-6)


def test_its_error_has_mean_0_and_variance_t_over_n():
    """Of the answer, over 4,000 draws: five standard deviations of chance."""
    problem, draws = sv.averaging(RING, NUMBERS), 4_000
    errors = np.array([secrets(NOISE.on(problem, seed)).mean() for seed in range(draws)]) - 3
    variance = 0.5 / 4
    assert abs(errors.mean()) < 5 * np.sqrt(variance / draws)
    assert abs(errors.var() / variance - 1) < 5 * np.sqrt(2 / draws)


def test_a_result_says_that_it_is_noisy(tmp_path):
    problem = sv.averaging(RING, NUMBERS)
    secret = sv.solve(problem, mask=sv.GaussianMask(1e6), noise=NOISE)
    seeded, bare, exact = (
        sv.solve(problem, seed=1, c=0.5, **more) for more in ({"mask": sv.GaussianMask(1e6), "noise": NOISE},
                                                              {"noise": NOISE}, {})
    )  # fmt: skip
    assert secret.noise == NOISE
    assert exact.noise is None
    assert secret.summary().endswith("generator; the answer has local noise of variance 0.5 on every number")
    assert seeded.summary().endswith("on every number, from a seed: not secret")
    assert "no mask: local noise alone hides the data; the answer has" in bare.summary()
    assert "not private" not in bare.summary()
    assert "local noise of variance 0.5" in secret._repr_html_()
    assert json.loads(json.dumps(secret.to_dict()))["noise"] == 0.5
    assert exact.to_dict()["noise"] is None
    for suffix in ("npz", "json"):
        for result in (secret, exact):
            result.save(tmp_path / f"run.{suffix}")
            assert sv.Result.load(tmp_path / f"run.{suffix}").noise == result.noise


def test_a_mask_must_be_large_against_the_data_and_not_against_their_noise():
    problem = sv.averaging(RING, [0.1, 0.2, 0.3, 0.4])
    assert sv.solve(problem, mask=sv.GaussianMask(1e4), noise=sv.LocalNoise(100.0), seed=1, c=0.5).hidden


# Refused


def test_what_makes_no_sense_is_refused():
    problem = sv.averaging(RING, NUMBERS)
    with pytest.raises(InvalidInput, match=r"noise must be sv.LocalNoise\(variance\), or None; got 0.5"):
        sv.solve(problem, noise=0.5)
    with pytest.raises(Unsupported, match="local noise is not of integers"):
        sv.solve(problem, mask=sv.ModularMask(), noise=NOISE)
    with pytest.raises(Unsupported, match="it takes no noise"):
        sv.solve(problem, mask=sv.GaussianMask(1.0), noise=NOISE, batch=3)
    with pytest.raises(InvalidInput, match="seed must be an integer"):
        sv.solve(problem, noise=NOISE, seed=-1)
    median = sv.Problem(RING, sv.AbsoluteDeviation.many(NUMBERS))
    with pytest.raises(Unsupported, match="local noise is for quadratic costs"):
        sv.solve(median, noise=NOISE)
    with pytest.raises(InvalidInput, match="noise must be"):
        next(sv.iterate(problem, noise="much"))
