"""Arithmetic on the columns of a row: what stands in ``log(...)``, ``I(...)`` and their like.

An expression is a list of steps on a stack. There is no tree to recurse into, and no name but those of columns and of
the functions below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InvalidInput
from ..batch import Array

First = int | npt.NDArray[np.int64]  # the number of the first row; or of each, where some are left out
FUNCTIONS: dict[str, Callable[[Any], Any]] = {"log": np.log, "log1p": np.log1p, "exp": np.exp, "sqrt": np.sqrt}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
REASONS = {
    "log": "the logarithm of a number that is not positive",
    "log1p": "log1p of a number that is not above -1",
    "sqrt": "the root of a negative number",
    "exp": "an exponential that is too large",
    "/": "a division by zero, or a result that is too large",
    "power": "a power of zero below 0, or one that is too large",
}


class InRows(InvalidInput):
    """Some rows have a fault: ``what`` has it, ``why`` it is one, and which rows are ``bad``."""

    def __init__(self, sentence: str, what: str, why: str, bad: npt.NDArray[np.bool_]) -> None:
        super().__init__(sentence)
        self.what, self.why, self.bad = what, why, bad


@dataclass(frozen=True)
class Expression:
    """``text`` is how a formula writes it; ``steps`` compute it, each a name and what it takes."""

    text: str
    steps: tuple[tuple[str, Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(taken for kind, taken in self.steps if kind == "column"))

    def evaluate(self, values: Mapping[str, Array], first: First = 0) -> Array:
        """One number a row.

        Raises
        ------
        InvalidInput
            Where a number is not finite on the way: why, and in which rows; never the number.
        """
        stack: list[Any] = []
        with np.errstate(all="ignore"):
            for kind, taken in self.steps:
                if kind == "column":
                    stack.append(values[taken])
                    continue
                if kind == "number":
                    stack.append(np.float64(taken))
                    continue
                stack.append(_step(kind, taken, stack))
                if not (finite := np.isfinite(stack[-1])).all():
                    raise in_rows(self.text, REASONS.get(kind, "a number that is too large"), ~finite, first)
        return np.asarray(stack.pop(), dtype=np.float64)


def _step(kind: str, taken: Any, stack: list[Any]) -> Any:
    """What a step makes of the top of the stack, which it takes."""
    right = stack.pop()
    if kind == "negative":
        return np.negative(right)
    if kind == "power":
        return right**taken
    if kind in FUNCTIONS:
        return FUNCTIONS[kind](right)
    if kind == "/" and np.ndim(right) == 0 and right == 0:  # wrong without any row too
        return np.float64(np.inf)
    return OPERATIONS[kind](stack.pop(), right)


def in_rows(what: str, why: str, bad: Any, first: First) -> InvalidInput:
    """A sentence about some rows, by number: cells are a party's own, and are not quoted."""
    what = what if len(what) <= 80 else what[:80] + "..."
    if np.ndim(bad) == 0:  # numbers of the formula alone: the same at every party
        return InvalidInput(f"formula: {what} has {why}, whatever the rows are.")
    places = np.flatnonzero(bad)
    numbers = first[places[:5]] if isinstance(first, np.ndarray) else first + places[:5]
    listed = ", ".join(str(int(number)) for number in numbers) + (", ..." if len(places) > 5 else "")
    rows = f"row {listed}" if len(places) == 1 else f"{len(places)} rows: {listed}"
    return InRows(f"formula: {what} has {why} in {rows}.", what, why, bad)
