"""The kinds of random cases: one for each analysis."""

from __future__ import annotations

from collections.abc import Callable

from . import columns, evidence, groups, linear, mixed, models, survival
from .case import Case

KINDS: dict[str, Callable[[Case], None]] = {
    **columns.KINDS,
    **linear.KINDS,
    **models.KINDS,
    **mixed.KINDS,
    **survival.KINDS,
    **groups.KINDS,
    **evidence.KINDS,
}
