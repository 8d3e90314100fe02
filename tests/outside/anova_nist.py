"""One-way analysis of variance as NIST certifies it: files of the Statistical Reference Datasets in a folder
(https://www.itl.nist.gov/div898/strd, public domain), and how many of the certified digits ``Study.anova`` and
``Study.linear`` have.

    PYTHONPATH=tests python tests/outside/anova_nist.py FOLDER        # a table of the files FOLDER/nist/*.dat
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from outside.nist import digits

import sottovoce as sv
from sottovoce.errors import SottovoceError

NAMES = ("SiRstv", "AtmWtAg", "SmLs01", "SmLs02", "SmLs03", "SmLs04", "SmLs05", "SmLs06")
QUANTITIES = ("between", "within", "F", "R-squared", "residual deviation")
ANALYSES = ("anova", "linear")
PARTIES = 3
VALUES = re.compile(r"^(?:Between|Within) \w+ +\d+ +(\S+) +\S+ *(\S*)$", re.MULTILINE)


@dataclass(frozen=True)
class CertifiedAnova:
    """One file: rows of a treatment and a response as they are written, and certified values as they are written."""

    name: str
    rows: list[tuple[str, str]]
    values: dict[str, str]

    def exact(self) -> dict[str, Fraction]:
        """All values by fractions; of the residual deviation the square."""
        groups: dict[str, list[Fraction]] = {}
        for group, cell in self.rows:
            groups.setdefault(group, []).append(Fraction(cell))
        n, total = len(self.rows), sum(sum(cells) for cells in groups.values())
        means = {group: sum(cells) / len(cells) for group, cells in groups.items()}
        between = sum((len(groups[group]) * (mean - total / n) ** 2 for group, mean in means.items()), Fraction(0))
        within = sum(
            (sum(x * x for x in cells) - sum(cells) * means[group] for group, cells in groups.items()), Fraction(0)
        )
        variance = within / (n - len(groups))
        F = between / (len(groups) - 1) / variance
        values = (between, within, F, between / (between + within), variance)
        return dict(zip(QUANTITIES, values, strict=True))

    def study(self) -> sv.Study:
        group, cells = zip(*self.rows, strict=True)
        y, levels = np.array(cells, dtype=float), sorted(set(group), key=int)
        tables = [{"group": group[k::PARTIES], "y": y[k::PARTIES]} for k in range(PARTIES)]
        reach = 2 * float(np.abs(y).max())
        schema = {"group": {"type": "category", "levels": levels}, "y": {"type": "number", "range": (-reach, reach)}}
        return sv.Study(sv.Network.ring(PARTIES), tables, schema=schema)

    def digits(self, analysis: str) -> dict[str, float]:
        """The number of right digits of each quantity that the result of an analysis has."""
        found = FOUND[analysis](self.study())
        return {quantity: digits(value, self.values[quantity]) for quantity, value in found.items()}


def by_anova(study: sv.Study) -> dict[str, float]:
    """What ``Anova`` has."""
    test = study.anova("y", by="group")
    values = (test.between, test.within, test.statistic, test.eta_squared, math.sqrt(test.within / test.df[1]))
    return dict(zip(QUANTITIES, values, strict=True))


def by_linear(study: sv.Study) -> dict[str, float]:
    """The same of a linear model."""
    fit = study.linear("y ~ C(group)")
    between, within = fit.anova(2)["sum_sq"]
    values = (between, within, fit.fvalue, fit.rsquared, math.sqrt(fit.scale))
    return dict(zip(QUANTITIES, map(float, values), strict=True))


FOUND: dict[str, Callable[[sv.Study], dict[str, float]]] = {"anova": by_anova, "linear": by_linear}


def read(folder: Path, name: str) -> CertifiedAnova:
    """One file of NIST: values are in the lines 41 to 47, rows from line 61 on."""
    lines = (folder / "nist" / f"{name}.dat").read_text().splitlines()
    head = "\n".join(line.strip() for line in lines[40:52])
    (between, F), (within, _) = VALUES.findall(head)
    rsquared = re.search(r"R-Squared (\S+)", head)
    deviation = re.search(r"Standard Deviation +(\S+)", head)
    assert rsquared, f"{name}: no R-squared"
    assert deviation, f"{name}: no residual deviation"
    rows = [(group, cell) for group, cell in (line.split() for line in lines[60:] if line.strip())]
    values = (between, within, F, rsquared[1], deviation[1])
    return CertifiedAnova(name, rows, dict(zip(QUANTITIES, values, strict=True)))


def table(folder: Path) -> Iterator[str]:
    """A line for each file and analysis."""
    yield f"{'set':8} {'analysis':8} " + " ".join(f"{quantity:>18}" for quantity in QUANTITIES)
    for name in NAMES:
        for analysis in ANALYSES:
            try:
                found = read(folder, name).digits(analysis)
                cells = (f"{found[quantity]:18.1f}" if quantity in found else f"{'-':>18}" for quantity in QUANTITIES)
                yield f"{name:8} {analysis:8} " + " ".join(cells)
            except SottovoceError as error:
                yield f"{name:8} {analysis:8} refused: {error}"


if __name__ == "__main__":
    for line in table(Path(sys.argv[1])):
        print(line, flush=True)
