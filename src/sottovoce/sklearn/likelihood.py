"""Generalised linear models as scikit-learn has them."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import special
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..errors import InvalidInput
from ..statistics import GLMFit, MultinomialFit, private_glm, private_multinomial
from .estimator import Floats, RegressionEstimator, check_penalty, weighed


class LikelihoodEstimator(RegressionEstimator):
    """A generalised linear model with a ridge penalty."""

    def _split(self, result: GLMFit) -> tuple[Floats, float]:
        """Slopes and intercept."""
        first = int(self.fit_intercept)
        return result.all_params[first:], float(result.all_params[0]) if first else 0.0


class PrivateLogisticRegression(ClassifierMixin, LikelihoodEstimator):
    """Logistic regression over the rows of all parties: scikit-learn's ``LogisticRegression(C)``, fitted by
    ``sv.private_glm``, or by ``sv.private_multinomial`` for more than two classes.

    Maximises the log-likelihood less ``||coef||^2 / 2C``.

    Parameters
    ----------
    C : float
        The inverse of the penalty; ``inf`` for none, and for standard errors in ``result_``. Estimates are then
        refused with a sentence where columns separate the classes: they are infinite.
    fit_intercept : bool
        Whether to fit one; it is not penalised.
    network : Network, optional
        Who talks to whom; one node a party. Default: everybody with everybody. Where its nodes have labels, those of
        ``groups`` are these, and a party may have no rows; else labels are sorted, in the order of the nodes.
    parties : int
        Among how many simulated parties rows are dealt, one after the other, where ``fit`` gets no ``groups`` and there
        is no ``network``. Which rows are whose changes no estimate.

    Attributes
    ----------
    classes_ : ndarray
        Sorted.
    coef_ : ndarray
        ``(1, n_features_in_)``, of the second of two classes; of more, ``(classes, n_features_in_)`` that sum to 0.
    intercept_ : ndarray
        ``(1,)`` or ``(classes,)``; 0.0 without one.
    n_iter_ : ndarray
        ``(1,)``, points at which sums were agreed on.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray
        Their names, where ``X`` was a frame.
    result_ : GLMFit or MultinomialFit
        The private fit; of more than two classes the first is the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.sklearn import PrivateLogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0], [3.0], [2.0]])
    >>> y = np.array(["no", "no", "yes", "no", "yes", "yes", "yes", "no"])
    >>> model = PrivateLogisticRegression().fit(X, y, groups=[1, 1, 1, 2, 2, 3, 3, 3])
    >>> model.coef_.round(4).tolist(), model.predict([[0.5], [3.0]]).tolist()
    ([[0.9071]], ['no', 'yes'])
    """

    classes_: npt.NDArray[Any]
    coef_: Floats
    intercept_: Floats
    result_: GLMFit | MultinomialFit

    def __init__(self, C: float = 1.0, *, fit_intercept: bool = True, network: Any = None, parties: int = 3) -> None:
        super().__init__(fit_intercept=fit_intercept, network=network, parties=parties)
        self.C = C

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of all parties. ``groups``: the party of each row. ``sample_weight``: numbers >= 0, how often
        a row counts; rows of weight 0 are left out."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        parties, weights = weighed(self._parties(len(X), groups), X, sample_weight)
        self.classes_ = np.unique(np.concatenate(parties.of(y)))
        if len(self.classes_) < 2:
            raise InvalidInput("y has one class in the rows that count; logistic regression needs two classes or more.")
        place = np.searchsorted(self.classes_, y).astype(np.float64)
        asked = {**self._arguments(parties, X, place, weights), "ridge": 1 / check_penalty("C", self.C, infinite=True)}
        return self._two(asked) if len(self.classes_) == 2 else self._several(asked)

    def _two(self, asked: dict[str, Any]) -> Self:
        self.result_ = private_glm(**asked, family="binomial")
        coef, intercept = self._split(self.result_)
        self.coef_, self.intercept_ = coef[None, :], np.array([intercept])
        self.n_iter_ = np.array([self.result_.steps], dtype=np.int32)
        return self

    def _several(self, asked: dict[str, Any]) -> Self:
        """Of all parameters that give the same probabilities those that sum to 0 over the classes."""
        self.result_ = private_multinomial(**asked, levels=[str(name) for name in self.classes_])
        first = int(self.fit_intercept)
        variables = [*["Intercept"][:first], *asked["names"]]
        params = np.zeros((len(self.classes_), len(variables)))  # 0 of the first class, and of columns left out
        params[1:, [variables.index(name) for name in self.result_.variables]] = self.result_.coefficients.T
        params -= params.mean(axis=0)
        self.coef_ = params[:, first:]
        self.intercept_ = params[:, 0] if first else np.zeros(len(params))
        steps = sum(shown.of.startswith("objective") for shown in self.result_.shown)
        self.n_iter_ = np.array([steps], dtype=np.int32)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The logarithm of the odds of the second of two classes, ``(rows,)``; of more, ``(rows, classes)`` whose
        differences are logarithms of odds."""
        found = self._new_rows(X) @ self.coef_.T + self.intercept_
        return np.asarray(found[:, 0] if len(self.coef_) == 1 else found)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        eta = self.decision_function(X)
        place = (eta > 0).astype(np.int64) if eta.ndim == 1 else eta.argmax(axis=1)
        return np.asarray(self.classes_[place])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities ``(rows, classes)``, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Their logarithms."""
        eta = self.decision_function(X)
        if eta.ndim == 1:
            return np.column_stack([special.log_expit(-eta), special.log_expit(eta)])
        return np.asarray(special.log_softmax(eta, axis=1))


class PrivatePoissonRegressor(RegressorMixin, LikelihoodEstimator):
    """Poisson regression over the rows of all parties: scikit-learn's ``PoissonRegressor(alpha)``, fitted by
    ``sv.private_glm``.

    Minimises half of the mean deviance plus ``alpha ||coef||^2 / 2``. Responses are numbers >= 0; for rates, give the
    exposures as ``sample_weight``.

    Parameters
    ----------
    alpha : float
        The penalty; 0 for none, and for errors in ``result_``: those of a dispersion that is estimated
        (quasi-likelihood), as responses need not be whole.
    fit_intercept : bool
        Whether to fit one; it is not penalised.
    network, parties
        As for every estimator here: see ``PrivateLogisticRegression``.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As of ``PrivateLinearRegression``.
    n_iter_ : int
        Points at which sums were agreed on.
    result_ : GLMFit
        The private fit.

    Examples
    --------
    >>> from sottovoce.sklearn import PrivatePoissonRegressor
    >>> X, visits = [[0.0], [1.0], [2.0], [0.0], [1.0], [3.0], [4.0]], [1, 2, 3, 1, 1, 6, 9]
    >>> model = PrivatePoissonRegressor(alpha=0.1).fit(X, visits, groups=[1, 1, 1, 2, 2, 3, 3])
    >>> model.coef_.round(4).tolist(), round(model.score(X, visits), 4)
    ([0.5644], 0.9684)
    """

    coef_: Floats
    intercept_: float

    def __init__(
        self, alpha: float = 1.0, *, fit_intercept: bool = True, network: Any = None, parties: int = 3
    ) -> None:
        super().__init__(fit_intercept=fit_intercept, network=network, parties=parties)
        self.alpha = alpha

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of all parties. ``groups``: the party of each row. ``sample_weight``: numbers >= 0, how often
        a row counts, or the exposure that its rate is of; rows of weight 0 are left out."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        parties, weights = weighed(self._parties(len(X), groups), X, sample_weight)
        alpha = 0.0 if self.alpha == 0 else check_penalty("alpha", self.alpha)
        # The sum of all weights is agreed on in the fit, or the number of rows: everybody could multiply by it.
        ridge = alpha * (len(X) if weights is None else math.fsum(weights))
        asked = self._arguments(parties, X, y.astype(np.float64), weights)
        self.result_ = private_glm(**asked, family="poisson", dispersion="pearson", ridge=ridge)
        self.coef_, self.intercept_ = self._split(self.result_)
        self.n_iter_ = int(self.result_.steps)
        return self

    def predict(self, X: Any) -> Floats:
        """Expected counts of rows."""
        return np.exp(self._new_rows(X) @ self.coef_ + self.intercept_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the deviance that is explained, as ``PoissonRegressor`` has it."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))
