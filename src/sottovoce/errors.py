"""Everything the package raises or warns with.

SottovoceError
├── InvalidInput (ValueError)     an argument that cannot be used
│   ├── InvalidNetwork            a graph or an edge constraint
│   ├── InvalidCost               a cost or its data
│   └── InvalidFile               a problem file; names the key and the line
├── Unsupported                   a combination for which no exact step is known
├── JournalError                  the saved state of a party cannot be read or written
├── PeerError                     another party broke the protocol
├── NotConverged                  a value that is not there, because its run did not converge
└── MissingExtra (ImportError)    an optional dependency that is not installed

SottovoceWarning (UserWarning)
├── BadlyHidden                   data too large for its mask
├── NotCalibrated                 a mask that was calibrated for another run
├── NotGuaranteed                 the run may not converge, and why
└── PrecisionLost                 the mask costs more digits than ``tol`` leaves
"""

from __future__ import annotations

import numbers
from typing import Any, TypeGuard


class SottovoceError(Exception):
    """Base of every error that the package raises on purpose."""


class InvalidInput(SottovoceError, ValueError):
    """An argument that cannot be used: what, which value, what to do instead."""


class InvalidNetwork(InvalidInput):
    """A graph or an edge constraint that cannot carry the iteration."""


class InvalidCost(InvalidInput):
    """A cost, or data for a cost, that cannot be used."""


class InvalidFile(InvalidInput):
    """A problem file with a mistake in it."""


class Unsupported(SottovoceError):
    """A combination for which no exact step is known; never approximated in silence."""


class JournalError(SottovoceError):
    """The saved state of a party cannot be read or written."""


class PeerError(SottovoceError):
    """Another party broke the protocol: what it did. Nothing here is wrong."""


class NotConverged(SottovoceError):
    """A value is asked for that was not computed, because a run did not converge."""


class MissingExtra(SottovoceError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}. Install it with: pip install 'sottovoce[{extra}]'")


class SottovoceWarning(UserWarning):
    """Base of every warning that the package gives."""


class BadlyHidden(SottovoceWarning):
    """The data are too large for their mask to hide them well."""


class NotCalibrated(SottovoceWarning):
    """The mask was calibrated for another run, and its guarantee does not hold for this one."""


class NotGuaranteed(SottovoceWarning):
    """Convergence is not guaranteed for these settings."""


class PrecisionLost(SottovoceWarning):
    """Rounding at the size of the mask exceeds the asked tolerance."""


def is_number(value: Any) -> TypeGuard[float]:
    """Any real number, Python's or NumPy's, but not True and False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and "bool" not in type(value).__name__
