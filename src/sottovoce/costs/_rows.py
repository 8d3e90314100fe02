"""Costs of labelled rows: nodes with different numbers of rows share one batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from ._arguments import as_signs
from .base import Array, Cost, nonnegative
from .quadratic import as_rows


class LabelledRows(Cost):
    """``f(x) = sum_j loss(y_j a_j'x) + ridge ||x||^2`` over the node's rows ``a_j`` and labels ``y_j = -1, 1``.

    The rows are stored as ``y_j a_j``, padded with zeros up to the longest node of the batch. ``rows`` says
    how many there are: the padding is never read by a step, so it cannot change its bits.
    """

    _fields = ("A", "rows", "ridge")
    A: Array  # (count, max rows, d), each row multiplied by its label
    rows: npt.NDArray[np.int64]  # (count,)
    ridge: Array  # (count,)

    def __init__(self, A: npt.ArrayLike, labels: npt.ArrayLike, ridge: float = 0.0) -> None:
        matrix, target = as_rows(A, labels, "A", "labels")
        signed = matrix * as_signs(target)[:, None]
        rows = np.array([len(signed)], dtype=np.int64)
        self._fill(signed.shape[1:], A=signed[None], rows=rows, ridge=nonnegative(ridge, "ridge"))

    @property
    def signature(self) -> tuple[object, ...]:
        return (type(self), self.shape)

    @classmethod
    def join(cls, costs: Sequence[Self]) -> Self:
        longest = max(f.A.shape[1] for f in costs)
        padded = [np.pad(f.A, ((0, 0), (0, longest - f.A.shape[1]), (0, 0))) for f in costs]
        rest = {name: np.concatenate([getattr(f, name) for f in costs]) for name in ("rows", "ridge")}
        return cls._make(costs[0].shape, A=np.concatenate(padded), **rest)

    def take(self, nodes: npt.NDArray[np.intp] | slice) -> Self:
        rows = self.rows[nodes]
        longest = int(rows.max(initial=0))
        return self._make(self.shape, A=self.A[nodes, :longest], rows=rows, ridge=self.ridge[nodes])

    def value(self, x: Array) -> Array:
        margins = np.einsum("kjd,...kd->...kj", self.A, x)
        present = np.arange(self.A.shape[1]) < self.rows[:, None]
        losses = np.where(present, self._loss(margins), 0.0)
        return np.asarray(losses.sum(axis=-1) + self.ridge * np.sum(x * x, axis=-1))

    @property
    def sizes(self) -> tuple[float, float]:
        """Margins are of size 1, and slopes of the losses at most 1."""
        largest = float(np.abs(self.A).max(initial=0.0))
        return (1 / largest if largest else 0.0), float(np.abs(self.A).sum(axis=1).max(initial=0.0))

    @abstractmethod
    def _loss(self, margins: Array) -> Array:
        """The loss of each margin ``y_j a_j'x``."""
