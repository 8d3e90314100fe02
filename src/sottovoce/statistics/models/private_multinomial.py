"""Multinomial logistic regression of arrays, with weights and a ridge penalty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, NotConverged, Undetermined, is_number
from ...network import Network
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import ModularMask, check_size
from ...pdmm.overlay import AskedOverlay
from ...pdmm.schedules import Schedule
from ...pdmm.shards import whose
from ..agreements import DEFAULT_MASK, Agreements, SimulatedAgreements, Simulation, check_mask
from ..analysis import check_rows
from ..likelihood.columns import Columns, agreed_columns
from ..likelihood.maximise import maximise, packed
from ..orders import LOWEST, exponents, mean_power
from ..shards import Shards, column_names, read_regression, read_scale
from .level_model import check_enough
from .multinomial import softmax_sums
from .multinomial_fit import MultinomialFit


def private_multinomial(
    network: Network,
    shards: Shards,
    levels: Sequence[str],
    *,
    ridge: float = 0.0,
    weights: Shards | None = None,
    intercept: bool = True,
    names: Sequence[str] | None = None,
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    mask: GaussianMask = DEFAULT_MASK,
    overlay: AskedOverlay = "tree",
    schedule: Schedule | None = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
    progress: bool | None = None,
) -> MultinomialFit:
    """Multinomial logistic regression of levels ``y`` on the columns of ``X``, over the pooled rows of shards
    ``(X_i, y_i)``.

    Revealed, of each honest component: its number of rows at each level, the sums of its columns and of their squares,
    and at every step its log-likelihood, score and information.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    shards : sequence of pairs, or mapping
        ``(X_i, y_i)`` of every party, with ``n_i`` rows; ``y_i`` are places among ``levels``, from 0.
    levels : sequence of str
        Names of the levels, public; the first is the one that the others are compared with.
    ridge : float
        ``ridge sum_a ||b_a||^2 / 2`` is subtracted from the log-likelihood, for slopes ``b_a`` of all levels that sum
        to 0, in the units of the data: scikit-learn's ``LogisticRegression(C=1 / ridge)``. Estimates have no errors
        then.
    weights : sequence, optional
        Per party a positive number per row: how often it counts.
    intercept : bool
        Whether to fit one.
    names : sequence of str, optional
        Of the columns of arrays; frames have them.
    scale : float, sequence or mapping, optional
        Public numbers that bring the columns to size 1: one for all, one each, or by name.
    mask, overlay, schedule, seed, tol, max_iter, max_rounds, progress
        Of every run, as in ``sv.solve``; see ``sottovoce.statistics``.

    Returns
    -------
    MultinomialFit

    Raises
    ------
    InvalidInput
        Shards that do not fit together, a level that no row has, columns that do not determine the parameters, or that
        separate the levels.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(n, 1)) for n in (30, 9, 50)]
    >>> shards = [(own, np.rint(own[:, 0] + rng.normal(size=len(own))).clip(-1, 1) + 1) for own in X]
    >>> fit = sv.private_multinomial(sv.Network.ring(3), shards, ["low", "middle", "high"], names=["dose"])
    >>> fit.terms, bool((np.diff(fit.coefficients[1]) > 0).all())
    (('middle: Intercept', 'middle: dose', 'high: Intercept', 'high: dose'), True)
    """
    read, d, found, _ = read_regression(network, shards, weights, None)
    columns = column_names(found, names, d)
    called = tuple(levels)
    if len(called) < 2 or len(set(called)) != len(called) or not all(isinstance(level, str) for level in called):
        raise InvalidInput(f"levels must be two or more different strings; got {levels!r}.")
    if not (is_number(ridge) and math.isfinite(ridge) and ridge >= 0):
        raise InvalidInput(f"ridge must be a number >= 0; got {ridge!r}.")
    check_mask(mask, GaussianMask)
    unit = read_scale(scale, columns, "column of X")
    model = _Model(columns, called, bool(intercept), unit, weights is not None, float(ridge), mask)
    for part, who in zip(read, whose(network, "party"), strict=True):
        model.check(part, who, network.n)
    play = Simulation(network, overlay, schedule, seed, tol, max_iter, max_rounds, progress)
    agreements = SimulatedAgreements(play)
    try:
        return _fitted(agreements, read, model)
    except NotConverged:
        return MultinomialFit(*agreements.made)


@dataclass(frozen=True, eq=False)
class _Model:
    """Rows have the columns of ``names``, the place of the level, and where there are ``weights`` these."""

    names: tuple[str, ...]
    levels: tuple[str, ...]
    intercept: bool
    unit: Array
    weights: bool
    ridge: float
    mask: GaussianMask

    @property
    def terms(self) -> tuple[str, ...]:
        return ("Intercept",) * self.intercept + self.names

    def at(self, block: Array) -> Array:
        """Of some rows, 1 at the level of each, ``(rows, levels)``."""
        return np.asarray(block[:, [len(self.names)]] == np.arange(len(self.levels)), dtype=np.float64)

    def w(self, block: Array) -> Array:
        return block[:, -1] if self.weights else np.ones(len(block))

    def counts(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Rows at each level, and exponents of the weights."""
        found = rows.sums(lambda block: np.column_stack([self.at(block), exponents(self.w(block)) + LOWEST]))
        return np.rint(found).astype(np.int64)

    def check(self, rows: Rows, who: str, parties: int) -> None:
        """Before anything is sent."""
        counts = self.counts(rows)
        if other := len(rows) - counts[:-1].sum():
            raise InvalidInput(
                f"{who}: y must be places among the levels, 0 to {len(self.levels) - 1}; {other} rows have others."
            )
        check_size(counts, ModularMask(), parties)

    def penalty(self, columns: Columns) -> Array:
        """``Q`` of which ``theta' Q theta / 2`` is the penalty: slopes less their mean over all levels, the reference
        with slopes 0 among them, have the least squares of all that give the same probabilities."""
        slopes = np.append(np.zeros(int(self.intercept)), self.ridge / columns.deviation**2)
        others = len(self.levels) - 1
        return np.asarray(np.kron(np.eye(others) - 1 / len(self.levels), np.diag(slopes)), dtype=np.float64)


