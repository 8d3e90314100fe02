"""Mean, variance and covariance as the parties hold them in the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..costs.base import Array
from ..pdmm.result import Status
from .plain_table import plain_table
from .statistic import Statistic, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class PooledMean(Statistic):
    """What ``private_mean`` returns, besides the fields of ``Statistic``.

    Attributes
    ----------
    observations : int
        Rows of all parties.
    mean : float or ndarray
        A float for one variable, else ``(d,)``.
    names : tuple of str
        Of the columns: those of frames, else ``x0, x1, ..``; ``x`` for one variable.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_mean(sv.Network.ring(3), [[[1.0, 2.0]], [[3.0, 6.0]], [[2.0, 1.0]]])
    >>> result.observations, result.mean.round(6).tolist()
    (3, [2.0, 3.0])
    """

    observations: Value[int] = Value()
    mean: Value[float | Array] = Value()
    names: Value[tuple[str, ...]] = Value()

    title: ClassVar[str] = "Mean"  # above the summary

    def summary(self) -> str:
        """A table for people: a row for each column."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no numbers to report."
        heading = f"{self._heading()}: {self.observations} observations of {self.parties} parties"
        table = plain_table(self._columns(), texts=1)
        return "\n".join([heading, *filter(None, [self.data_notes()]), "", *table])

    def _heading(self) -> str:
        return self.title

    def _columns(self) -> dict[str, list[Any]]:
        return {"column": list(self.names), "mean": np.ravel(self.mean).tolist()}

    def _facts(self) -> str:
        of = f"{len(self.names)} columns" if len(self.names) > 3 else ", ".join(self.names)
        return f"{of}: {self.observations} observations of {self.parties} parties"

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_rows

        return plot_rows(path, self.names, np.ravel(self.mean), None, self._facts(), "mean")


@dataclass(frozen=True, eq=False, repr=False)
class PooledVariance(PooledMean):
    """What ``private_variance`` returns, besides the fields of ``PooledMean``.

    Attributes
    ----------
    ddof : int
        What was subtracted from the number of rows.
    variance : float or ndarray
        Of the shape of ``mean``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_variance(sv.Network.ring(3), [[1.0, 2.0], [6.0], []], ddof=0)
    >>> result.ddof, round(result.mean, 6), round(result.variance, 6)
    (0, 3.0, 4.666667)
    """

    ddof: Value[int] = Value()
    variance: Value[float | Array] = Value()

    title: ClassVar[str] = "Variance"

    def _heading(self) -> str:
        return f"{self.title} (N - {self.ddof})"

    @property
    def standard_deviation(self) -> float | Array:
        """The root of ``variance``."""
        return shaped(np.sqrt(np.maximum(self.variance, 0.0)), np.shape(self.variance))

    def _columns(self) -> dict[str, list[Any]]:
        spread = {"variance": self.variance, "standard_deviation": self.standard_deviation}
        return {**super()._columns(), **{name: np.ravel(values).tolist() for name, values in spread.items()}}

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_rows

        mean, spread = np.ravel(self.mean), np.ravel(self.standard_deviation)
        within = np.column_stack([mean - spread, mean + spread])
        return plot_rows(path, self.names, mean, within, self._facts(), "mean, and one standard deviation about it")


@dataclass(frozen=True, eq=False, repr=False)
class PooledCovariance(PooledMean):
    """What ``private_covariance`` returns, besides the fields of ``PooledMean``.

    Attributes
    ----------
    ddof : int
        What was subtracted from the number of rows.
    covariance : ndarray
        ``(d, d)``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> result = sv.private_covariance(sv.Network.ring(3), [[[0.0, 0.0]], [[1.0, 2.0]], [[2.0, 4.0]]])
    >>> result.observations, result.covariance.round(6).tolist()
    (3, [[1.0, 2.0], [2.0, 4.0]])
    """

    ddof: Value[int] = Value()
    covariance: Value[Array] = Value()

    title: ClassVar[str] = "Covariance"

    def _heading(self) -> str:
        return f"{self.title} (N - {self.ddof})"

    @property
    def correlation(self) -> Array:
        """``(d, d)``; NaN in the row and column of a variable that does not vary."""
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        spread = np.where(spread > 0, spread, np.nan)
        correlation = np.clip(self.covariance / np.outer(spread, spread), -1.0, 1.0)
        np.fill_diagonal(correlation, np.where(np.isnan(spread), np.nan, 1.0))
        return np.asarray(correlation)

    def _columns(self) -> dict[str, list[Any]]:
        covariances = {
            f"covariance with {name}": row.tolist() for name, row in zip(self.names, self.covariance, strict=True)
        }
        return {**super()._columns(), **covariances}

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_correlation

        return plot_correlation(path, self.names, self.correlation, f"Correlations: {self.observations} observations")


def shaped(values: Array, shape: tuple[int, ...]) -> float | Array:
    """A number where the shape is ``()``."""
    return values if shape else float(np.reshape(values, ()))
