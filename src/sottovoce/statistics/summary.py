"""A fitted model as a text for people, like that of statsmodels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..pdmm.result import Status

if TYPE_CHECKING:
    from .fit import Fit

GAP = "   "  # between the columns of facts, and two of them between those of the table
SMALLEST = 1e-4  # of a p-value that is written out


def summary(fit: Fit) -> str:
    """Title, facts in two columns, a line per term, notes."""
    if fit.status is not Status.CONVERGED:
        return f"{fit.title}: {fit.status.value}, no estimates to report."
    table = _table(fit)
    facts = _in_two_columns([(f"{name}:", value) for name, value in fit._head()], len(table[0]))
    width = max(len(line) for line in [*table, *facts, fit.title])
    double, single = "=" * width, "-" * width
    lines = [fit.title.center(width).rstrip(), double, *facts, double, table[0], single, *table[1:], double]
    return "\n".join([*lines, *fit._notes()])


def _table(fit: Fit) -> list[str]:
    """The header, and a line per term; every column is as wide as its widest cell."""
    letter = "z" if math.isinf(fit._df) else "t"
    low, high = fit.conf_int().T
    columns = {
        "coef": [f"{value:.6g}" for value in fit.params],
        "std err": [f"{value:.4g}" for value in fit.bse],
        letter: [f"{value:.3f}" if abs(value) < 1e5 else f"{value:.4g}" for value in fit.zvalues],
        f"P>|{letter}|": [_p_value(value) for value in fit.pvalues],
        "[0.025": [f"{value:.5g}" for value in low],
        "0.975]": [f"{value:.5g}" for value in high],
    }
    if fit.ratio is not None:
        columns[fit.ratio] = [f"{value:.5g}" for value in fit.ratios()[:, 0]]
    widths = {name: max(8, *map(len, [name, *cells])) for name, cells in columns.items()}
    first = max(map(len, fit.terms), default=0)
    head = " " * first + "".join(f"  {name:>{widths[name]}}" for name in columns)
    lines = [head]
    for term, *cells in zip(fit.terms, *columns.values(), strict=True):
        lines.append(f"{term:{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, widths.values(), strict=True)))
    return lines


def _p_value(p: float) -> str:
    return f"<{SMALLEST:.4f}" if p < SMALLEST else f"{p:.4f}"


def _in_two_columns(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Names to the left and values to the right of each; the first half stands at the left."""
    middle = (len(facts) + 1) // 2
    left, right = facts[:middle], facts[middle:]
    need = max((len(name) + 1 + len(value) for name, value in facts), default=0)
    sides = [max(need, (width - len(GAP)) // 2)]
    sides.append(max(need, width - len(GAP) - sides[0]))
    written = [
        [f"{name}{value:>{side - len(name)}}" for name, value in half]
        for half, side in zip((left, right), sides, strict=True)
    ]
    return [f"{one}{GAP}{other}".rstrip() for one, other in zip_longest(*written, fillvalue="")]
