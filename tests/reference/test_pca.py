"""Principal components of parties against scikit-learn on all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import sottovoce as sv

CLOSE = 1e-12


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_diabetes])
def test_components(load, standardize):
    X = load(return_X_y=True)[0]
    shards = np.split(X, (4, 4, 40))
    found = sv.private_pca(sv.Network.ring(4), shards, standardize=standardize, components=3)
    Z = StandardScaler().fit_transform(X) if standardize else X
    expected = PCA(3).fit(Z)
    signs = np.sign(expected.components_[np.arange(3), np.abs(expected.components_).argmax(axis=1)])[:, None]
    np.testing.assert_allclose(found.components, expected.components_ * signs, atol=CLOSE)
    np.testing.assert_allclose(found.explained_variance, expected.explained_variance_, rtol=CLOSE)
    np.testing.assert_allclose(found.explained_variance_ratio, expected.explained_variance_ratio_, rtol=CLOSE)
    np.testing.assert_allclose(found.singular_values, expected.singular_values_, rtol=CLOSE)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=CLOSE, atol=CLOSE)
    scores = expected.transform(Z) * signs.T
    np.testing.assert_allclose(found.transform(X), scores, atol=CLOSE * np.abs(scores).max())


def test_of_tables():
    frame = load_wine(as_frame=True).data.iloc[:, :4]
    tables = [frame.iloc[:10], frame.iloc[10:10], frame.iloc[10:]]
    schema = {name: {"type": "number", "range": (0, 200)} for name in frame}
    found = sv.Study(sv.Network.ring(3), tables, schema=schema).pca(list(frame), standardize=True)
    expected = PCA().fit(StandardScaler().fit_transform(frame))
    np.testing.assert_allclose(np.abs(found.components), np.abs(expected.components_), atol=CLOSE)
    assert (found.components[np.arange(4), np.abs(found.components).argmax(axis=1)] > 0).all()
    scores = found.transform(pd.DataFrame(frame).iloc[:5])
    np.testing.assert_allclose(
        np.abs(scores), np.abs(expected.transform(StandardScaler().fit(frame).transform(frame)))[:5], atol=CLOSE
    )
