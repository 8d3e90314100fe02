"""Estimators for scikit-learn: its own checks, whose rows are whose, and what is refused."""

from __future__ import annotations

import builtins
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sottovoce as sv
from sottovoce.errors import BadlyHidden, InvalidInput
from sottovoce.sklearn import (
    PrivateLasso,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivatePoissonRegressor,
    PrivateRidge,
)

ALL = [
    PrivateLinearRegression,
    PrivateRidge,
    PrivateLasso,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivatePCA,
]
EXPECTED_TO_FAIL = {
    "PrivateLinearRegression": {
        "check_sample_weight_equivalence_on_dense_data": "30 columns and fewer rows: of many solutions none is given"
    }
}


# A public number of the size of the checks' data, so that all of them are hidden well.
@parametrize_with_checks(
    [estimator(scale=100.0) for estimator in ALL],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL.get(type(estimator).__name__, {}),
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, -2.0] + 0.5 + rng.normal(size=60)
    groups = np.array(["Ada"] * 4 + ["Bob"] * 16 + ["Eve"] * 40)
    return X, y, groups


def kinds(y, estimator):
    """A response that an estimator takes."""
    by = {PrivateLogisticRegression: y > 0, PrivatePoissonRegressor: np.rint(np.abs(y))}
    return by.get(estimator, y)


@pytest.mark.parametrize("estimator", ALL)
def test_whose_rows_they_are_changes_nothing(table, estimator):
    X, y, groups = table
    y = kinds(y, estimator)
    dealt, told = estimator(parties=4).fit(X, y), estimator().fit(X, y, groups=groups)
    assert dealt.result_.parties == 4
    assert told.result_.parties == 3
    for name in ("coef_", "intercept_", "components_", "mean_"):
        if hasattr(dealt, name):
            # tol is 1e-9, and the columns are of size 1 and nearly independent
            np.testing.assert_allclose(getattr(dealt, name), getattr(told, name), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("estimator", ALL)
def test_a_seed_repeats_a_fit(table, estimator):
    X, y, groups = table
    y = kinds(y, estimator)
    first, second = (estimator(random_state=3).fit(X, y, groups=groups) for _ in range(2))
    for a, b in zip(first.result_.runs, second.result_.runs, strict=True):
        assert np.array_equal(a.x, b.x)


def test_a_random_state_is_drawn_from(table):
    X, y, groups = table
    state = np.random.RandomState(0)
    first, second = (PrivateLinearRegression(random_state=state).fit(X, y, groups=groups) for _ in range(2))
    assert not np.array_equal(first.result_.runs[1].x, second.result_.runs[1].x)


def test_parties_have_the_names_of_their_labels(table):
    X, y, groups = table
    result = PrivateLinearRegression().fit(X, y, groups=groups).result_
    assert result.problems[0].network.labels == ["Ada", "Bob", "Eve"]


def test_a_network_with_names_may_have_a_party_without_rows(table):
    X, y, groups = table
    network = sv.Network.ring(4).with_labels(["Eve", "Joe", "Bob", "Ada"])
    model = PrivateLinearRegression(network=network).fit(X, y, groups=groups)
    counts = -model.result_.problems[0].quadratic.q[:, 0] / 2  # agreement 1 is on numbers of rows
    assert counts.tolist() == [40, 0, 16, 4]
    assert model.result_.problems[0].network is network
    np.testing.assert_allclose(model.coef_, PrivateLinearRegression().fit(X, y).coef_, rtol=1e-7)


def test_labels_are_sorted_in_the_order_of_the_nodes(table):
    X, y, groups = table
    given = PrivateLinearRegression(network=sv.Network.ring(3)).fit(X, y, groups=groups)
    counts = -given.result_.problems[0].quadratic.q[:, 0] / 2  # agreement 1 is on numbers of rows
    assert counts.tolist() == [4, 16, 40]


@pytest.mark.parametrize(
    ("settings", "groups", "words"),
    [
        ({}, ["a"] * 60, "one label only"),
        ({}, ["a", None] * 30, "missing labels"),
        ({}, [1.0, np.nan] * 30, "missing labels"),
        ({}, np.array(["a", 1] * 30, dtype=object), "of one kind"),
        ({}, ["a", "b"], "inconsistent numbers of samples"),
        ({"network": sv.Network.ring(4)}, ["a", "b", "c"] * 20, "4; got 3.*with_labels"),
        ({"network": sv.Network.ring(3).with_labels(["a", "b", "c"])}, ["a", "b", "d"] * 20, "'d'.*no such node"),
        ({"network": 3}, None, "network must be an sv.Network"),
        ({"parties": 1}, None, "parties must be an integer >= 2"),
        ({"parties": 2.5}, None, "parties must be an integer >= 2"),
        ({"mask": sv.ModularMask()}, None, "mask must be a GaussianMask"),
        ({"scale": -1.0}, None, "scale must be a positive number"),
        ({"scale": [1.0, 1.0]}, None, "3 of them"),
        ({"scale": {"x7": 2.0}}, None, "'x7', which is no column"),
    ],
)
def test_what_cannot_be_used_is_said(table, settings, groups, words):
    with pytest.raises(ValueError, match=words):
        PrivateLinearRegression(**settings).fit(table[0], table[1], groups=groups)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (PrivateRidge(alpha=0), "alpha must be a positive number"),
        (PrivateRidge(alpha=np.inf), "alpha must be a positive number"),
        (PrivateLasso(alpha=-1.0), "alpha must be a positive number"),
        (PrivatePoissonRegressor(alpha="a"), "alpha must be a positive number"),
        (PrivateLogisticRegression(C=0), "C must be a positive number"),
        (PrivatePCA(n_components=3), "n_components must be an integer from 1 to 2"),
        (PrivatePCA(n_components=0), "n_components must be an integer from 1 to 2"),
        (PrivatePCA(n_components=True), "n_components must be an integer from 1 to 2"),
        (PrivatePCA(n_components=1.5), "n_components must be an integer from 1 to 2"),
    ],
)
def test_penalties_and_components_that_are_none(table, estimator, words):
    X, y, groups = table
    with pytest.raises(InvalidInput, match=words):
        estimator.fit(X, kinds(y, type(estimator)), groups=groups)


