"""The kinds of random cases: one for each analysis."""

from __future__ import annotations

from collections.abc import Callable

from . import columns, evidence, groups, linear, models, survival
from .case import Case

KINDS: dict[str, Callable[[Case], None]] = {
    **columns.KINDS,
    **linear.KINDS,
    **models.KINDS,
    **survival.KINDS,
    **groups.KINDS,
    **evidence.KINDS,
}
