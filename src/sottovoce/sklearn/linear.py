"""Linear models as scikit-learn has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from ..statistics import LassoPath, LinearFit, RidgePath, private_lasso, private_linear, private_ridge
from .estimator import Floats, RegressionEstimator, check_penalty, weighed


class LinearEstimator(RegressorMixin, RegressionEstimator):
    """``y = X @ coef_ + intercept_``."""

    coef_: Floats
    intercept_: float

    def _read(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        return validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)  # type: ignore[no-any-return]

    def _take(self, result: LinearFit | RidgePath | LassoPath, params: Floats) -> Self:
        """The estimates of a private fit."""
        first = int(self.fit_intercept)
        self.result_ = result
        self.coef_, self.intercept_ = params[first:].copy(), float(params[0]) if first else 0.0
        return self

    def predict(self, X: Any) -> Floats:
        """Expected responses of rows."""
        return np.asarray(self._new_rows(X) @ self.coef_ + self.intercept_)


class PrivateLinearRegression(LinearEstimator):
    """Least squares over the rows of all parties: scikit-learn's ``LinearRegression``, fitted by ``sv.private_linear``.

    Columns that depend on those before them have the coefficient 0, where scikit-learn takes the shortest of all
    solutions; predictions are the same. There must be more rows than columns that do not.

    Parameters
    ----------
    fit_intercept : bool
        Whether to fit one.
    network, parties
        As for every estimator here: see ``PrivateLogisticRegression``.

    Attributes
    ----------
    coef_ : ndarray
        ``(n_features_in_,)``.
    intercept_ : float
        0.0 without one.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray
        Their names, where ``X`` was a frame.
    result_ : LinearFit
        The private fit, with standard errors, tests and ``summary()``.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.sklearn import PrivateLinearRegression
    >>> X = np.linspace(0, 1, 8).reshape(-1, 1)
    >>> y = 2 * X[:, 0] + 1 + np.array([0.1, -0.1] * 4)
    >>> model = PrivateLinearRegression().fit(X, y, groups=["Ada", "Bob", "Eve", "Eve"] * 2)
    >>> model.coef_.round(4).tolist(), round(model.intercept_, 4), model.result_.bse.round(4).tolist()
    ([1.9333], 1.0333, [0.0727, 0.1217])
    """

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of all parties. ``groups``: the party of each row. ``sample_weight``: numbers >= 0,
        proportional to the inverse variance of a row's error; rows of weight 0 are left out."""
        X, y = self._read(X, y)
        parties, weights = weighed(self._parties(len(X), groups), X, sample_weight)
        result = private_linear(**self._arguments(parties, X, y, weights))
        return self._take(result, result.all_params)


class PenalisedEstimator(LinearEstimator):
    """A linear model with one penalty, ``alpha``."""

    _private: ClassVar[Callable[..., RidgePath | LassoPath]]  # what fits it

    def __init__(
        self, alpha: float = 1.0, *, fit_intercept: bool = True, network: Any = None, parties: int = 3
    ) -> None:
        super().__init__(fit_intercept=fit_intercept, network=network, parties=parties)
        self.alpha = alpha

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit to the rows of all parties. ``groups``: the party of each row."""
        X, y = self._read(X, y)
        parties = self._parties(len(X), groups)
        alpha = check_penalty("alpha", self.alpha)
        result = self._private(**self._arguments(parties, X, y), penalties=alpha, standardize=False)
        return self._take(result, result.params)


class PrivateRidge(PenalisedEstimator):
    """Ridge regression over the rows of all parties: scikit-learn's ``Ridge(alpha)``, fitted by ``sv.private_ridge``.

    Minimises ``sum (y - intercept - x'b)^2 + alpha ||b||^2``. For a path of penalties and the best of them by exact
    cross-validation ask ``sv.private_ridge``.

    Parameters
    ----------
    alpha : float
        The penalty, in the units of the data; positive.
    fit_intercept : bool
        Whether to fit one; it is not penalised.
    network, parties
        As for every estimator here: see ``PrivateLogisticRegression``.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As of ``PrivateLinearRegression``.
    result_ : RidgePath
        The private fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.sklearn import PrivateRidge
    >>> X = np.linspace(0, 1, 8).reshape(-1, 1)
    >>> PrivateRidge(alpha=1.0).fit(X, 2 * X[:, 0] + 1, groups=[1, 1, 1, 2, 2, 2, 2, 3]).coef_.round(4).tolist()
    [0.9231]
    """

    _private = staticmethod(private_ridge)


class PrivateLasso(PenalisedEstimator):
    """The lasso over the rows of all parties: scikit-learn's ``Lasso(alpha)``, fitted by ``sv.private_lasso``.

    Minimises ``sum (y - intercept - x'b)^2 / 2N + alpha sum |b_j|`` over ``N`` rows. For a path of penalties and the
    best of them by exact cross-validation ask ``sv.private_lasso``.

    Parameters
    ----------
    alpha : float
        The penalty, in the units of the data; positive.
    fit_intercept : bool
        Whether to fit one; it is not penalised.
    network, parties
        As for every estimator here: see ``PrivateLogisticRegression``.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As of ``PrivateLinearRegression``.
    result_ : LassoPath
        The private fit; ``result_.selected`` are the columns that are in.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.sklearn import PrivateLasso
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> PrivateLasso(alpha=1.0).fit(X, 3 * X[:, 1], groups=np.arange(60) % 4).coef_.round(2).tolist()
    [0.0, 1.51, 0.0]
    """

    _private = staticmethod(private_lasso)
