"""What a party leaves with its guardians in every stage, before its first value: its estate (``Node.estate``).

If it leaves for good later in that stage, one of them stands in for it (leaving.py). An estate is a function of the
party's ``(w, e)``, which whoever taps open channels and holds one party knows anyway: a guardian learns no more than
the audit of a plan counts with, where anybody may be corrupt. Nobody else is meant to have it, so it is sealed, over
open channels too, with a key of the edge for this stage and direction.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...costs.base import Array
from .frames import Escrow
from .sealing import sealed, unsealed

GUARDIANS = 2  # one may be away, or go too


def guardians(neighbours: Iterable[int]) -> list[int]:
    """The neighbours that keep a party's estate: those with the smallest indices."""
    return sorted(neighbours)[:GUARDIANS]


def seal(key: bytes, stage: int, estate: Array) -> list[Escrow]:
    """Frames for one guardian."""
    pieces = sealed(key, estate, b"sottovoce escrow")
    return [Escrow(stage, k, len(pieces), data) for k, data in enumerate(pieces)]


def unseal(key: bytes, escrow: Escrow) -> Array:
    """The numbers of one frame."""
    return unsealed(key, escrow, "an escrow")
