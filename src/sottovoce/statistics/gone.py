"""Options that statistics had while parties held sums approximately, and why they are gone."""

from __future__ import annotations

from ..errors import InvalidInput
from ..files.toml_table import Table

EXACT = "sums are exact, and hidden behind uniform pads: there is nothing to choose. Remove it."
WHY = {
    "scale": f"is gone: {EXACT} The decimals of a column are the unit in its schema.",
    "variance": f"is gone: {EXACT}",
    "bits": f"is gone: {EXACT}",
    "mask": f"is gone: {EXACT}",
    "tol": f"is gone: {EXACT}",
    "prior": f"is gone: {EXACT}",
    "size": f"is gone: {EXACT}",
    "delta": f"is gone: {EXACT}",
    "schedule": f"is gone: {EXACT} An agreement takes two sweeps of a spanning tree.",
    "overlay": f"is gone: {EXACT} An agreement takes two sweeps of a spanning tree.",
    "max_iter": f"is gone: {EXACT} An agreement takes two sweeps of a spanning tree.",
    "max_rounds": f"is gone: {EXACT} An agreement takes two sweeps of a spanning tree.",
    "seed": "is gone: pads come from the operating system, and answers do not depend on them. Remove it.",
    "record": f"is gone: {EXACT}",
    "record_every": f"is gone: {EXACT}",
}
RENAMED = {
    "least_squares": 'is one with "linear", which fits the same equation and tests it: write type = "linear".',
}


def refuse_gone(table: Table) -> None:
    """A sentence about a key of an older file."""
    for key, why in WHY.items():
        if key in table:
            raise table.refuse(key, why)
    if (kind := str(table.values.get("type"))) in RENAMED:
        raise table.refuse("type", f"= {kind!r} {RENAMED[kind]}")


def refuse_options(options: dict[str, object]) -> None:
    """A sentence about an argument of an older program."""
    for key in options:
        if key in WHY:
            raise InvalidInput(f"{key} {WHY[key]}")
        raise InvalidInput(f"{key} is no argument here. Remove it.")