def _fitted(agreements: Agreements, rows: Sequence[Rows], model: _Model) -> MultinomialFit:
    own = np.array([model.counts(part) for part in rows])
    *counts, sizes = agreements.total(own, ModularMask(), of="rows at each level, orders of magnitude of the weights")
    N, others, p = int(sum(counts)), len(model.levels) - 1, len(model.terms)
    check_rows(N)
    if empty := [repr(level) for level, count in zip(model.levels, counts, strict=True) if not count]:
        raise Undetermined(f"no row of any party is at the level {', '.join(empty)}. Leave it out.")
    if not model.ridge:
        check_enough(N, others * p)
    weight = mean_power(int(sizes), N)
    found, shares = agreed_columns(
        agreements, rows, N, model.mask, model.names, model.unit, intercept=model.intercept,
        also=lambda block: model.at(block) * model.w(block)[:, None] / weight,
    )  # fmt: skip
    # Where the penalty is larger than a column's information, it sets the unit.
    least = 2.0 ** exponents(np.sqrt(model.ridge / weight / N)) if model.ridge else 0.0
    columns = replace(found[0], deviation=np.maximum(found[0].deviation, least))
    start = np.zeros((len(rows), others, p))
    if model.intercept:
        start[:, :, 0] = np.log(shares[:, 1:] / shares[:, :1])
    Q = model.penalty(columns) / weight / N

    def penalised(sums: Array, theta: Array) -> Array:
        """The penalty is public: everybody adds it to what was agreed on."""
        return sums + packed(-float(theta @ Q @ theta) / 2, -Q @ theta, Q)

    d, order = len(model.names), range(1, others + 1)
    terms = tuple(f"{level}: {term}" for level in model.levels[1:] for term in model.terms)
    top = maximise(
        agreements, [softmax_sums(part, columns, d, order, lambda block: model.w(block) / weight) for part in rows],
        start.reshape(len(rows), -1), terms, model.mask, N, of_sums=[penalised] * len(rows),
        infinite=": it separates levels. Drop it, merge levels, or take a ridge penalty, or a larger one.",
    )  # fmt: skip
    back, k = np.kron(np.eye(others), columns.back), others * p
    inverse = np.full((k, k), np.nan) if model.ridge else np.linalg.inv(top.information[0]) / N / weight
    return MultinomialFit(
        *agreements.made,
        terms=terms,
        params=back @ top.theta[0],
        covariance=back @ inverse @ back.T,
        nobs=N,
        response="y",
        formula="",
        schema="",
        levels=model.levels,
        variables=model.terms,
        counts=np.array(counts, dtype=np.int64),
        llf=float(top.sums[0, 0] * N * weight),
        llnull=float(N * weight * (shares[0] @ np.log(shares[0] / shares[0].sum()))),
    )
