"""Columns of all kinds, by group, as all parties hold them: what ``describe`` and ``table_one`` show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ..statistic import Value
from .finding import Finding, numbers


@dataclass(frozen=True, eq=False, repr=False)
class Cohort(Finding):
    """Columns by group, besides the fields of ``Statistic``.

    Attributes
    ----------
    names, types : tuple of str
        Of the columns.
    by : str or None
        The column that groups rows.
    groups : tuple of str
        Its levels; ``("all",)`` without one.
    n : ndarray of int
        Rows of each group.
    mean, sd : ndarray
        ``(names, groups)``; NaN of categories, and where a group has too few rows.
    quartiles : ndarray
        ``(names, groups, 3)``, to within ``resolution``; NaN where they were not asked for.
    resolution : ndarray
        Of the quartiles of each column.
    level_of : ndarray of int
        For each level of a category the place of its column in ``names``.
    level_names : tuple of str
        Levels of categories, one after the other.
    level_counts : ndarray of int
        ``(level_names, groups)``.
    """

    names: Value[tuple[str, ...]] = Value()
    types: Value[tuple[str, ...]] = Value()
    by: Value[str | None] = Value()
    groups: Value[tuple[str, ...]] = Value()
    n: Value[Integers] = Value()
    mean: Value[Array] = Value()
    sd: Value[Array] = Value()
    quartiles: Value[Array] = Value()
    resolution: Value[Array] = Value()
    level_of: Value[Integers] = Value()
    level_names: Value[tuple[str, ...]] = Value()
    level_counts: Value[Integers] = Value()

    @property
    def observations(self) -> int:
        """Rows of all groups."""
        return int(np.sum(self.n))

    def counts(self, name: str) -> Integers:
        """How many rows of each group have each level of a category, ``(levels, groups)``.

        Parameters
        ----------
        name : str
            Of the column.

        Returns
        -------
        ndarray of int
        """
        own = np.asarray(self.level_of, dtype=np.int64) == self._place(name)
        return np.asarray(np.asarray(self.level_counts, dtype=np.int64).reshape(-1, len(self.groups))[own])

    def levels(self, name: str) -> tuple[str, ...]:
        """Of a category.

        Parameters
        ----------
        name : str
            Of the column.

        Returns
        -------
        tuple of str
        """
        place = self._place(name)
        places = np.asarray(self.level_of, dtype=np.int64).tolist()
        return tuple(level for level, own in zip(self.level_names, places, strict=True) if own == place)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InvalidInput(f"name must be one of {', '.join(self.names)}; got {name!r}.")
        return self.names.index(name)

    def _numbers(self, name: str) -> tuple[Array, Array, Array]:
        """Mean, deviation and quartiles by group."""
        k = self._place(name)
        return numbers(self.mean)[k], numbers(self.sd)[k], numbers(self.quartiles)[k]
