"""One random case: what is asked of the package, what the oracle has, and what differs."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce.errors import SottovoceError

MOST_WORDS = 200  # of a sentence in a line


class Case:
    """A case of a kind, made of its seed alone.

    Attributes
    ----------
    worst : float
        The largest difference that was seen, relative to the size that the comparison names.
    wrong : list of str
        What differs by more than its tolerance, and what should not have been refused, or ended in a traceback.
    refused : str or None
        The sentence of a refusal that is right.
    """

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.rng = np.random.default_rng([seed, *kind.encode()])
        self.worst = 0.0
        self.compared = 0
        self.wrong: list[str] = []
        self.refused: str | None = None

    def ask(self, question: Callable[[], Any], *, answers: bool = True, rules: Sequence[str] = ()) -> Any:
        """What the package answers, or None.

        Parameters
        ----------
        question : callable
            The call of the package, and nothing else: a warning counts as an error of it.
        answers : bool
            Whether there is an answer. Where the oracle has no finite one, the package must refuse.
        rules : sequence of str
            Expressions that sentences of documented refusals have in them.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = question()
        except SottovoceError as error:
            sentence = " ".join(str(error).split())
            if answers and not any(re.search(rule, sentence) for rule in rules):
                self.wrong.append(f"refused though there is an answer: {sentence[:MOST_WORDS]}")
            else:
                self.refused = sentence
            return None
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            self.wrong.append(f"traceback: {type(error).__name__}: {error} ({at.filename.split('/')[-1]}:{at.lineno})")
            return None
        if not answers:
            self.wrong.append("answered though there is no finite answer")
            return None
        return found

    def same(self, what: str, found: Any, expected: Any, rtol: float, size: Any = None) -> None:
        """Compare numbers. ``size``: what an error is relative to, the expected number unless told; NaN and infinite
        numbers must be where they are expected."""
        found, expected = (np.asarray(_floats(each), dtype=np.float64) for each in (found, expected))
        self.compared += 1
        if found.shape != expected.shape:
            self.wrong.append(f"{what} has the shape {found.shape}, not {expected.shape}")
            return
        sizes = np.abs(expected) if size is None else np.asarray(_floats(size), dtype=np.float64)
        finite = np.isfinite(expected)
        if not (np.isfinite(found) == finite).all() or not np.array_equal(
            found[~finite], expected[~finite], equal_nan=True
        ):
            self.wrong.append(f"{what} is {_listed(found)}, not {_listed(expected)}")
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.abs(found - expected)
            relative = np.where(apart == 0, 0.0, apart / np.broadcast_to(sizes, apart.shape))[finite]
        error = float(relative.max(initial=0.0))
        self.worst = max(self.worst, error)
        if not error <= rtol:
            self.wrong.append(f"{what} is {_listed(found)}, not {_listed(expected)}: off by {error:.2g} of its size")

    def equal(self, what: str, found: Any, expected: Any) -> None:
        """Compare what has no rounding: counts, names."""
        self.compared += 1
        one, other = (each.tolist() if isinstance(each, np.ndarray) else each for each in (found, expected))
        if one != other:
            self.wrong.append(f"{what} is {_listed(one)}, not {_listed(other)}")

    def pvalue(self, what: str, found: Any, expected: Any, statistic: Any, rtol: float) -> None:
        """A tail falls by ``exp(-z^2/2)``: an error of the statistic, relative to it, is ``z^2`` times as large in the
        tail. ``statistic``: ``z``, or the root of one that grows with its square."""
        squared = np.square(np.nan_to_num(np.asarray(_floats(statistic), np.float64), posinf=0.0, neginf=0.0))
        expected = np.asarray(expected, np.float64)
        tiny = 1e-290  # a tail next to the smallest float64 has no digits left
        self.same(what, found, expected, rtol, np.abs(expected) * (1 + squared) + tiny)


def _floats(values: Any) -> Any:
    if isinstance(values, Fraction):
        return float(values)
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values.astype(np.float64)
    if isinstance(values, list | tuple):
        return [_floats(each) for each in values]
    return np.nan if values is None else values


def _listed(values: Any) -> str:
    flat = np.ravel(np.asarray(values)).tolist()
    return "[" + ", ".join(str(each) for each in flat[:4]) + (", ..." if len(flat) > 4 else "") + "]"
