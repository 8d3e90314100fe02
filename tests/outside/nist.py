"""Linear regression as NIST certifies it: data of the Statistical Reference Datasets (StRD), values that NIST computed
with 500 digits and certified to 15, and how many of these digits ``Study.linear`` has.

    python tests/outside/nist.py [FOLDER]        # a table; Filip is read from FOLDER/nist

Source of data and values: National Institute of Standards and Technology, Statistical Reference Datasets,
https://www.itl.nist.gov/div898/strd (public domain): Norris, Pontius, NoInt1, NoInt2, Longley (Longley 1967; its data
are those of statsmodels), Wampler1 to Wampler5 (Wampler 1970), and Filip, whose data are read from a folder. Nothing
here is believed: ``test_nist.py`` solves the normal equations of each set in fractions, and compares.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.errors import SottovoceError

QUANTITIES = ("coefficients", "standard errors", "residual deviation", "R-squared")
MOST_DIGITS = 15.0  # as many as are certified
PARTIES = 3

NORRIS = """
0.1 0.2, 338.8 337.4, 118.1 118.2, 888.0 884.6, 9.2 10.1, 228.1 226.5, 668.5 666.3, 998.5 996.3, 449.1 448.6, 778.9
777.0, 559.2 558.2, 0.3 0.4, 0.1 0.6, 778.1 775.5, 668.8 666.9, 339.3 338.0, 448.9 447.5, 10.8 11.6, 557.7 556.0,
228.3 228.1, 998.0 995.8, 888.8 887.6, 119.6 120.2, 0.3 0.3, 0.6 0.3, 557.6 556.8, 339.3 339.1, 888.0 887.2, 998.5
999.0, 778.9 779.0, 10.2 11.1, 117.6 118.3, 228.9 229.2, 668.4 669.1, 449.2 448.9, 0.2 0.5
"""
PONTIUS = """
.11019 .21956 .32949 .43899 .54803 .65694 .76562 .87487 .98292 1.09146 1.20001 1.30822 1.41599 1.52399 1.63194 1.73947
1.84646 1.95392 2.06128 2.16844 .11052 .22018 .32939 .43886 .54798 .65739 .76596 .87474 .98300 1.09150 1.20004 1.30818
1.41613 1.52408 1.63159 1.73965 1.84696 1.95445 2.06177 2.16829
"""
# What Wampler3 adds to Wampler1; Wampler4 adds 100 times as much, Wampler5 10,000 times.
HALF = (759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048)
RIPPLE = (*HALF, 2048, *reversed(HALF))


@dataclass(frozen=True)
class Certified:
    """One set: ``rows`` of a response and its predictors as decimals, the design as powers of them, and what NIST
    certifies; ``values`` has a coefficient and its error in each pair."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    values: tuple[tuple[str, str], ...]
    deviation: str
    rsquared: str
    degree: int = 1
    intercept: bool = True

    @property
    def predictors(self) -> list[str]:
        width = len(self.rows[0]) - 1
        return ["x"] if width == 1 else [f"x{j}" for j in range(1, width + 1)]

    @property
    def formula(self) -> str:
        powers = [f"I(x^{k})" for k in range(2, self.degree + 1)]
        return "y ~ " + " + ".join([*([] if self.intercept else ["0"]), *self.predictors, *powers])

    @property
    def perfect(self) -> bool:
        """Whether NIST certifies that nothing is left over."""
        return Fraction(self.deviation) == 0

    @cached_property
    def design(self) -> list[list[Fraction]]:
        given = [[Fraction(cell) for cell in row[1:]] for row in self.rows]
        powers = [[x**k for x in row for k in range(1, self.degree + 1)] for row in given]
        return [[Fraction(1), *row] if self.intercept else row for row in powers]

    @cached_property
    def response(self) -> list[Fraction]:
        return [Fraction(row[0]) for row in self.rows]

    def exact(self) -> tuple[list[Fraction], list[Fraction], Fraction, Fraction]:
        """Coefficients, the squares of their errors, the residual variance and R-squared, by fractions."""
        X, y = self.design, self.response
        columns = list(zip(*X, strict=True))
        gram = [[_dot(one, other) for other in columns] for one in columns]
        units = [[Fraction(i == j) for i in range(len(gram))] for j in range(len(gram))]
        b, *inverse = _solved(gram, [[_dot(column, y) for column in columns], *units])
        ssr = sum(((v - _dot(row, b)) ** 2 for row, v in zip(X, y, strict=True)), Fraction(0))
        middle = sum(y) / len(y) if self.intercept else Fraction(0)
        variance = ssr / (len(y) - len(b))
        squares = [variance * inverse[j][j] for j in range(len(b))]
        return b, squares, variance, 1 - ssr / sum(((v - middle) ** 2 for v in y), Fraction(0))

    def study(self, parties: int = PARTIES) -> sv.Study:
        """The rows in turns at some parties, and at their schema the range of each column."""
        cells = np.array(self.rows, dtype=float)
        names = ["y", *self.predictors]
        tables = [dict(zip(names, cells[k::parties].T, strict=True)) for k in range(parties)]
        reach = {name: float(2 * max(1.0, np.abs(column).max())) for name, column in zip(names, cells.T, strict=True)}
        schema = {name: {"type": "number", "range": (-r, r)} for name, r in reach.items()}
        return sv.Study(sv.Network.ring(parties), tables, schema=schema)

    def digits(self, fit: sv.LinearFit) -> dict[str, float]:
        """The least number of right digits of each quantity."""
        found = {
            "coefficients": (fit.params, [pair[0] for pair in self.values]),
            "standard errors": (fit.bse, [pair[1] for pair in self.values]),
            "residual deviation": ([math.sqrt(fit.scale)], [self.deviation]),
            "R-squared": ([fit.rsquared], [self.rsquared]),
        }
        return {
            quantity: min(digits(value, text) for value, text in zip(values, texts, strict=True))
            for quantity, (values, texts) in found.items()
        }


