"""Makes the cohort: five hospitals with the same patients' columns, each in a format of its own.

    python examples/cohort/make.py [FOLDER]

The numbers are made up, and are the same in every run. It needs NumPy and pyarrow.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20
ROWS = {"h1": 140, "h2": 90, "h3": 120, "h4": 100, "h5": 12}
COLUMNS = ("id", "age", "sex", "smoker", "admitted", "crp", "dose", "treatment", "recovery", "death", "days")
TREATMENTS = ("drug A", "drug B", "standard", "surgery")
EFFECTS = (-2.0, -1.2, 0.0, 1.5)  # on the days until recovery
FIRST_DAY = date(2022, 1, 1)
LAST_DAY = 360  # of the follow-up, counted from the admission

# How likely a cell is missing, and what stands for it; h5 has all its cells.
GAPS: dict[str, dict[str, float]] = {
    "h1": {"crp": 0.05},
    "h2": {"crp": 0.04, "smoker": 0.03},
    "h3": {"dose": 0.04, "treatment": 0.03, "death": 0.02},
    "h4": {"age": 0.03, "sex": 0.02, "smoker": 0.06, "admitted": 0.05, "crp": 0.08, "recovery": 0.03},
    "h5": {},
}
CODES = {"age": "-9", "sex": "NA", "smoker": "NA", "admitted": "", "crp": "-9", "recovery": "NA"}  # of h4

Rows = list[dict[str, Any]]


def patients(hospital: str) -> Rows:
    """The rows of a hospital, by column; None where a cell is missing."""
    number = list(ROWS).index(hospital)
    rng = np.random.default_rng([SEED, number])
    gaps = np.random.default_rng([SEED, number, 1])
    later = np.random.default_rng([SEED, number, 2])
    rows = []
    for k in range(ROWS[hospital]):
        age = int(np.clip(rng.normal(58 + 2 * number, 14), 18, 99))
        sex = "f" if rng.random() < 0.52 else "m"
        smoker = bool(rng.random() < 0.28)
        admitted = FIRST_DAY + timedelta(days=int(rng.integers(0, 730)))
        crp = float(np.clip(np.round(np.exp(rng.normal(2.3 + 0.3 * smoker, 0.9)), 1), 0.2, 400))
        dose = float(rng.choice([0.0, 2.5, 5.0, 7.5, 10.0]))
        which = int(rng.integers(0, 3 if hospital == "h5" else 4))  # the smallest hospital does not operate
        recovery = 5 + 0.08 * age + (1.0 - 0.15 * dose) * (sex == "m") - 0.3 * dose + 1.5 * smoker
        recovery += 1.2 * np.log(crp) + EFFECTS[which] + rng.normal(0, 2)
        death = bool(rng.random() < 1 / (1 + np.exp(7.5 - 0.06 * age - 0.5 * np.log(crp))))
        # Until death, sooner the higher crp is, or until the hospital lost sight of the patient.
        last = LAST_DAY * later.beta(1.0, 1.0 + 0.4 * np.log(crp)) if death else LAST_DAY * later.beta(3.0, 1.0)
        values = (
            age, sex, smoker, admitted, crp, dose, TREATMENTS[which], round(max(recovery, 0.5), 1), death,
            max(1, int(np.ceil(last))),
        )  # fmt: skip
        row: dict[str, Any] = dict(zip(COLUMNS, (f"{hospital}-{k + 1:04d}", *values), strict=True))
        for name, share in GAPS[hospital].items():
            if gaps.random() < share:
                row[name] = None
        rows.append(row)
    return rows


def plain(name: str, value: Any) -> str:
    """A cell as most write it: a point in numbers, true and false, dates such as 2022-12-31, nothing where missing."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_comma(name: str, value: Any) -> str:
    """The same with a comma in numbers, and 0 and 1 for false and true."""
    text = str(int(value)) if isinstance(value, bool) else plain(name, value)
    return text.replace(".", ",") if isinstance(value, float) else text


def with_codes(name: str, value: Any) -> str:
    """The same with a code where a value is missing, another one for every column."""
    return CODES[name] if value is None else plain(name, value)


def as_csv(
    rows: Rows,
    cell: Callable[[str, Any], str] = plain,
    columns: Sequence[str] = COLUMNS,
    delimiter: str = ",",
    end: str = "\n",
    encoding: str = "utf-8",
) -> bytes:
    """A CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(columns)
    writer.writerows([cell(name, row[name]) for name in columns] for row in rows)
    return text.getvalue().encode(encoding)


def as_table(rows: Rows) -> Any:
    """A pyarrow table, with types."""
    import pyarrow as pa

    types: Mapping[str, Any] = {"age": pa.int16(), "sex": pa.dictionary(pa.int8(), pa.string())}
    columns = {name: pa.array([row[name] for row in rows], types.get(name)) for name in COLUMNS}
    return pa.table(columns)


def write(folder: str | Path) -> None:
    """All files of the hospitals."""
    import pyarrow.parquet as parquet

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "h1.csv").write_bytes(as_csv(patients("h1")))
    # As a spreadsheet saves it: a mark at the beginning, semicolons, commas in numbers, an order of its own.
    order = ("id", "recovery", "death", "sex", "age", "treatment", "dose", "crp", "smoker", "admitted", "days")
    (folder / "h2.csv").write_bytes(as_csv(patients("h2"), with_comma, order, ";", "\r\n", "utf-8-sig"))
    parquet.write_table(as_table(patients("h3")), folder / "h3.parquet")
    (folder / "h4.csv").write_bytes(as_csv(patients("h4"), with_codes))
    (folder / "h5.csv").write_bytes(as_csv(patients("h5")))


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
