"""An analysis of tables as the parties agree on it: public, the same everywhere, and checked when it is made.

The statistics of ``at_one_party.Spec`` share one form. Every analysis beside them is a class of its own: it says what
it takes of a row, what it will show, and runs its program from the rows of the local parties to the answer that they
hold.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..costs.base import Array
from ..data.rows import Rows
from ..data.schema import Schema
from ..data.selection import Selection
from ..data.sizes import sizes
from ..errors import Undetermined
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import Integers, ModularMask
from .agreements import DEFAULT_MASK, Agreements
from .statistic import Statistic, plain


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(ABC):
    """What is computed of tables under a schema. A subclass adds its options as fields: strings, numbers, booleans, and
    tuples of them, whose names are the keys of ``[statistic]`` in files; ``__post_init__`` checks them, with sentences
    that begin with the name of the field.
    """

    schema: Schema

    type: ClassVar[str]  # as files and policies call it
    gives: ClassVar[builtins.type[Statistic]]  # the class of its answers
    counts_only: ClassVar[bool] = False  # whether all that it shows are integers, under modular pads

    @property
    @abstractmethod
    def selection(self) -> Selection:
        """What is taken of a row."""

    @abstractmethod
    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Statistic:
        """The part of the local parties, from their rows to the answer; ``gives(*agreements.made)`` where an agreement
        does not converge."""

    @property
    @abstractmethod
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""

    @property
    @abstractmethod
    def stages(self) -> int:
        """How many agreements it takes, at most."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many real numbers of a party hide behind Gaussian pads, over all agreements, at most."""

    @property
    @abstractmethod
    def counts(self) -> int:
        """How many integers of a party hide behind modular pads, over all agreements, at most."""

    @property
    def squares(self) -> bool:
        """Whether squares and products travel."""
        return not self.counts_only

    @property
    def parameters(self) -> int:
        """How many numbers are estimated: a policy may ask for so many rows of each."""
        return 1

    def check(self, rows: Rows, parties: int) -> None:  # noqa: B027  most have nothing to refuse
        """Refuse rows of one party that no answer can be made of, whatever the others have, before anything is sent: by
        column, never by content."""

    def cells(self, rows: Rows) -> Integers:
        """The counts of one party's rows that the analysis would show summed up over parties: a policy may ask for so
        many in each that is not empty. None, unless it counts rows by something."""
        return np.empty(0, np.int64)

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the rows."""
        return self.selection.columns

    @cached_property
    def scale(self) -> tuple[float, ...]:
        """Public numbers that bring the columns of the rows to size 1, as far as ranges tell; else 1."""
        known = sizes(self.selection, self.schema)
        return tuple(known.get(name, 1.0) for name in self.columns)

    @cached_property
    def units(self) -> tuple[Fraction | None, ...]:
        """Public units of the columns of the rows, as far as the schema tells; else None."""
        of = getattr(self.selection, "units", None)
        return (None,) * len(self.columns) if of is None else of(self.schema)

    @property
    def unit(self) -> Array:
        """The scale as an array."""
        return np.array(self.scale)

    @property
    def mask(self) -> GaussianMask:
        """For real numbers."""
        return DEFAULT_MASK

    @property
    def counting(self) -> ModularMask:
        """For counts."""
        return ModularMask()

    def spread(self, prior: float) -> float:
        """The variance of a real number that travels, if a value in units of ``scale`` has the variance ``prior``: that
        of values, of their squares and products, and of those in units of standard deviations, whichever is most."""
        return max(prior, 2 * prior**2, 2.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON and TOML, in the keys of ``[statistic]``; options that were left out stay away."""
        own = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "schema")
        return {"type": self.type} | {key: plain(value) for key, value in own if value is not None}


class CountsAnalysis(Analysis):
    """An analysis that follows from one agreement on counts: its ``cells``."""

    counts_only: ClassVar[bool] = True

    @property
    def stages(self) -> int:
        return 1

    @property
    def numbers(self) -> int:
        return 0


def check_rows(counts: Integers | int) -> None:
    """Of all parties: an answer needs some."""
    if not np.any(counts):
        raise Undetermined("no party has any rows.")
