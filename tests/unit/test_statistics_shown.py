"""Statistics where people look at them: a short repr, tables for notebooks, frames and pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.scale_hint import scale_hint

N = 6


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(0)
    made = []
    for _ in range(N):
        age, pets = rng.normal(50, 10, 40), rng.integers(0, 4, 40)
        made.append(pd.DataFrame({"age": age, "pets": pets, "bill": 2 * age + rng.normal(0, 13, 40)}))
    return made


@pytest.fixture(scope="module")
def every(frames):
    network = sv.Network.ring(N)
    ages = [frame["age"] for frame in frames]
    return {
        "mean": sv.private_mean(network, frames),
        "variance": sv.private_variance(network, frames),
        "covariance": sv.private_covariance(network, frames),
        "histogram": sv.private_histogram(network, ages, bins=[30, 50, 60]),
        "fit": sv.private_linear(network, frames, target="bill"),
    }


def test_a_repr_is_short(every):
    assert {name: repr(result) for name, result in every.items()} == {
        "mean": "PooledMean(converged, age, pets, bill: 240 observations of 6 parties)",
        "variance": "PooledVariance(converged, age, pets, bill: 240 observations of 6 parties)",
        "covariance": "PooledCovariance(converged, age, pets, bill: 240 observations of 6 parties)",
        "histogram": "Histogram(converged, age: 240 observations of 6 parties in 2 bins)",
        "fit": "LinearFit(converged, Least squares for bill: 240 observations of 6 parties)",
    }


def test_frames(every, frames):
    pooled = pd.concat(frames)
    mean = every["mean"].to_frame()
    assert list(mean.columns) == ["column", "mean"]
    assert list(mean["column"]) == ["age", "pets", "bill"]
    np.testing.assert_allclose(mean["mean"], pooled.mean(), rtol=1e-12)
    variance = every["variance"].to_frame()
    np.testing.assert_allclose(variance["standard_deviation"], pooled.std(), rtol=1e-12)
    np.testing.assert_allclose(every["covariance"].to_frame()["covariance with bill"], pooled.cov()["bill"], rtol=1e-12)
    counts = every["histogram"].to_frame()
    assert list(counts["from"]) == [-np.inf, 30, 50, 60]
    assert list(counts["to"]) == [30, 50, 60, np.inf]
    assert counts["count"].sum() == every["histogram"].observations == 240
    fit = every["fit"].to_frame()
    assert list(fit.columns) == ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    np.testing.assert_array_equal(fit["p_value"], every["fit"].pvalues)


def test_tables_in_notebooks(every):
    for result in every.values():
        table = result._repr_html_()
        assert table.startswith("<table>")
        assert table.count("<tr>") == 1 + len(result.to_frame())
    assert ">age</td>" in every["fit"]._repr_html_()


def test_names_are_escaped(frames):
    evil = [frame.rename(columns={"age": "<script>"}) for frame in frames]
    result = sv.private_mean(sv.Network.ring(N), evil)
    assert "<script>" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()


def test_long_tables_are_cut():
    result = sv.private_mean(sv.Network.ring(3), np.arange(180.0).reshape(3, 1, 60) / 180)
    table = result._repr_html_()
    assert "the first 50 of 60 rows" in table
    assert table.count("<tr>") == 51
    assert len(result.plot().axes[0].get_yticks()) == 50


def test_pictures(every, tmp_path):
    figure = pytest.importorskip("matplotlib.figure")
    for name, result in every.items():
        assert faults(result.plot()) == []
        assert isinstance(result.plot(tmp_path / f"{name}.png"), figure.Figure)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    bars = every["histogram"].plot().axes[0].patches
    assert [bar.get_height() for bar in bars] == every["histogram"].counts.tolist()
    assert [bar.get_width() for bar in bars] == [20, 10]
    cells = every["covariance"].plot().axes[0].images[0].get_array()
    np.testing.assert_array_equal(cells, every["covariance"].correlation)


def test_pictures_of_many_long_and_empty_things(rng):
    network = sv.Network.ring(3)
    names = ["systolic blood pressure at admission (mmHg)", *(f"marker_{k}$x" for k in range(19))]
    frames = [pd.DataFrame(rng.normal(size=(30, 20)) * np.logspace(-1.5, 0.5, 20), columns=names) for _ in range(3)]
    wide = sv.private_covariance(network, frames)
    fit = sv.private_linear(network, frames, target=names[-1])
    bins = sv.private_histogram(network, [frame[names[0]] for frame in frames], bins=np.linspace(-0.1, 0.1, 31))
    few = sv.private_histogram(network, [[5.0], [], []], bins=[0, 1, 2])
    for result in (wide, fit, bins, few, sv.private_mean(network, frames), sv.private_variance(network, frames)):
        assert faults(result.plot()) == []


# What scale would do for a cost


def test_a_slow_regression_suggests_a_scale():
    """The rounds fall by more than ten where the columns are of one size: that is what the hint is for."""
    rng = np.random.default_rng(0)
    network = sv.Network.complete(4)
    shards = [(rng.normal(size=(30, 2)), rng.normal(size=30)) for _ in range(4)]
    shards = [(A, b + A @ [1.0, 2.0]) for A, b in shards]
    uneven = [(A * [1.0, 300.0], b) for A, b in shards]
    slow, quick = (sv.solve(sv.least_squares(network, given)) for given in (uneven, shards))
    assert slow.iterations > 10 * quick.iterations
    assert "far fewer rounds are needed" in scale_hint(slow.x[0], slow.activations / 4)
    assert scale_hint(quick.x[0], quick.activations / 4) is None
    assert scale_hint(slow.x[0], 300) is None
    assert scale_hint(np.array([1.0, 2.0, 0.0]), 5000) is None
    assert scale_hint(np.array([1.0, np.nan]), 5000) is None
