"""An analysis of tables as the parties agree on it: public, the same everywhere, and checked when it is made."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..data.rows import Rows
from ..data.schema import Schema
from ..data.selection import Selection
from ..errors import PeerError, Undetermined
from ..numerics.exact_algebra import is_semidefinite
from ..pdmm.modular_mask import Integers
from ..sums import Whole
from .agreements import Agreements
from .statistic import Statistic, plain


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(ABC):
    """What is computed of tables under a schema: what it takes of a row, what it will show, and its program.

    A subclass adds its options as fields: strings, numbers, booleans, and tuples of them, whose names are the keys of
    ``[statistic]`` in files; ``__post_init__`` checks them, with sentences that begin with the name of the field.
    """

    schema: Schema

    type: ClassVar[str]  # as files and policies call it
    gives: ClassVar[builtins.type[Statistic]]  # the class of its answers
    counts_only: ClassVar[bool] = False  # whether all that it shows are counts
    has_tests: ClassVar[bool] = True  # whether its answer may need SciPy, for p-values or quantiles

    @property
    @abstractmethod
    def selection(self) -> Selection:
        """What is taken of a row."""

    @abstractmethod
    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> Statistic:
        """The part of the local parties, from their rows to the answer."""

    @property
    @abstractmethod
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""

    @property
    def stages(self) -> int:
        """How many agreements it takes, at most."""
        return 1

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many integers of 256 bits a party adds, over all agreements, at most."""

    @property
    def counts(self) -> int:
        """How many integers of 64 bits a party adds, over all agreements, at most."""
        return 0

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
    def takes_fewer_digits(self) -> bool:
        """Whether its sums may be told to a hundredth of a standard error: see ``fewer_digits``."""
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the rows."""
        return self.selection.columns

    @cached_property
    def units(self) -> tuple[Fraction | None, ...]:
        """Public units of the columns of the rows, as far as the schema tells; else None."""
        return self.selection.units(self.schema)

    @property
    def ends(self) -> list[tuple[float, float]]:
        """Between which the columns of the rows lie, as far as the schema tells."""
        return [(measure.low, measure.high) for measure in self.selection.measures(self.schema)]

    def to_dict(self) -> dict[str, Any]:
        """For JSON and TOML, in the keys of ``[statistic]``; options that were left out stay away."""
        own = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "schema")
        return {"type": self.type} | {key: plain(value) for key, value in own if value is not None}


class CountsAnalysis(Analysis):
    """An analysis that follows from one agreement on counts: its ``cells``."""

    counts_only: ClassVar[bool] = True

    @property
    @abstractmethod
    def counts(self) -> int:
        """How many cells there are."""

    @property
    def numbers(self) -> int:
        return 0


def check_rows(counts: Integers | int) -> None:
    """Of all parties: an answer needs some."""
    if not np.any(counts):
        raise Undetermined("no party has any rows.")


def check_squares(gram: Whole) -> None:
    """Refuse sums of products of columns, of all parties, that no rows have."""
    if not is_semidefinite(gram):
        raise PeerError("sums of squares of all parties are impossible: a party has not kept to the protocol.")


class Asking(ABC):
    """Something that can be asked for an analysis."""

    @abstractmethod
    def _ask(self, analysis: type[Analysis], **options: Any) -> Any:
        """The answer of all parties to ``analysis(schema=..., **options)``."""
