"""Principal components as scikit-learn has them."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..errors import InvalidInput, is_number
from ..statistics import PrincipalComponents, private_pca
from .estimator import Floats, PrivateEstimator


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Principal components of the rows of all parties: scikit-learn's ``PCA``, found by ``sv.private_pca``.

    Parameters
    ----------
    n_components : int or float, optional
        How many; between 0 and 1 as many as explain that share of the variance. Default: as many as there are columns,
        or rows where those are fewer.
    network, parties
        As for every estimator here: see ``PrivateLogisticRegression``.

    Attributes
    ----------
    components_ : ndarray
        ``(n_components_, n_features_in_)``, each of length 1, its largest loading positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray
        ``(n_components_,)``.
    mean_ : ndarray
        What is subtracted from the columns.
    n_components_, n_samples_, n_features_in_ : int
        Components, rows of all parties, columns.
    feature_names_in_ : ndarray
        Names of the columns, where ``X`` was a frame.
    result_ : PrincipalComponents
        The private answer.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.sklearn import PrivatePCA
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.1], [3.0, 5.9]])
    >>> pca = PrivatePCA(n_components=1).fit(X, groups=["Ada", "Ada", "Bob", "Eve"])
    >>> pca.components_.round(3).tolist(), pca.transform(X).round(2).ravel().tolist()
    ([[0.451, 0.893]], [-3.35, -1.12, 1.21, 3.26])
    """

    components_: Floats
    mean_: Floats

    def __init__(self, n_components: int | float | None = None, *, network: Any = None, parties: int = 3) -> None:
        super().__init__(network=network, parties=parties)
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Find the components of the rows of all parties. ``groups``: the party of each row. ``y`` is not looked at."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        parties, most = self._parties(len(X), groups), min(X.shape)
        share = self._share(most)
        count = most if share is not None or self.n_components is None else int(self.n_components)
        shards: list[Any] = parties.of(X)
        self.result_ = private_pca(parties.network, shards, components=count)
        return self._take(self.result_, count if share is None else _enough(self.result_, share))

    def _share(self, most: int) -> float | None:
        """Of the variance, if it was asked for."""
        n = self.n_components
        if n is None or (isinstance(n, numbers.Integral) and not isinstance(n, bool) and 1 <= n <= most):
            return None
        if isinstance(n, numbers.Integral) or not (is_number(n) and 0 < n < 1):
            raise InvalidInput(
                f"n_components must be an integer from 1 to {most}, as many as columns and rows allow, a share of the "
                f"variance between 0 and 1, or None; got {n!r}."
            )
        return float(n)

    def _take(self, result: PrincipalComponents, count: int) -> Self:
        self.components_, self.mean_ = result.components[:count].copy(), result.mean.copy()
        self.explained_variance_ = np.maximum(result.explained_variance[:count], 0.0)
        self.explained_variance_ratio_ = self.explained_variance_ / result.total_variance
        self.singular_values_ = np.sqrt(self.explained_variance_ * (result.nobs - 1))
        self.n_components_, self.n_samples_ = count, result.nobs
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Floats:
        """Rows in the coordinates of the components, ``(rows, n_components_)``."""
        return np.asarray((self._new_rows(X) - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Floats:
        """The rows that have these coordinates, ``(rows, n_features_in_)``."""
        check_is_fitted(self)
        scores = check_array(X, dtype=np.float64)
        if scores.shape[1] != self.n_components_:
            raise InvalidInput(f"X must have {self.n_components_} columns, one per component; got {scores.shape[1]}.")
        return np.asarray(scores @ self.components_ + self.mean_)


def _enough(result: PrincipalComponents, share: float) -> int:
    """As many components as explain more than a share of the variance."""
    explained = np.cumsum(result.explained_variance_ratio)
    return min(int(np.searchsorted(explained, share, side="right")) + 1, len(explained))
