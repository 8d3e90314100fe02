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
from ..statistics import GLMFit, private_glm
from .estimator import Floats, PrivateEstimator, check_penalty, weighed
from .parties import Parties


class LikelihoodEstimator(PrivateEstimator):
    """A generalised linear model with a ridge penalty."""

    fit_intercept: bool

    def _fitted(
        self, parties: Parties, X: Floats, y: Floats, weights: Floats | None, ridge: float, **model: Any
    ) -> GLMFit:
        return private_glm(
            parties.network, list(zip(parties.of(X), parties.of(y), strict=True)),
            weights=None if weights is None else parties.of(weights), ridge=ridge, intercept=self.fit_intercept,
            names=self._names(), **model, **self._settings(),
        )  # fmt: skip

    def _split(self, result: GLMFit) -> tuple[Floats, float]:
        """Slopes and intercept."""
        first = int(self.fit_intercept)
        return result.params[first:].copy(), float(result.params[0]) if first else 0.0


class PrivateLogisticRegression(ClassifierMixin, LikelihoodEstimator):
    """Logistic regression over the rows of all parties, of two classes: scikit-learn's ``LogisticRegression(C)``,
    fitted by ``sv.private_glm``.

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
    scale : float, sequence or mapping, optional
        Public numbers that bring the columns, and last the target, to size 1: one for all, one each, or by name. None
        is 1. They must not be computed from the rows.
    mask : GaussianMask, optional
        That hides what the parties send. Default: ``sv.GaussianMask(variance=1e8)``.
    tol : float
        Of every agreement, relative to the largest number in it.
    random_state : int, RandomState or None
        Of the pads. A mask whose pads can be guessed hides nothing: for tests.

    Attributes
    ----------
    classes_ : ndarray
        The two of them, sorted; coefficients are those of the second.
    coef_ : ndarray
        ``(1, n_features_in_)``.
    intercept_ : ndarray
        ``(1,)``; 0.0 without one.
    n_iter_ : ndarray
        ``(1,)``, points at which sums were agreed on.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray
        Their names, where ``X`` was a frame.
    result_ : GLMFit
        The private fit.

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

    def __init__(
        self, C: float = 1.0, *, fit_intercept: bool = True, network: Any = None, parties: int = 3, scale: Any = None,
        mask: Any = None, tol: float = 1e-9, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.C = C
        self.fit_intercept = fit_intercept
        self.network = network
        self.parties = parties
        self.scale = scale
        self.mask = mask
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of all parties. ``groups``: the party of each row. ``sample_weight``: numbers >= 0, how often
        a row counts; rows of weight 0 are left out."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        parties, weights = weighed(self._parties(len(X), groups), X, sample_weight)
        self.classes_ = np.unique(y)
        present = len(np.unique(np.concatenate(parties.of(y))))
        if len(self.classes_) > 2:
            # scikit-learn looks for the words up to the full stop.
            raise InvalidInput(
                "Only binary classification is supported. The type of the target is multiclass: for more than two "
                "classes use sv.Study.multinomial."
            )
        if present < 2:
            raise InvalidInput(f"y has {present} class in rows that count; logistic regression needs two classes.")
        ridge = 1 / check_penalty("C", self.C, infinite=True)
        outcome = (y == self.classes_[1]).astype(np.float64)
        self.result_ = self._fitted(parties, X, outcome, weights, ridge, family="binomial")
        coef, intercept = self._split(self.result_)
        self.coef_, self.intercept_ = coef[None, :], np.array([intercept])
        self.n_iter_ = np.array([self.result_.steps], dtype=np.int32)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The logarithm of the odds of the second class, ``(rows,)``."""
        return np.asarray(self._new_rows(X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more probable class of each row."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(np.int64)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities ``(rows, 2)``, in the order of ``classes_``."""
        eta = self.decision_function(X)
        return np.column_stack([special.expit(-eta), special.expit(eta)])

    def predict_log_proba(self, X: Any) -> Floats:
        """Their logarithms."""
        eta = self.decision_function(X)
        return np.column_stack([special.log_expit(-eta), special.log_expit(eta)])


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
    network, parties, scale, mask, tol, random_state
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
        self, alpha: float = 1.0, *, fit_intercept: bool = True, network: Any = None, parties: int = 3,
        scale: Any = None, mask: Any = None, tol: float = 1e-9, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.network = network
        self.parties = parties
        self.scale = scale
        self.mask = mask
        self.tol = tol
        self.random_state = random_state

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
        model = {"family": "poisson", "dispersion": "pearson"}
        self.result_ = self._fitted(parties, X, y.astype(np.float64), weights, ridge, **model)
        self.coef_, self.intercept_ = self._split(self.result_)
        self.n_iter_ = int(self.result_.steps)
        return self

    def predict(self, X: Any) -> Floats:
        """Expected counts of rows."""
        return np.exp(self._new_rows(X) @ self.coef_ + self.intercept_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the deviance that is explained, as ``PoissonRegressor`` has it."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))
