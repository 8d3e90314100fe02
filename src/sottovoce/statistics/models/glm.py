"""Generalised linear models of tables, on exact sums: Newton's method (see ``families``) by agreements.

counts, products of columns       1: what stays of the columns, their units, and the first step (``glm_model``)
deviance, score, information      at every point; with offsets those of the model of an intercept alone ride along
scores of rows; perfect fit       1, as far as robust errors or an estimated dispersion ask for it
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...costs.base import Array, as_floats
from ...data.formula import Formula
from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined
from ...numerics import fixed_order
from ...numerics.symmetric import symmetric
from ...sums import Whole
from ..agreements import Agreements, Objected, unless_beyond
from ..analysis import Analysis
from ..fewer_digits import Index, climb_steps, rounded
from ..fit import Fit
from ..likelihood.fixed_point import LOW, exponent, value, values
from ..likelihood.maximise import MOST, REACH, Maximum, covariance, maximise
from ..new_rows import design_rows, log_exposure, schema_text
from ..statistic import Statistic, Value
from . import special
from .families import FAMILIES, LINKS, Family, Link
from .glm_model import GLMModel, Known, Part, climb_size, first_agreement, numbers_of

DISPERSIONS = ("fixed", "pearson")
ROBUST = ("HC0", "HC1")
NULL = "Intercept without columns"
NOTHING = 1e-12  # of what a variance is made of: rounding, where the terms cancel


@dataclass(frozen=True, eq=False, repr=False)
class GLMFit(Fit):
    """What ``private_glm`` and ``Study.glm`` return, besides the fields of ``Fit``; names are those of statsmodels.

    Attributes
    ----------
    all_terms : tuple of str
        Those of the parameters and those that are aliased, in the order of the design.
    response : str
        What is explained.
    family, link : str
        Of the model.
    shape : float, optional
        Of the negative binomial family: the variance is ``mu + shape mu^2``.
    dispersion : {"fixed", "pearson"}
        Whether ``scale`` is 1, or the estimate ``pearson_chi2 / df_resid``.
    robust : str, optional
        ``"HC0"`` or ``"HC1"`` where errors are from the sandwich.
    ridge : float
        Of the penalty ``ridge ||slopes||^2 / 2``; where it is not 0, errors are NaN: estimates are biased on purpose.
    scale : float
        The dispersion.
    deviance, null_deviance : float
        Of the fit, and of the model with an intercept alone (and the offset).
    pearson_chi2 : float
        The sum of squared Pearson residuals.
    llf, llnull : float
        Log-likelihoods, with all constants; for an estimated dispersion at that. Of the families with dispersion 1 they
        are those at 1 also where it was estimated (quasi-likelihood).
    steps : int
        Of Newton's method: points at which sums were agreed on.
    formula, schema : str
        Of the design, the schema as JSON; empty where columns came as arrays.
    weights, exposure : str, optional
        The columns of the table that were used so.

    Examples
    --------
    >>> import sottovoce as sv
    >>> shards = [([[0.0], [1.0], [2.0]], [0, 0, 1]), ([[0.0], [1.0]], [0, 1]), ([[2.0], [1.0], [2.0]], [1, 1, 0])]
    >>> fit = sv.private_glm(sv.Network.ring(3), shards, family="binomial", names=["dose"])
    >>> fit.terms, fit.params.round(4).tolist(), round(fit.deviance, 4), fit.df_resid
    (('Intercept', 'dose'), [-1.6392, 1.4381], 9.103, 6)
    >>> fit.predict([[1.0]]).round(4).tolist()
    [0.4499]
    """

    all_terms: Value[tuple[str, ...]] = Value()
    response: Value[str] = Value()
    family: Value[str] = Value()
    link: Value[str] = Value()
    shape: Value[float | None] = Value()
    dispersion: Value[str] = Value()
    robust: Value[str | None] = Value()
    ridge: Value[float] = Value()
    scale: Value[float] = Value()
    deviance: Value[float] = Value()
    null_deviance: Value[float] = Value()
    pearson_chi2: Value[float] = Value()
    llf: Value[float] = Value()
    llnull: Value[float] = Value()
    steps: Value[int] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    weights: Value[str | None] = Value()
    exposure: Value[str | None] = Value()

    title: ClassVar[str] = "Generalized Linear Model"

    @property
    def ratio(self) -> str | None:  # type: ignore[override]
        """What ``exp`` of an estimate is."""
        return LINKS[self.link].ratio

    @property
    def intercept(self) -> bool:
        """Whether the model has one."""
        return "Intercept" in self.terms

    @property
    def all_params(self) -> Array:
        """Estimates of ``all_terms``: 0 of those that are aliased, which have no part in predictions."""
        params = dict(zip(self.terms, self.params.tolist(), strict=True))
        return np.array([params.get(term, 0.0) for term in self.all_terms])

    @property
    def df_model(self) -> int:
        """Parameters less one, as statsmodels counts them."""
        return len(self.terms) - 1

    @property
    def df_resid(self) -> int:
        """Observations less parameters."""
        return self.nobs - len(self.terms)

    @property
    def aic(self) -> float:
        """``-2 llf + 2 k`` for ``k`` parameters; the dispersion is not counted."""
        return -2 * self.llf + 2 * len(self.terms)

    @property
    def bic(self) -> float:
        """``-2 llf + k log(nobs)``; ``bic_llf`` in statsmodels."""
        return -2 * self.llf + len(self.terms) * float(np.log(self.nobs))

    @property
    def bic_deviance(self) -> float:
        """``deviance - df_resid log(nobs)``."""
        return self.deviance - self.df_resid * float(np.log(self.nobs))

    def pseudo_rsquared(self, kind: str = "mcf") -> float:
        """McFadden's ``1 - llf / llnull`` (``"mcf"``), or Cox and Snell's ``1 - exp((llnull - llf) 2 / nobs)``
        (``"cs"``)."""
        if kind not in ("mcf", "cs"):
            raise InvalidInput(f"kind must be 'mcf' or 'cs'; got {kind!r}.")
        if kind == "cs":
            return float(-np.expm1(2 * (self.llnull - self.llf) / self.nobs))
        return 1 - self.llf / self.llnull

    def compare_lr(self, other: GLMFit) -> tuple[float, float, int]:
        """The likelihood-ratio test against a model with some of the terms only: the statistic, its p-value, and the
        degrees of freedom.

        The statistic is ``(other.deviance - deviance) / scale``, which is chi-squared where the terms that ``other``
        lacks have no effect; the dispersion is that of this model, the larger one.
        """
        if not isinstance(other, GLMFit):
            raise InvalidInput(f"other must be a GLMFit; got {type(other).__name__}.")
        same = ("response", "family", "link", "shape", "nobs", "dispersion", "weights", "exposure")
        for name in same:
            if getattr(self, name) != getattr(other, name):
                raise InvalidInput(f"other must be of the same data and family: its {name} is another.")
        if self.ridge or other.ridge:
            raise InvalidInput("a likelihood-ratio test compares maxima of likelihoods; these have a ridge penalty.")
        df = len(self.terms) - len(other.terms)
        if df < 1 or not set(other.terms) < set(self.terms):
            raise InvalidInput(
                "other must have some of this model's terms and no others: a likelihood-ratio test compares a model "
                "with one that it contains. Ask the larger one."
            )
        statistic = max(0.0, (other.deviance - self.deviance) / self.scale)
        return statistic, float(special.chdtrc(df, statistic)), df

    def predict(
        self, table: Any, *, offset: npt.ArrayLike | None = None, exposure: npt.ArrayLike | None = None,
        linear: bool = False,
    ) -> Array:  # fmt: skip
        """The mean response of new rows; with ``linear`` the linear predictor. ``table``: with the columns that the
        formula and the exposure read, in any form that a party's table may have; or an array or a frame of the columns,
        where the model was made from arrays, with ``offset`` and ``exposure`` for each row, if it has some."""
        given = {"offset": offset, "exposure": exposure}
        if self.formula and (named := [name for name, value in given.items() if value is not None]):
            raise InvalidInput(f"{named[0]}: this model reads all that it needs from the table. Leave it out.")
        X, fixed = design_rows(self.formula, self.schema, self.all_terms, table, self.exposure)
        eta = X @ self.all_params + fixed
        if offset is not None:
            eta = eta + as_floats(offset, "offset")
        if exposure is not None:
            if self.link != "log":
                raise InvalidInput(f"exposure needs the link log; this model has {self.link}.")
            eta = eta + log_exposure(as_floats(exposure, "exposure"))
        return np.asarray(eta if linear else LINKS[self.link].mean(eta))

    def _facts(self) -> str:
        return f"{self.family} model of {self.response}, {super()._facts()}"

    def _head(self) -> list[tuple[str, str]]:
        shape = [] if self.shape is None else [("Shape", f"{self.shape:g}")]
        return [
            ("Dep. Variable", self.response), ("Model Family", self.family), ("Link Function", self.link), *shape,
            *super()._head(), ("Df Residuals", f"{self.df_resid:,}"), ("Df Model", f"{self.df_model}"),
            ("Scale", f"{self.scale:.5g}"), ("Covariance Type", self.robust or "nonrobust"),
            ("Log-Likelihood", f"{self.llf:.6g}"), ("Deviance", f"{self.deviance:.6g}"),
            ("Null Deviance", f"{self.null_deviance:.6g}"), ("Pearson chi2", f"{self.pearson_chi2:.5g}"),
            ("Pseudo R-squ. (McFadden)", f"{self.pseudo_rsquared():.4f}"), ("AIC", f"{self.aic:.6g}"),
            ("BIC", f"{self.bic:.6g}"), ("Steps", f"{self.steps}"),
        ]  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class GLM(Analysis):
    """The generalised linear model that a formula describes; see ``Study.glm``."""

    formula: str
    family: str = "binomial"
    link: str | None = None
    weights: str | None = None
    exposure: str | None = None
    shape: float | None = None
    dispersion: str | None = None
    robust: str | None = None
    ridge: float = 0.0

    type: ClassVar[str] = "glm"
    gives: ClassVar[builtins.type[Statistic]] = GLMFit

    def __post_init__(self) -> None:
        self._check_ridge(self._family_link_dispersion[0])
        object.__setattr__(self, "ridge", float(self.ridge))
        for key, name in (("weights", self.weights), ("exposure", self.exposure)):
            if name is not None and name not in self.schema:
                raise InvalidInput(f"{key} must be a column of the schema; got {name!r}.")
            if name is not None and (type_ := self.schema[name].type) not in ("number", "integer"):
                raise InvalidInput(f"{key} must be a column of numbers; {name!r} is a {type_}.")
        self._check_response()
        if self.model.offset is not None and (self.model.link.power or 0) < 0:
            raise InvalidInput(f"offset has no use with the link {self.model.link.name}. Leave it out.")

    def _check_ridge(self, family: Family) -> None:
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise InvalidInput(f"ridge must be a number >= 0; got {self.ridge!r}.")
        if self.ridge and family.estimated:
            raise InvalidInput(
                f"ridge: family {family.name} has a dispersion, against which a penalty has no size. Take binomial, "
                "poisson or negative_binomial; for a Gaussian response there is ridge regression."
            )
        if self.ridge and self.robust is not None:
            raise InvalidInput(f"robust: estimates with a ridge penalty have no standard errors; got {self.robust!r}.")

    def _check_response(self) -> None:
        response = self.selection.design.response
        if len(response) != 1:
            raise InvalidInput(f"formula: it needs one column before ~, which is to be explained; got {len(response)}.")
        column, levels = self.schema.get(response[0]), FAMILIES[self.family].levels
        if column is not None and column.type == "category":
            if not levels:
                raise InvalidInput(f"formula: {column.name!r} is a category, and no response of family {self.family}.")
            if len(column.levels) != levels:
                raise InvalidInput(
                    f"formula: {column.name!r} has {len(column.levels)} levels; family {self.family} takes {levels}. "
                    "Merge some, or take a multinomial model."
                )

    @cached_property
    def selection(self) -> ModelColumns:
        design = Formula(self.formula).design(self.schema, categories=True)
        return ModelColumns(design, tuple(dict.fromkeys(name for name in (self.weights, self.exposure) if name)))

    @cached_property
    def _family_link_dispersion(self) -> tuple[Family, Link, str]:
        """Or a sentence that begins with the name of what is wrong."""
        if self.family not in FAMILIES:
            raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}; got {self.family!r}.")
        family = FAMILIES[self.family].of_shape(self.shape)
        if self.link is not None and self.link not in family.links:
            raise InvalidInput(
                f"link must be one of {', '.join(family.links)} for family {self.family}; got {self.link!r}."
            )
        link = self.link or family.links[0]
        if self.dispersion is not None and self.dispersion not in DISPERSIONS:
            raise InvalidInput(f"dispersion must be one of {', '.join(DISPERSIONS)}; got {self.dispersion!r}.")
        if family.estimated and self.dispersion == "fixed":
            raise InvalidInput(f"dispersion of family {self.family} is estimated; got 'fixed'. Leave it out.")
        if self.robust is not None and self.robust not in ROBUST:
            raise InvalidInput(f"robust must be one of {', '.join(ROBUST)}, or left out; got {self.robust!r}.")
        if self.exposure is not None and link != "log":
            raise InvalidInput(f"exposure needs the link log; got {link!r}. Use offset() or weights.")
        return family, LINKS[link], self.dispersion or ("pearson" if family.estimated else "fixed")

    @cached_property
    def model(self) -> GLMModel:
        """The model of rows that these options make."""
        taken = self.selection
        family, link, dispersion = self._family_link_dispersion
        response = taken.design.response[0]
        column = self.schema.get(response)
        return GLMModel(
            names=taken.slopes, response=response, family=family, link=link, intercept=taken.intercept,
            units=self.units, offset=taken.offset,
            exposure=None if self.exposure is None else taken.place(self.exposure),
            weights=None if self.weights is None else taken.place(self.weights),
            turned=column is not None and column.type == "category" and column.reference != column.levels[0],
            dispersed=dispersion == "pearson", robust=self.robust, ridge=self.ridge,
        )  # fmt: skip

    def check(self, rows: Rows, parties: int) -> None:
        self.model.check(rows)

    @property
    def revealed(self) -> list[str]:
        model, k = self.model, self.model.k
        steps = 1 + k + model.kinds * k * (k + 1) // 2
        found = [
            f"the numbers of {', '.join(model.counted)}",
            f"the sums of {len(model.names)} columns, of their squares and products, and of {model.response}",
            f"at every step of Newton's method deviance, score and information: {steps} sums",
            "the sums of squared residuals, and the log-likelihood",
        ]
        return found + (["the products of the scores of rows, for the errors"] if model.robust else [])

    @property
    def _further(self) -> int:
        """How many agreements there are after the climb, at most."""
        return (self.robust is not None) + (not self.model.separable)

    @property
    def stages(self) -> int:
        return 1 + MOST + self._further

    @property
    def numbers(self) -> int:
        k, perfect = self.model.k, 2 * (not self.model.separable)
        further = self._further * ((k * (k + 1) // 2 if self.robust else 0) + perfect)
        return numbers_of(self.model) + MOST * climb_size(self.model, k) + further

    @property
    def parameters(self) -> int:
        return self.model.k

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> GLMFit:
        known, model = first_agreement(agreements, rows, self.model), self.model
        parts = [Part(part, known) for part in rows]
        top = _top(agreements, parts, known)
        columns, N, df = known.columns, known.N, known.N - known.k
        deviance, null_deviance = known.deviance(top.total), known.null_deviance(top.total)
        squares = known.squares(top.total)
        scale = 1.0 if not model.dispersed else squares / df if df > 0 else float("nan")
        told = (1.0, 1.0)  # dispersions of the log-likelihoods, of the model and of that without columns
        if model.family.estimated:
            told = model.family.likelihood_scale(deviance, N, scale), scale
        meat, perfect = _further_sums(agreements, parts, known, top, scale, told)
        with np.errstate(divide="ignore", invalid="ignore"):
            llf, llnull = np.array(perfect) - np.array([deviance, null_deviance]) / (2 * np.array(told))
        errors = _covariance(known, top, scale, meat)
        if self.robust == "HC1":
            errors *= N / df if df > 0 else np.nan
        params = columns.params(top.theta[: known.k])
        params[:1] += known.centre * model.intercept
        return GLMFit(
            *agreements.made, terms=columns.terms, params=params, covariance=columns.covariance(errors), nobs=N,
            aliased=columns.aliased, all_terms=model.terms, response=model.response, family=self.family,
            link=model.link.name, shape=model.family.shape, dispersion=self._family_link_dispersion[2],
            robust=self.robust, ridge=self.ridge, scale=scale, deviance=deviance, null_deviance=null_deviance,
            pearson_chi2=squares, llf=float(llf), llnull=float(llnull), steps=top.steps, formula=self.formula,
            schema=schema_text(self.schema, self.selection.needs), weights=self.weights, exposure=self.exposure,
        )  # fmt: skip


def _top(agreements: Agreements, parts: Sequence[Part], known: Known) -> Maximum:
    model = known.model
    start, ahead = known.start()
    names, named = known.columns.terms, np.eye(len(start) + model.moved)
    named[: len(start), : len(start)] = known.columns.unmixed.T
    if model.moved:  # the model of an intercept alone is climbed beside
        start, names = np.append(start, known.start_of_null), (*names, NULL)
    return maximise(
        agreements, parts, start, names, known.read, size=climb_size(model, known.k), ahead=ahead,
        infinite=f": {model.family.infinite(model.response)}. Drop it, or merge the level.",
        reach=REACH if model.link.power is None else np.inf, rows=known.N if model.family.estimated else None,
        before=None if ahead is None else known.before, named=named, digits=known.digits(agreements),
    )  # fmt: skip


def _further_sums(
    agreements: Agreements, parts: Sequence[Part], known: Known, top: Maximum, scale: float,
    told: tuple[float, float],
) -> tuple[Array | None, tuple[float, float]]:  # fmt: skip
    """The products of the scores of rows, where errors are from the sandwich; and the log-likelihoods of a perfect fit
    at two dispersions."""
    model, N, perfect = known.model, known.N, (np.nan, np.nan)
    if model.separable:  # what another dispersion changes is the same for all rows
        one = np.ones(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            at_1, *at = (float(model.family.saturated(one, one, phi)[0]) for phi in (1.0, *told))
        perfect = known.saturated + N * (at[0] - at_1), known.saturated + N * (at[1] - at_1)
    elif all(0 < phi < np.inf for phi in told):
        try:
            return _scores(agreements, parts, known, top, scale, told)
        except Objected:  # a density that is not finite, most likely: there are estimates without it
            pass
    return _scores(agreements, parts, known, top, scale, None)[0] if model.robust else None, perfect


def _scores(
    agreements: Agreements, parts: Sequence[Part], known: Known, top: Maximum, scale: float,
    told: tuple[float, float] | None,
) -> tuple[Array | None, tuple[float, float]]:  # fmt: skip
    """One agreement on both, as far as they are asked for."""
    robust, bits = known.model.robust is not None, _bits(known, scale)
    pairs: list[Index] = list(combinations_with_replacement(range(known.k), 2)) if robust else []
    sums: list[Index] = [] if told is None else [(), ()]

    def own(part: Part) -> Whole:
        scores = [part.scores(top.theta, bits)] if robust else []
        return np.concatenate([*scores, *([] if told is None else [part.saturated(told)])])

    of = [*(["products of the scores of rows"] if robust else []), *([] if told is None else ["a perfect fit"])]
    shares = [unless_beyond(own, part) for part in parts]
    if agreements.ends is not None:
        information = np.diag(known.expected(top.total)) * scale
        bits_of = [*[2 * bits] * len(pairs), *[LOW] * len(sums)]
        steps = climb_steps([*pairs, *sums], bits_of, known.N, information)
        shares = [rounded(share, steps) for share in shares]
    total = agreements.sum(shares, of=" and ".join(of), size=len(pairs) + len(sums))
    perfect = (np.nan, np.nan)
    if told is not None:
        perfect = value(total[-2], LOW), value(total[-1], LOW)
    if not robust:
        return None, perfect
    return symmetric(values(total[: len(pairs)], 2 * bits), known.k), perfect


def _bits(known: Known, scale: float) -> int:
    """The grid of the scores of rows: sums of their squares are about the information times the dispersion, and no row
    has more than all of them."""
    size = max(scale, known.dispersion) if scale == scale else known.dispersion
    square = exponent(float(known.weight) * known.information * size)
    return 60 - (min(24, known.wide + 8) + known.wide + square + 1) // 2


def _covariance(known: Known, top: Maximum, scale: float, meat: Array | None) -> Array:
    """The covariance of the parameters of standardised columns; robust ``H^-1 (sum u u') H^-1`` for the scores ``u`` of
    the rows and the observed information (White, 1982)."""
    if known.model.ridge:  # estimates are biased on purpose: no information tells an error of them
        return np.full((known.k, known.k), np.nan)
    if meat is None:
        return scale * covariance(known.expected(top.total))
    L, place = fixed_order.cholesky(known.observed(top.total))
    if place is not None:
        raise Undetermined("the observed information does not tell the errors of all parameters. Leave robust out.")
    bread = fixed_order.inverse(L)
    T = fixed_order.product(known.columns.back, bread)
    variances = fixed_order.quadratic(meat, T)
    sizes = fixed_order.quadratic(np.abs(meat), np.abs(T))
    lost = variances <= NOTHING * sizes
    if lost.any():
        those = ", ".join(repr(t) for t, flag in zip(known.columns.terms, lost, strict=True) if flag)
        raise Undetermined(
            f"the robust variance of {those} is 0: as for a level that one row has, nothing is left of the rows that "
            "tell it. Merge the level with another, or leave robust out."
        )
    return fixed_order.product(fixed_order.product(bread, meat), bread)
