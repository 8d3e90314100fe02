"""Everything the package raises or warns with, and the statuses with which its commands end.

SottovoceError
├── InvalidInput (ValueError)     an argument that cannot be used
│   ├── Undetermined              data of all parties that do not determine the answer
│   ├── InvalidNetwork            a graph or an edge constraint
│   ├── InvalidCost               a cost or its data
│   └── InvalidFile               a file, or data in one; names the line
├── Unsupported                   a combination for which no exact step is known
├── JournalError                  the saved state of a party cannot be read or written
├── PeerError                     another party broke the protocol
├── PolicyError                   a party's own policy refuses
├── NotConverged                  a value that is not there, because its run did not converge
└── MissingExtra (ImportError)    an optional dependency that is not installed

SottovoceWarning (UserWarning)
├── BadlyHidden                   data too large for its mask
├── NotCalibrated                 a mask that was calibrated for another run
├── NotConvergedWarning           a run that ended before it converged
├── NotGuaranteed                 the run may not converge, and why
├── PointsFailed                  points of a sweep that have an error in place of a result
└── PrecisionLost                 a mask, or a unit, costs digits that were asked for
"""

from __future__ import annotations

import numbers
from collections.abc import Collection
from enum import IntEnum
from typing import Any, Self, TypeGuard


class SottovoceError(Exception):
    """Base of every error that the package raises on purpose.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.errors import SottovoceError
    >>> try:
    ...     sv.Network.ring(2)
    ... except SottovoceError as error:
    ...     print(error)
    n must be an integer >= 3, the number of nodes; got 2.
    """


class InvalidInput(SottovoceError, ValueError):
    """An argument that cannot be used: what, which value, what to do instead.

    Raised before any work is done. It is a ``ValueError`` too, and commands end with status 2.
    """


class Undetermined(InvalidInput):
    """The rows of all parties together do not determine what was asked for: a level that nobody has, columns that hang
    on each other, no events. All parties have found so together, by exact counts or by votes, and say the same.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.errors import Undetermined
    >>> try:
    ...     sv.private_mean(sv.Network.ring(3), [[], [], []])
    ... except Undetermined as error:
    ...     print(error)
    no party has any rows.
    """


class InvalidNetwork(InvalidInput):
    """A graph or an edge constraint that cannot carry the iteration.

    Raised by the constructors of ``Network``: loops, repeated edges, nodes that cannot be reached, blocks that do not
    fit, and random graphs that are not connected in a hundred draws.
    """


class InvalidCost(InvalidInput):
    """A cost, or data for a cost, that cannot be used.

    Raised where a cost is made: shapes that do not fit, numbers that are not finite, a form that is not convex.
    """


class InvalidFile(InvalidInput):
    """A file with a mistake in it: a problem, plan or node file, or the data that it names.

    Raised as it is read. It says the file, the key and the line, and quotes no cell of a party's data.
    """


class Unsupported(SottovoceError):
    """A combination for which there is no exact way; never approximated in silence.

    Raised for sums of costs without an exact step, for audits and moments that have no formula, and for standard errors
    of a biased estimate.
    """


class JournalError(SottovoceError):
    """The saved state of a party cannot be read or written.

    Raised by a party of a network: a journal that is damaged, that another process uses, or that belongs to other data
    or another run; a full disk.
    """


class PeerError(SottovoceError):
    """Another party broke the protocol: what it did. Nothing here is wrong.

    Raised by a party of a network. A frame or a hello that is refused ends the connection, which is dialled again; what
    cannot be mended ends the run.
    """


class PolicyError(SottovoceError):
    """A party's own policy does not let it take part: which rule, the limit, what to do.

    Raised before anything is sent, of a party of a network and of ``Study``: a rule of ``sv.Policy`` that is broken, a
    ledger that refuses, or one that is damaged. Commands end with status 3.
    """


class NotConverged(SottovoceError):
    """A value is asked for that was not computed, because a run between machines ended without an answer.

    Raised where a value of a statistic is asked for, as a party read it from its result file, not by the run: its
    ``status`` says how it ended.
    """


class MissingExtra(SottovoceError, ImportError):
    """An optional dependency is not installed; says how to install it.

    Raised where it is first needed. It is an ``ImportError`` too.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}. Install it with: pip install 'sottovoce[{extra}]'")
        self._needed = what, package, extra

    def __reduce__(self) -> tuple[Any, ...]:  # it comes from other processes
        return type(self), self._needed


class SottovoceWarning(UserWarning):
    """Base of every warning that the package gives.

    Examples
    --------
    To make all of them errors:

    >>> import warnings
    >>> from sottovoce.errors import SottovoceWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SottovoceWarning)
    """


class BadlyHidden(SottovoceWarning):
    """The data are too large for their mask to hide them well.

    Given by runs and statistics: raise the variance, or bring the data to size 1 by ``scale``.
    """


class NotCalibrated(SottovoceWarning):
    """The mask was calibrated for another run, and its guarantee does not hold for this one.

    Given where a ``CalibratedMask`` meets another network, schedule, ``theta`` or ``c``: calibrate again.
    """


class NotConvergedWarning(SottovoceWarning):
    """A run ended before it converged: what was reached, and what to do.

    Given by ``solve`` where it ends as ``MAX_ITER`` or ``DIVERGED``; not where ``tol=0`` asks for iterations alone.
    """


class NotGuaranteed(SottovoceWarning):
    """Convergence is not guaranteed for these settings, and why.

    Given for ``theta = 1`` where a cost is not strongly convex and differentiable: take a smaller one.
    """


class PointsFailed(SottovoceWarning):
    """Points of a sweep raised, or killed their process: how many, and what the first one said.

    Given by ``sweep``, whose table has them with their errors; ``retry_failed=True`` plays them again.
    """


class PrecisionLost(SottovoceWarning):
    """Rounding at the size of the mask exceeds the asked tolerance, or numbers are no multiples of their unit.

    Given before a run: lower the variance, or raise ``tol``; or give a smaller unit.
    """


class ExitStatus(IntEnum):
    """How a command ends. Commands that judge something end with 1 where the verdict is no.

    The page on deploying, its systemd unit and ``sottovoce node --help`` say the same, which a test holds.

    Attributes
    ----------
    meaning : str
        Of a party, for its operator.
    again : bool
        Whether the same command may go on from there by itself: a service starts it again.

    Examples
    --------
    >>> from sottovoce.errors import ExitStatus
    >>> ExitStatus(3).meaning, ExitStatus(3).again
    ("the party's own policy refuses", False)
    """

    meaning: str
    again: bool

    def __new__(cls, number: int, meaning: str, again: bool) -> Self:
        status = int.__new__(cls, number)
        status._value_, status.meaning, status.again = number, meaning, again
        return status

    DONE = 0, "done", False
    UNFINISHED = 1, "stopped before the end; the same command goes on from there", True
    TO_MEND = 2, "something to mend first, here or at another party; one line on stderr says what", False
    REFUSED = 3, "the party's own policy refuses", False
    INTERRUPTED = 130, "interrupted by Ctrl-C; the same command goes on from there", True


def is_number(value: Any) -> TypeGuard[float]:
    """Any real number, Python's or NumPy's, but not True and False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and "bool" not in type(value).__name__


def is_word(value: Any, known: Collection[str]) -> bool:
    """One of some words. Arrays, which compare entry by entry, are none."""
    return isinstance(value, str) and value in known
