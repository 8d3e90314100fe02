"""Exact sums: integers of all parties added in a ring under uniform pads (docs/explanation/exact-sums.md).

A statistic is made of sums over rows. Each party turns its rows into integers (``units``), adds them up without
rounding (``integer_sums``), covers the sums with pads that its neighbours take off again (``ring``), and the covered
words are added up a tree and told down (``party``). Everybody then holds one total, to the bit.
"""

from .integer_sums import IntegerSums, ProductSums, Whole, join_squares, square_parts
from .party import Party
from .play import Traffic, summed
from .ring import Ring
from .units import GRID, Beyond, NeededUnits, common_unit, needed_unit, on_grid, whole

__all__ = [
    "GRID",
    "Beyond",
    "IntegerSums",
    "NeededUnits",
    "Party",
    "ProductSums",
    "Ring",
    "Traffic",
    "Whole",
    "common_unit",
    "join_squares",
    "needed_unit",
    "on_grid",
    "square_parts",
    "summed",
    "whole",
]
