"""The cells of one column, from an Arrow array of any type: whole arrays at a time, as numbers with their faults.

No cell is in any exception: those of Arrow quote what could not be read, so that they end where they are caught.
"""

from .numbers import in_units
from .read import cells_of
from .texts import Faults

__all__ = ["Faults", "cells_of", "in_units"]
