"""What all estimators take, and how they ask the parties."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..errors import InvalidInput, is_number
from ..pdmm.masks import GaussianMask
from ..statistics.agreements import DEFAULT_MASK
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
    scale : float, sequence or mapping, optional
        Public numbers that bring the columns, and last the target of a linear model, to size 1: one for all, one each,
        or by name (``"y"`` for the target). None is 1. They must not be computed from the rows.
    mask : GaussianMask, optional
        That hides what the parties send. Default: ``sv.GaussianMask(variance=1e8)``.
    tol : float
        Of every agreement, relative to the largest number in it.
    random_state : int, RandomState or None
        Of the pads. A mask whose pads can be guessed hides nothing: for tests.

    Attributes
    ----------
    result_ : Statistic
        The private fit: errors, ``summary()``, what it gives away (``disclosure``).
    """

    network: Any
    parties: int
    scale: Any
    mask: Any
    tol: float
    random_state: Any

    def _parties(self, rows: int, groups: Any) -> Parties:
        return parties_of(groups, rows, self.network, self.parties)

    def _settings(self) -> dict[str, Any]:
        """Arguments of every private function."""
        mask: GaussianMask = DEFAULT_MASK if self.mask is None else self.mask
        return {"scale": self.scale, "mask": mask, "tol": self.tol, "seed": self._seed(), "progress": False}

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, numbers.Integral):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _names(self) -> list[str] | None:
        """Of the columns of a frame."""
        found = getattr(self, "feature_names_in_", None)
        return None if found is None else [str(name) for name in found]

    def _new_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))


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
