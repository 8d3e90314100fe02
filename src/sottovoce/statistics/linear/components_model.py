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
from ...errors import InvalidInput, NotConverged
from ...pdmm.modular_mask import Integers
from ..agreements import Agreements
from ..analysis import Analysis
from ..new_rows import schema_text
from ..settled import voted
from ..statistic import Statistic
from .equation import Columns
from .moments import (
    AGREEMENTS,
    ANYTHING,
    VARIES,
    agreed_moments,
    counts_of_moments,
    numbers_of_moments,
)
from .principal_components import PrincipalComponents


def components_program(
    agreements: Agreements, rows: Sequence[Rows], columns: Columns, standardize: bool, count: int, schema: str
) -> PrincipalComponents:
    """From rows to components: eigenvectors of the agreed covariance, or of the correlations."""
    try:
        moments = agreed_moments(
            agreements, rows, columns, need=max(2, count), columns_are=VARIES if standardize else ANYTHING
        )
        first = moments.products[:, 0, 1:]
        S = moments.products[:, 1:, 1:] - first[:, :, None] * first[:, None, :]
        deviation = np.sqrt(np.maximum(np.diagonal(S, axis1=1, axis2=2), 0.0))
        unit = 1 / deviation if standardize else np.broadcast_to(moments.spread, deviation.shape)
        variances, vectors = np.linalg.eigh(S * unit[:, :, None] * unit[:, None, :])
        components = np.swapaxes(vectors, 1, 2)[:, ::-1][:, :count]
        pivots = _pivots(agreements, components)
    except NotConverged:
        return PrincipalComponents(*agreements.made)
    # Of equal variances every party has axes of its own, and those of others may have a 0 at the place.
    signs = np.where(components[0][np.arange(count), pivots] < 0, -1.0, 1.0)
    found = components[0] * signs[:, None]
    share = moments.N / (moments.N - 1)
    return PrincipalComponents(
        *agreements.made,
        names=columns.names,
        schema=schema,
        nobs=moments.N,
        standardize=standardize,
        mean=moments.centre + moments.spread * first[0],
        scale=moments.spread * deviation[0] if standardize else np.ones(len(columns.names)),
        components=found,
        explained_variance=np.maximum(variances[0][::-1][:count], 0.0) * share,
        total_variance=float(variances[0].sum()) * share,
    )


def _pivots(agreements: Agreements, components: Array) -> Integers:
    """By component its largest loading, in the eyes of most parties: the one that is to be positive."""
    largest = np.abs(components).argmax(axis=2)
    votes = largest[:, :, None] == np.arange(components.shape[2])
    said = voted(agreements, votes.reshape(len(votes), -1), of="votes on the signs of components")
    return np.asarray(said.reshape(votes.shape[1:]).argmax(axis=1))


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
            raise InvalidInput("columns is missing: name two or more.")
        if len(names) < 2 or len(set(names)) < len(names):
            raise InvalidInput(f"columns must be two or more different columns; got {names!r}.")
        for name in names:
            if self.schema.restricted([name])[name].type == "category":
                raise InvalidInput(f"columns has {name!r}, a category, which has no variance. Leave it out.")
        if not isinstance(self.standardize, bool):
            raise InvalidInput(f"standardize must be true or false; got {self.standardize!r}.")
        check_components(self.components, len(names))

    @cached_property
    def selection(self) -> PlainColumns:
        return PlainColumns(self.columns)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> PrincipalComponents:
        columns = Columns(self.columns, self.unit, self.mask)
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
        return [
            "the number of rows",
            f"values and squares of {names}",
            f"products about the mean of {names}, pair by pair",
        ]

    @property
    def stages(self) -> int:
        return AGREEMENTS + 1

    @property
    def numbers(self) -> int:
        k = len(self.columns)
        return numbers_of_moments(k)

    @property
    def counts(self) -> int:
        k = len(self.columns)
        return counts_of_moments(k) + k * self._count


def check_components(components: int | None, columns: int) -> None:
    """How many, or a sentence."""
    whole = isinstance(components, int | np.integer) and not isinstance(components, bool)
    if components is not None and not (whole and 1 <= components <= columns):
        raise InvalidInput(
            f"components must be an integer from 1 to the number of columns, {columns}; got {components!r}."
        )
