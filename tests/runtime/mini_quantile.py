"""The quantile of docs/reference/protocol.md, from its words and table alone, number by number: for ``mini_party``."""

from __future__ import annotations

import math
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
ROW = re.compile(r"^\| \d \| ((?:[0-9.e-]+ \| ){5}[0-9.e-]+) \|$", re.MULTILINE)
TABLE = [[float(entry) for entry in row.split(" | ")] for row in ROW.findall(PAGE.read_text())]
MIDDLE, MIDDLE_BELOW, NEAR, NEAR_BELOW, FAR, FAR_BELOW = zip(*TABLE, strict=True)
SERIES = [1 / odd for odd in range(1, 24, 2)]


def polynomial(coefficients: tuple[float, ...] | list[float], t: float) -> float:
    found = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        found = found * t
        found = found + coefficient
    return found


def log(tail: float) -> float:
    m, k = math.frexp(tail)
    if m < 0.7071067811865476:
        m, k = 2 * m, k - 1
    s = (m - 1) / (m + 1)
    return k * 0.6931471805599453 + 2 * s * polynomial(SERIES, s * s)


def quantile(tail: float) -> float:
    q = tail - 0.5
    if q >= -0.425:
        t = 0.180625 - q * q
        return q * (polynomial(MIDDLE, t) / polynomial(MIDDLE_BELOW, t))
    r = math.sqrt(-log(tail))
    if r <= 5:
        return -(polynomial(NEAR, r - 1.6) / polynomial(NEAR_BELOW, r - 1.6))
    return -(polynomial(FAR, r - 5) / polynomial(FAR_BELOW, r - 5))
