"""A range that data lie in, without saying where they end."""

from __future__ import annotations

import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from .column import WHOLE

EXACT = Context(prec=800)  # decimal digits that any float64 has at most


def rounded_out(low: float, high: float, *, whole: bool) -> tuple[float, float] | None:
    """Ends of one leading digit, of two where one would widen the range to more than four times what it is. Of whole
    numbers below ten, 0 to 10. None where an end would be too large for a range.

    Examples
    --------
    >>> rounded_out(18, 94, whole=True), rounded_out(2015, 2024, whole=True), rounded_out(0.31, 7.2, whole=False)
    ((10.0, 100.0), (2000.0, 2100.0), (0.0, 8.0))
    """
    least, most = Decimal(low), Decimal(high)
    size = max(abs(least), abs(most))
    if not size:
        return 0.0, 10.0 if whole else 1.0
    step = Decimal(10) ** size.adjusted()
    ends = _to(least, most, step)
    if ends[1] - ends[0] > 4 * (most - least) > 0:
        step /= 10
        ends = _to(least, most, step)
    if whole and step < 10:
        ends = _to(least, most, Decimal(10))
    found = float(ends[0]), float(ends[1])
    if found[0] == found[1]:  # so small that floats have too few digits to round
        return -1.0 if low < 0 else 0.0, 1.0
    largest = WHOLE if whole else sys.float_info.max
    return found if max(map(abs, found)) <= largest else None


def _to(low: Decimal, high: Decimal, step: Decimal) -> tuple[Decimal, Decimal]:
    """Outwards to multiples of ``step``, at least one apart."""
    down = (EXACT.divide(low, step)).to_integral_value(ROUND_FLOOR, EXACT)
    up = (EXACT.divide(high, step)).to_integral_value(ROUND_CEILING, EXACT)
    return EXACT.multiply(down, step), EXACT.multiply(max(up, down + 1), step)
