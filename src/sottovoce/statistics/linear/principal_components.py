"""Principal components as the parties hold them in the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...costs.base import Array
from ...data.selection import PlainColumns
from ...pdmm.result import Status
from ..new_rows import matrix_of, table_rows
from ..statistic import Statistic, Value, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class PrincipalComponents(Statistic):
    """What ``Study.pca`` and ``private_pca`` return, besides the fields of ``Statistic``: directions of most variance.

    A component is turned so that its largest loading is positive, the first of equal ones. Of components with (nearly)
    the same variance only the space that they span is determined, here as in any software.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    schema : str
        Of them, as JSON; empty where they came as arrays.
    nobs : int
        Rows of all parties.
    standardize : bool
        Whether columns were brought to one variance.
    mean, scale : ndarray
        What is subtracted from a column, and what it is then divided by: its standard deviation (over ``nobs``), or 1.
    components : ndarray
        ``(components, columns)``, each of length 1.
    explained_variance : ndarray
        Of the components, over ``nobs - 1``.
    total_variance : float
        Of all columns together.

    Examples
    --------
    >>> import sottovoce as sv
    >>> rows = [[[0.0, 0.0], [1.0, 2.0]], [[2.0, 4.1]], [[3.0, 5.9]]]
    >>> found = sv.private_pca(sv.Network.ring(3), rows)
    >>> found.components.round(3).tolist(), found.explained_variance_ratio.round(4).tolist()
    ([[0.451, 0.893], [0.893, -0.451]], [0.9999, 0.0001])
    """

    names: Value[tuple[str, ...]] = Value()
    schema: Value[str] = Value()
    nobs: Value[int] = Value()
    standardize: Value[bool] = Value()
    mean: Value[Array] = Value()
    scale: Value[Array] = Value()
    components: Value[Array] = Value()
    explained_variance: Value[Array] = Value()
    total_variance: Value[float] = Value()

    @property
    def explained_variance_ratio(self) -> Array:
        """The share of each component in the variance of all columns."""
        return np.asarray(self.explained_variance / self.total_variance)

    @property
    def singular_values(self) -> Array:
        """Of the centred rows."""
        return np.sqrt(self.explained_variance * (self.nobs - 1))

    def transform(self, table: Any) -> Array:
        """Rows in the coordinates of the components, ``(rows, components)``: a table in any form that a party's may
        have, or an array or a frame of the columns. It stays where it is computed: scores are of single rows."""
        rows = table_rows(self.schema, PlainColumns(self.names), table) if self.schema else matrix_of(self.names, table)
        return np.asarray((rows - self.mean) / self.scale @ self.components.T)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON: the fields, and the shares of the components."""
        if self.status is not Status.CONVERGED:
            return super().to_dict()
        return {**super().to_dict(), "explained_variance_ratio": plain(self.explained_variance_ratio)}

    def summary(self) -> str:
        """A table for people: by component its variance and its loadings."""
        if self.status is not Status.CONVERGED:
            return f"{self.status.value}: no components to report."
        rows = {name: values for name, values in self._columns().items() if name != "component"}
        width = max(map(len, rows))
        head = " " * width + "".join(f" {f'PC{k + 1}':>12}" for k in range(len(self.components)))
        lines = [f"{name:{width}}" + "".join(f" {value:12.6g}" for value in values) for name, values in rows.items()]
        return "\n".join([self._facts(), *filter(None, [self.data_notes()]), "", head, *lines])

    def _model_size(self) -> tuple[int, int, int] | None:
        return (len(self.names), len(self.names), self.nobs) if self.status is Status.CONVERGED else None

    def _facts(self) -> str:
        found, of = len(self.components), len(self.names)
        return f"{found} principal components of {of} columns: {self.nobs} observations of {self.parties} parties"

    def _columns(self) -> dict[str, list[Any]]:
        variances = {
            "component": [f"PC{k + 1}" for k in range(len(self.components))],
            "explained_variance": self.explained_variance.tolist(),
            "ratio": self.explained_variance_ratio.tolist(),
            "cumulative": np.cumsum(self.explained_variance_ratio).tolist(),
        }
        return variances | {name: self.components[:, j].tolist() for j, name in enumerate(self.names)}

    def _picture(self, path: str | Path | None) -> Figure:
        from .pictures import plot_scree

        return plot_scree(path, self)
