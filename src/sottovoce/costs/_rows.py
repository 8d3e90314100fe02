"""Costs of labelled rows: nodes with different numbers of rows share one batch."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from ._arguments import as_signs
from .base import Array, Cost, nonnegative
from .quadratic import as_rows

Index = npt.NDArray[np.int64]


class LabelledRows(Cost):
    """``f(x) = sum_j loss(y_j a_j'x) + ridge ||x||^2`` over the node's rows ``a_j`` and labels ``y_j = -1, 1``.

    The rows ``y_j a_j`` of all nodes lie in one array, node after node: a batch takes what its rows take, however
    unequal the nodes are.
    """

    _fields = ("rows", "ridge", "A")
    rows: Index  # (count,), how many
    ridge: Array  # (count,)
    A: Array  # (sum of rows, d): those of node i are A[starts[i] : starts[i + 1]], each multiplied by its label

    def __init__(self, A: npt.ArrayLike, labels: npt.ArrayLike, ridge: float = 0.0) -> None:
        matrix, target = as_rows(A, labels, "A", "labels")
        signed = matrix * as_signs(target)[:, None]
        rows = np.array([len(signed)], dtype=np.int64)
        self._fill(signed.shape[1:], rows=rows, ridge=nonnegative(ridge, "ridge"), A=signed)

    @cached_property
    def starts(self) -> Index:
        """Where the rows of each node begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.rows)])

    @property
    def signature(self) -> tuple[object, ...]:
        return (type(self), self.shape)

    def take(self, nodes: npt.NDArray[np.intp] | slice) -> Self:
        order = np.arange(self.count)[nodes]
        parts = [self._rows_of(i) for i in order]
        A = parts[0] if len(parts) == 1 else np.concatenate([self.A[:0], *parts])  # one node's rows are not copied
        return self._make(self.shape, rows=self.rows[nodes], ridge=self.ridge[nodes], A=A)

    def _rows_of(self, i: int) -> Array:
        return self.A[self.starts[i] : self.starts[i + 1]]

    def value(self, x: Array) -> Array:
        values = self.ridge * np.sum(x * x, axis=-1)
        for at in np.ndindex(values.shape[:-1]):
            losses = self._loss(self._margins(x[at]))
            values[at] += np.bincount(self._owners, weights=losses, minlength=self.count)
        return np.asarray(values)

    @property
    def _owners(self) -> npt.NDArray[np.intp]:
        """The node of every row."""
        return np.repeat(np.arange(self.count), self.rows)

    def _margins(self, x: Array) -> Array:
        """``y_j a_j'x_i`` of every row, for ``x (count, dim)``."""
        return np.asarray(np.einsum("jd,jd->j", self.A, x[self._owners]))

    def _gram(self, weights: Array) -> Array:
        """``sum_j w_j a_j a_j'`` over the rows of each node, ``(count, dim, dim)``."""
        scaled = self.A * weights[:, None]
        return np.stack([scaled[s:e].T @ self.A[s:e] for s, e in pairwise(self.starts)])

    @property
    def sizes(self) -> tuple[float, float]:
        """Margins are of size 1, and slopes of the losses at most 1."""
        entries = np.abs(self.A)
        largest = float(entries.max(initial=0.0))
        filled = self.starts[:-1][self.rows > 0]  # reduceat knows no empty sums
        slopes = np.add.reduceat(entries, filled) if len(filled) else entries
        return (1 / largest if largest else 0.0), float(slopes.max(initial=0.0))

    @property
    def bounded_slopes(self) -> bool:
        return not self.ridge.all()

    @abstractmethod
    def _loss(self, margins: Array) -> Array:
        """The loss of each margin ``y_j a_j'x``."""
