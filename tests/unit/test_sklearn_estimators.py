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
from sottovoce.errors import InvalidInput
from sottovoce.sklearn import (
    PrivateLasso,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivatePoissonRegressor,
    PrivateRidge,
)
from sottovoce.sklearn.parties import parties_of

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


@parametrize_with_checks(
    [estimator() for estimator in ALL],
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
            np.testing.assert_array_equal(getattr(dealt, name), getattr(told, name))


@pytest.mark.parametrize("estimator", ALL)
def test_parameters_are_those_of_init(estimator):
    """Written once in a base, and known to scikit-learn all the same."""
    given = {"network": sv.Network.ring(3), "parties": 5}
    given |= {} if estimator is PrivatePCA else {"fit_intercept": False}
    params = clone(estimator(**given)).get_params(deep=False)
    assert {name: params[name] for name in given if name != "network"} == {
        name: value for name, value in given.items() if name != "network"
    }
    assert set(params) - set(given) <= {"alpha", "C", "n_components"}
    with pytest.raises(TypeError, match="mask"):
        estimator(mask=sv.GaussianMask(1e8))


def test_parties_have_the_names_of_their_labels(table):
    X, y, groups = table
    result = PrivateLinearRegression().fit(X, y, groups=groups).result_
    assert result.network.labels == ["Ada", "Bob", "Eve"]


def test_a_network_with_names_may_have_a_party_without_rows(table):
    X, y, groups = table
    network = sv.Network.ring(4).with_labels(["Eve", "Joe", "Bob", "Ada"])
    model = PrivateLinearRegression(network=network).fit(X, y, groups=groups)
    assert model.result_.network is network
    np.testing.assert_array_equal(model.coef_, PrivateLinearRegression().fit(X, y).coef_)


def test_rows_go_to_the_nodes_of_their_labels(table):
    _, _, groups = table
    network = sv.Network.ring(4).with_labels(["Eve", "Joe", "Bob", "Ada"])
    assert [len(own) for own in parties_of(groups, 60, network, 3).places] == [40, 0, 16, 4]


def test_labels_are_sorted_in_the_order_of_the_nodes(table):
    _, _, groups = table
    assert [len(own) for own in parties_of(groups, 60, sv.Network.ring(3), 3).places] == [4, 16, 40]


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


def test_columns_that_hang_on_each_other_are_named_and_have_no_part(table):
    X, y, groups = table
    more = np.column_stack([X.sum(axis=1), X])
    model, plain = PrivateLinearRegression().fit(more, y, groups=groups), LinearRegression().fit(X, y)
    assert model.result_.aliased == ("x2",)
    assert model.coef_[2] == 0
    np.testing.assert_allclose(model.predict(more), plain.predict(X), rtol=1e-12)
    for classes in (y > 0, np.digitize(y, [-1, 1])):
        logistic = PrivateLogisticRegression(np.inf).fit(more, classes, groups=groups)
        assert logistic.result_.aliased == ("x2",)
        assert (logistic.coef_[:, 2] == 0).all()
        assert (logistic.coef_[:, :2] != 0).all()


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


def test_names_of_columns_reach_the_summary(table):
    pandas = pytest.importorskip("pandas")
    X, y, groups = table
    frame = pandas.DataFrame(X, columns=["dose", "age"])
    model = PrivateLinearRegression().fit(frame, y, groups=pandas.Series(groups))
    assert model.result_.terms == ("Intercept", "dose", "age")
    assert model.feature_names_in_.tolist() == ["dose", "age"]
    assert "dose" in model.result_.summary()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["age", "dose"]])


def test_networks_are_cloned(table):
    X, y, groups = table
    model = clone(PrivateRidge(network=sv.Network.ring(3)))
    assert model.fit(X, y, groups=groups).result_.network.m == 3


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
