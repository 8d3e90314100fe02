"""Options that statistics had while parties held sums approximately, and why they are gone."""

from __future__ import annotations

from ..errors import InvalidInput
from ..files.toml_table import Table

EXACT = "sums are exact, and hidden behind uniform pads: there is nothing to choose. Remove it."
SWEEPS = "An agreement takes two sweeps of a spanning tree."
WHY = {
    "scale": f"is gone: {EXACT} The decimals of a column are the unit in its schema.",
    **dict.fromkeys(("variance", "bits", "mask", "tol", "prior", "size", "delta"), f"is gone: {EXACT}"),
    **dict.fromkeys(("schedule", "overlay", "max_iter", "max_rounds"), f"is gone: {EXACT} {SWEEPS}"),
    "seed": "is gone: pads come from the operating system, and answers do not depend on them. Remove it.",
    **dict.fromkeys(("record", "record_every"), f"is gone: {EXACT}"),
}


def refuse_gone(table: Table) -> None:
    """A sentence about a key of an older file."""
    for key, why in WHY.items():
        if key in table:
            raise table.refuse(key, why)
    if table.values.get("type") == "least_squares":
        why = 'is one with "linear", which fits the same equation and tests it: write type = "linear".'
        raise table.refuse("type", f"= 'least_squares' {why}")


def refuse_options(options: dict[str, object]) -> None:
    """A sentence about an argument of an older program."""
    for key in options:
        raise InvalidInput(f"{key} {WHY.get(key, 'is no argument here. Remove it.')}")