def test_classes(table):
    X, y, _ = table
    with pytest.raises(InvalidInput, match="y has one class in the rows that count"):
        PrivateLogisticRegression().fit(X, y > 0, sample_weight=y > 0)
    # A class without weight is none.
    three = PrivateLogisticRegression().fit(X, np.arange(60) % 3, sample_weight=np.arange(60) % 3 > 0)
    assert three.classes_.tolist() == [1, 2]
    with pytest.raises(InvalidInput, match=r"infinite.*separates"):
        PrivateLogisticRegression(C=np.inf).fit(X, X[:, 0] > 0)
    assert PrivateLogisticRegression(C=1.0).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9


@pytest.mark.parametrize("estimator", [PrivateLogisticRegression, PrivatePoissonRegressor])
def test_outcomes_and_counts_have_no_scale(table, estimator):
    X, y, groups = table
    model = estimator(scale=[2.0, 0.5]).fit(X, kinds(y, estimator), groups=groups)
    np.testing.assert_allclose(model.coef_, estimator().fit(X, kinds(y, estimator)).coef_, rtol=1e-6)
    with pytest.raises(InvalidInput, match="2 of them, one per column of X"):
        estimator(scale=[2.0, 0.5, 1.0]).fit(X, kinds(y, estimator))


def test_columns_that_hang_on_each_other_are_named(table):
    X, y, groups = table
    more = np.column_stack([X.sum(axis=1), X])
    model, plain = PrivateLinearRegression().fit(more, y, groups=groups), LinearRegression().fit(X, y)
    assert model.result_.aliased == ("x2",)
    assert model.coef_[2] == 0
    np.testing.assert_allclose(model.predict(more), plain.predict(X), rtol=1e-12)


