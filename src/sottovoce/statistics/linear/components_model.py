"""``type = "pca"``: principal components of tables, and the program that finds them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import PlainColumns
from ...errors import InvalidInput, Undetermined
from ...numerics.fixed_order import eigen, total
from ..agreements import Agreements
from ..analysis import Analysis
from ..new_rows import schema_text
from ..statistic import Statistic
from .equation import Columns
from .gram import agreed_gram, check_size, check_told_apart, numbers_of_gram
from .moments import Moments
from .principal_components import PrincipalComponents

FEW = 100  # columns, whose eigenvectors take less than a second in a fixed order


def components_program(
    agreements: Agreements, rows: Sequence[Rows], columns: Columns, standardize: bool, count: int, schema: str
) -> PrincipalComponents:
    """From rows to components: eigenvectors of the covariance, or of the correlations."""
    gram = agreed_gram(agreements, rows, columns)
    if (need := max(2, count)) > gram.N:
        raise Undetermined(f"the parties have {gram.N} rows in all; this needs {need} at least.")
    check_told_apart(gram, columns, intercept=True)
    moments = Moments(gram.whole, gram.units)
    if standardize and not moments.varies.all():
        constant = ", ".join(map(repr, np.array(columns.names)[~moments.varies].tolist()))
        raise Undetermined(f"constant over the rows of all parties: {constant}. Leave it out, or do not standardize.")
    scale = moments.deviations if standardize else np.ones(len(columns.names))
    variances, vectors = _eigen(moments.S / np.outer(scale, scale))
    share = gram.N / (gram.N - 1)
    return PrincipalComponents(
        *agreements.made,
        names=columns.names,
        schema=schema,
        nobs=gram.N,
        standardize=standardize,
        mean=moments.mean,
        scale=scale,
        components=vectors.T[:count],
        explained_variance=np.maximum(variances[:count], 0.0) * share,
        total_variance=float(total(variances)) * share,
    )


def _eigen(S: Array) -> tuple[Array, Array]:
    """Eigenvalues, the largest first, and vectors as columns, each with a positive entry where that is largest in size:
    in a fixed order, but of very many columns as fast as there is."""
    if len(S) <= FEW:
        return eigen(S)
    variances, vectors = np.linalg.eigh(S)
    vectors = vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(S))]
    return variances[::-1], vectors * np.where(largest < 0, -1.0, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsModel(Analysis):
    """``columns`` of the table; ``standardize``; ``components``, how many."""

    columns: tuple[str, ...] = ()  # what the rows have is what is asked for
    standardize: bool = False
    components: int | None = None

    type: ClassVar[str] = "pca"
    gives: ClassVar[builtins.type[Statistic]] = PrincipalComponents

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
        if not isinstance(self.standardize, bool):
            raise InvalidInput(f"standardize must be true or false; got {self.standardize!r}.")
        check_components(self.components, len(names))
        check_size(len(names))

    @cached_property
    def selection(self) -> PlainColumns:
        return PlainColumns(self.columns)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PrincipalComponents:
        columns = Columns(self.columns, self.units)
        text = schema_text(self.schema, self.columns)
        return components_program(agreements, rows, columns, self.standardize, self._count, text)

    @property
    def _count(self) -> int:
        return len(self.columns) if self.components is None else int(self.components)

    @property
    def parameters(self) -> int:
        return len(self.columns)

    @property
    def revealed(self) -> list[str]:
        names = ", ".join(self.columns)
        return ["the number of rows", f"values and products, pair by pair, of {names}"]

    @property
    def stages(self) -> int:
        return 1

    @property
    def numbers(self) -> int:
        return numbers_of_gram(len(self.columns))

    @property
    def counts(self) -> int:
        return 0


def check_components(components: int | None, columns: int) -> None:
    """How many, or a sentence."""
    whole = isinstance(components, int | np.integer) and not isinstance(components, bool)
    if components is not None and not (whole and 1 <= components <= columns):
        raise InvalidInput(
            f"components must be an integer from 1 to the number of columns, {columns}; got {components!r}."
        )