def digits(value: float, certified: str) -> float:
    """The log relative error: how many digits of ``value`` are right, up to 15; where 0 is certified, all or none."""
    right = Fraction(certified)
    if not math.isfinite(value):
        return 0.0
    error = abs(Fraction(float(value)) - right)
    if right == 0 or error == 0:
        return MOST_DIGITS if error == 0 else 0.0
    return min(MOST_DIGITS, max(0.0, -math.log10(error / abs(right))))


def rounded(value: Fraction, root: bool = False) -> Decimal:
    """``value``, or its root, with as many significant digits as NIST certifies."""
    with localcontext() as context:
        context.prec = 60
        number = Decimal(value.numerator) / Decimal(value.denominator)
        number = number.sqrt() if root else number
        context.prec = int(MOST_DIGITS)
        return +number


def _dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def _solved(matrix: list[list[Fraction]], sides: list[list[Fraction]]) -> list[list[Fraction]]:
    """The solutions for all right-hand sides, by elimination (Gauss and Jordan)."""
    rows = [[*row, *(side[i] for side in sides)] for i, row in enumerate(matrix)]
    for j in range(len(rows)):
        pivot = next(i for i in range(j, len(rows)) if rows[i][j] != 0)
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [entry / rows[j][j] for entry in rows[j]]
        for i in range(len(rows)):
            if i != j and rows[i][j] != 0:
                rows[i] = [a - rows[i][j] * b for a, b in zip(rows[i], rows[j], strict=True)]
    return [[row[len(rows) + k] for row in rows] for k in range(len(sides))]


def _wampler(times: int) -> tuple[tuple[str, ...], ...]:
    return tuple((str(sum(x**k for k in range(6)) + times * RIPPLE[x]), str(x)) for x in range(21))


def _longley() -> tuple[tuple[str, ...], ...]:
    from statsmodels.datasets import longley

    data = longley.load_pandas().data[["TOTEMP", "GNPDEFL", "GNP", "UNEMP", "ARMED", "POP", "YEAR"]]
    return tuple(tuple(repr(float(cell)) for cell in row) for row in data.to_numpy())


def _ones(deviation: str, rsquared: str, errors: str, times: int) -> Certified:
    name = {1: "Wampler3", 100: "Wampler4", 10_000: "Wampler5"}[times]
    return Certified(
        name, _wampler(times), tuple(("1", error) for error in errors.split()), deviation, rsquared, degree=5
    )