def test_rows_of_weight_0_do_not_count(table):
    X, y, groups = table
    weights = np.arange(60) % 3.0
    for estimator in (PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor):
        own = kinds(y, estimator)
        model = estimator().fit(X, own, groups=groups, sample_weight=weights)
        assert model.result_.nobs == 40
        with pytest.raises(ValueError, match=r"(?i)zero|0 in all rows"):
            estimator().fit(X, own, groups=groups, sample_weight=0 * weights)
        with pytest.raises(ValueError, match=r"(?i)negative"):
            estimator().fit(X, own, groups=groups, sample_weight=weights - 1)


def test_as_many_components_as_explain_a_share():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4)) * [4.0, 3.0, 1.0, 0.5]
    whole = PrivatePCA().fit(X)
    few = PrivatePCA(n_components=0.9).fit(X)
    assert few.n_components_ == 2
    assert few.explained_variance_ratio_.sum() > 0.9 > few.explained_variance_ratio_[0]
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X)), X, atol=1e-8)
    assert few.get_feature_names_out().tolist() == ["privatepca0", "privatepca1"]
    with pytest.raises(InvalidInput, match="X must have 2 columns, one per component; got 3"):
        few.inverse_transform(X[:, :3])


def test_data_that_are_hidden_badly_are_said_and_a_scale_helps():
    X = np.random.default_rng(0).normal(1e4, 1.0, size=(30, 1))
    with pytest.warns(BadlyHidden, match="scale="):
        PrivatePCA().fit(X)
    PrivatePCA(scale=1e4).fit(X)


def test_names_of_columns_reach_the_summary(table):
    pandas = pytest.importorskip("pandas")
    X, y, groups = table
    frame = pandas.DataFrame(X, columns=["dose", "age"])
    model = PrivateLinearRegression(scale={"age": 2.0}).fit(frame, y, groups=pandas.Series(groups))
    assert model.result_.terms == ("Intercept", "dose", "age")
    assert model.feature_names_in_.tolist() == ["dose", "age"]
    assert "dose" in model.result_.summary()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["age", "dose"]])


def test_networks_are_cloned(table):
    X, y, groups = table
    model = clone(PrivateRidge(network=sv.Network.ring(3), mask=sv.GaussianMask(variance=1e10)))
    assert model.fit(X, y, groups=groups).result_.masks[1].variance == 1e10


def test_groups_go_through_cross_validation(table):
    X, y, groups = table
    found = cross_val_score(PrivateLinearRegression(), X, y, cv=5, params={"groups": groups})
    assert found.shape == (5,)
    assert (found > 0.3).all()


def test_groups_go_through_pipelines_by_request(table):
    X, y, groups = table
    folds = GroupKFold(n_splits=3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), PrivateRidge().set_fit_request(groups=True))
        fitted = model.fit(X, y, groups=groups)
        assert fitted[-1].result_.parties == 3
        # Who is left out of the training rows is no party of that fit.
        found = cross_val_score(model, X, y, cv=folds, params={"groups": groups}, error_score="raise")
        assert found.shape == (3,)
        alone = PrivateLogisticRegression().set_fit_request(groups=True, sample_weight=True)
        alone = alone.set_score_request(sample_weight=False)
        more = {"groups": groups, "sample_weight": np.ones(60)}
        assert cross_val_score(alone, X, y > 0, cv=LeaveOneGroupOut(), params=more, error_score="raise").min() > 0.5


def test_without_scikit_learn_it_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'sklearn' else found(name)\n"
        "import sottovoce as sv\n"
        "from sottovoce.errors import MissingExtra\n"
        "try: sv.sklearn\n"
        "except MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "sottovoce.sklearn needs scikit-learn. Install it with: pip install 'sottovoce[sklearn]'"
    )


def test_it_is_loaded_when_first_used():
    assert sv.sklearn.PrivatePCA is PrivatePCA
    assert builtins.__import__("sklearn") is sklearn
