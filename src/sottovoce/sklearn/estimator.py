"""What all estimators take, and how they ask the parties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..errors import InvalidInput, is_number
from .parties import Parties, parties_of

Floats = npt.NDArray[np.float64]


class PrivateEstimator(BaseEstimator):
    """An estimator that is fitted by agreements among parties.

    Parameters
    ----------
    network : Network, optional
        Who talks to whom; one node a party. Default: everybody with everybody. Where its nodes have labels, those of
        ``groups`` are these, and a party may have no rows; else labels are sorted, in the order of the nodes.
    parties : int
        Among how many simulated parties rows are dealt, one after the other, where ``fit`` gets no ``groups`` and there
        is no ``network``. Which rows are whose changes no estimate.

    Attributes
    ----------
    result_ : Statistic
        The private fit: errors, ``summary()``, what it gives away (``disclosure``).
    """

    def __init__(self, *, network: Any = None, parties: int = 3) -> None:
        self.network = network
        self.parties = parties

    def _parties(self, rows: int, groups: Any) -> Parties:
        return parties_of(groups, rows, self.network, self.parties)

    def _new_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))


class RegressionEstimator(PrivateEstimator):
    """An estimator of ``y`` from the columns of ``X``, with an intercept or without.

    Parameters
    ----------
    fit_intercept : bool
        Whether to fit one; it is never penalised.
    """

    n_features_in_: int

    def __init__(self, *, fit_intercept: bool = True, network: Any = None, parties: int = 3) -> None:
        super().__init__(network=network, parties=parties)
        self.fit_intercept = fit_intercept

    def _arguments(self, parties: Parties, X: Floats, y: Floats, weights: Floats | None = None) -> dict[str, Any]:
        """Of a private function."""
        given = {} if weights is None else {"weights": parties.of(weights)}
        return {
            "network": parties.network, "shards": list(zip(parties.of(X), parties.of(y), strict=True)),
            "names": self._names(), "intercept": self.fit_intercept, **given,
        }  # fmt: skip

    def _names(self) -> list[str]:
        """Of the columns, those of a frame or ``x0, x1, ..``."""
        found = getattr(self, "feature_names_in_", None)
        return [f"x{k}" for k in range(self.n_features_in_)] if found is None else [str(name) for name in found]


def weighed(parties: Parties, X: Floats, sample_weight: Any) -> tuple[Parties, Floats | None]:
    """Whose rows count, and how much: those of weight 0 do not. None where all count the same."""
    if sample_weight is None:
        return parties, None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not (weights > 0).any():
        raise InvalidInput("sample_weight is 0 in all rows: there is nothing to fit.")
    return parties.without(weights == 0), weights


def check_penalty(name: str, value: Any, *, infinite: bool = False) -> float:
    """A positive number."""
    if not (is_number(value) and value > 0 and (infinite or math.isfinite(value))):
        raise InvalidInput(f"{name} must be a positive number; got {value!r}.")
    return float(value)
