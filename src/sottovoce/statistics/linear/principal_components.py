"""``type = "pca"``: principal components of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...network.pictures import BLUE, ORANGE, picture
from ...numerics.fixed_order import eigen, total
from ...pdmm.result import Status
from ..agreements import Agreements
from ..analysis import Analysis
from ..new_rows import matrix_of, schema_text, table_rows
from ..statistic import Statistic, Value, plain
from .gram import Columns, Moments, agreed_gram, check_size, check_told_apart, numbers_of_gram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 100  # columns, whose eigenvectors take less than a second in a fixed order


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
        """The share of each component in the variance, and of all up to it."""
        share = self.explained_variance_ratio
        at = np.arange(1, len(share) + 1)
        with picture(path, 6.4, 3.8) as figure:
            axes: Any = figure.subplots()
            axes.bar(at, share, color=BLUE, edgecolor="white", label="each")
            axes.plot(at, np.cumsum(share), color=ORANGE, marker="o", markersize=4, label="all up to it")
            axes.set_ylim(0, 1.05)
            axes.locator_params(axis="x", integer=True)
            axes.set_xlabel("component")
            axes.set_ylabel("share of the variance")
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
            figure.suptitle(self._facts(), x=0.01, ha="left", fontsize=10, parse_math=False)
        return figure


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsModel(Analysis):
    """``columns`` of the table; ``standardize``; ``components``, how many."""

    columns: tuple[str, ...] = ()  # what the rows have is what is asked for
    standardize: bool = False
    components: int | None = None

    type: ClassVar[str] = "pca"
    gives = PrincipalComponents

    def __post_init__(self) -> None:
        names = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        object.__setattr__(self, "columns", names)
        if not names:
            raise InvalidInput("columns is missing: name one or more.")
        if len(set(names)) < len(names):
            raise InvalidInput(f"columns must be different columns; got {names!r}.")
        for name in names:
            if self.schema.restricted([name])[name].type == "category":
                raise InvalidInput(f"columns has {name!r}, a category, which has no variance. Leave it out.")
        if self.components is not None and not 1 <= self.components <= len(names):
            raise InvalidInput(
                f"components must be an integer from 1 to the number of columns, {len(names)}; got {self.components!r}."
            )
        check_size(len(names))

    @cached_property
    def selection(self) -> PlainColumns:
        return PlainColumns(self.columns)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PrincipalComponents:
        columns = Columns(self.columns, self.units)
        count = len(self.columns) if self.components is None else int(self.components)
        gram = agreed_gram(agreements, rows, columns)
        if (need := max(2, count)) > gram.N:
            raise Undetermined(f"the parties have {gram.N} rows in all; this needs {need} at least.")
        check_told_apart(gram, columns, intercept=True)
        moments = Moments(gram.whole, gram.units)
        if self.standardize and not moments.varies.all():
            constant = ", ".join(map(repr, np.array(columns.names)[~moments.varies].tolist()))
            raise Undetermined(
                f"constant over the rows of all parties: {constant}. Leave it out, or do not standardize."
            )
        scale = moments.deviations if self.standardize else np.ones(len(columns.names))
        variances, vectors = _eigen(moments.S / np.outer(scale, scale))
        share = gram.N / (gram.N - 1)
        return PrincipalComponents(
            *agreements.made,
            names=self.columns,
            schema=schema_text(self.schema, self.columns),
            nobs=gram.N,
            standardize=self.standardize,
            mean=moments.mean,
            scale=scale,
            components=vectors.T[:count],
            explained_variance=np.maximum(variances[:count], 0.0) * share,
            total_variance=float(total(variances)) * share,
        )

    @property
    def parameters(self) -> int:
        return len(self.columns)

    @property
    def revealed(self) -> list[str]:
        names = ", ".join(self.columns)
        return ["the number of rows", f"values and products, pair by pair, of {names}"]

    @property
    def numbers(self) -> int:
        return numbers_of_gram(len(self.columns))

    stages = 1
    counts = 0


def _eigen(S: Array) -> tuple[Array, Array]:
    """Eigenvalues, the largest first, and vectors as columns, each with a positive entry where that is largest in size:
    in a fixed order, but of very many columns as fast as there is."""
    if len(S) <= FEW:
        return eigen(S)
    variances, vectors = np.linalg.eigh(S)
    vectors = vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(S))]
    return variances[::-1], vectors * np.where(largest < 0, -1.0, 1.0)