def sets() -> list[Certified]:
    """All sets whose data are here."""
    tenths = tuple((str(Decimal(1).scaleb(-k)), "0") for k in range(6))
    second = tuple((str(Decimal(sum(x**k * 10 ** (5 - k) for k in range(6))).scaleb(-5)), str(x)) for x in range(21))
    return [
        Certified(
            "Norris",
            tuple(tuple(pair.split()) for pair in NORRIS.replace("\n", " ").split(",")),
            (("-0.262323073774029", "0.232818234301152"), ("1.00211681802045", "0.429796848199937E-03")),
            "0.884796396144373",
            "0.999993745883712",
        ),
        Certified(
            "Pontius",
            tuple((y, str(150_000 * (1 + k % 20))) for k, y in enumerate(PONTIUS.split())),
            (
                ("0.673565789473684E-03", "0.107938612033077E-03"),
                ("0.732059160401003E-06", "0.157817399981659E-09"),
                ("-0.316081871345029E-14", "0.486652849992036E-16"),
            ),
            "0.205177424076185E-03",
            "0.999999900178537",
            degree=2,
        ),
        Certified(
            "NoInt1",
            tuple((str(y), str(y - 70)) for y in range(130, 141)),
            (("2.07438016528926", "0.165289256198347E-01"),),
            "3.56753034006338",
            "0.999365492298663",
            intercept=False,
        ),
        Certified(
            "NoInt2",
            (("3", "4"), ("4", "5"), ("4", "6")),
            (("0.727272727272727", "0.420827318078432E-01"),),
            "0.369274472937998",
            "0.993348115299335",
            intercept=False,
        ),
        Certified(
            "Longley",
            _longley(),
            (
                ("-3482258.63459582", "890420.383607373"),
                ("15.0618722713733", "84.9149257747669"),
                ("-0.358191792925910E-01", "0.334910077722432E-01"),
                ("-2.02022980381683", "0.488399681651699"),
                ("-1.03322686717359", "0.214274163161675"),
                ("-0.511041056535807E-01", "0.226073200069370"),
                ("1829.15146461355", "455.478499142212"),
            ),
            "304.854073561965",
            "0.995479004577296",
        ),
        Certified("Wampler1", _wampler(0), (("1", "0"),) * 6, "0", "1", degree=5),
        Certified("Wampler2", second, tenths, "0", "1", degree=5),
        _ones(
            "2360.14502379268",
            "0.999995559025820",
            "2152.32624678170 2363.55173469681 779.343524331583 101.475507550350 5.64566512170752 0.112324854679312",
            1,
        ),
        _ones(
            "236014.502379268",
            "0.957478440825662",
            "215232.624678170 236355.173469681 77934.3524331583 10147.5507550350 564.566512170752 11.2324854679312",
            100,
        ),
        _ones(
            "23601450.2379268",
            "0.224668921574940E-02",
            "21523262.4678170 23635517.3469681 7793435.24331583 1014755.07550350 56456.6512170752 1123.24854679312",
            10_000,
        ),
    ]


def filip(folder: Path) -> Certified:
    """Filip (Filippelli), whose 82 rows are in ``nist/filip.txt``: x in the first line, y in the second."""
    x, y = (line.split(",") for line in (folder / "nist" / "filip.txt").read_text().splitlines()[:2])
    return Certified(
        "Filip",
        tuple((b.strip(), a.strip()) for a, b in zip(x, y, strict=True)),
        (
            ("-1467.48961422980", "298.084530995537"),
            ("-2772.17959193342", "559.779865474950"),
            ("-2316.37108160893", "466.477572127796"),
            ("-1127.97394098372", "227.204274477751"),
            ("-354.478233703349", "71.6478660875927"),
            ("-75.1242017393757", "15.2897178747400"),
            ("-10.8753180355343", "2.23691159816033"),
            ("-1.06221498588947", "0.221624321934227"),
            ("-0.670191154593408E-01", "0.142363763154724E-01"),
            ("-0.246781078275479E-02", "0.535617408889821E-03"),
            ("-0.402962525080404E-04", "0.896632837373868E-05"),
        ),
        "0.334801051324544E-02",
        "0.996727416185620",
        degree=10,
    )


def table(certified: Sequence[Certified]) -> Iterator[str]:
    """A line for each set: right digits of each quantity, or why there are none."""
    yield f"{'set':10} " + " ".join(f"{quantity:>18}" for quantity in QUANTITIES)
    for one in certified:
        try:
            found = one.digits(one.study().linear(one.formula))
            yield f"{one.name:10} " + " ".join(f"{found[quantity]:18.1f}" for quantity in QUANTITIES)
        except SottovoceError as error:
            yield f"{one.name:10} refused: {error}"


if __name__ == "__main__":
    given = [filip(Path(folder)) for folder in sys.argv[1:2]]
    print("\n".join(table([*sets(), *given])))
