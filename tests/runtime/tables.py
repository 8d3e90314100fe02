"""Tables of hospitals for tests: rows, gaps, files of any kind, plans, and what all rows in one place give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from runtime.trial import edit

from sottovoce.runtime.cluster import free_ports
from sottovoce.runtime.plan.plan import read_plan, write_plan

SCHEMA = """
[schema.age]
type = "integer"
range = [18, 110]
missing = ["-9"]
[schema.sex]
type = "category"
levels = ["f", "m"]
[schema.drug]
type = "category"
levels = ["none", "b", "c"]
[schema.seen]
type = "date"
range = [2022-01-01, 2023-12-31]
[schema.crp]
type = "number"
range = [0.1, 500]
[schema.days]
type = "number"
range = [0, 60]
"""
FORMULA = "days ~ age + sex * log(crp) + drug + seen"
FIT = f'type = "linear"\nformula = "{FORMULA}"\nmissing = "drop"\ndigits = "full"\n'
COLUMNS = ["age", "sex", "drug", "seen", "crp", "days"]


def patients(number: int, rows: int) -> pd.DataFrame:
    """Whole, and of nobody."""
    rng = np.random.default_rng([3, number])
    found = pd.DataFrame(
        {
            "age": rng.integers(18, 99, rows),
            "sex": rng.choice(["f", "m"], rows),
            "drug": rng.choice(["none", "b", "c"] if number else ["none", "b"], rows),  # p0 has no c
            "seen": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 730, rows), "D"),
            "crp": np.round(rng.uniform(0.5, 90, rows), 2),
        }
    )
    found["days"] = np.round(
        20 + 0.1 * found.age - 2 * (found.sex == "m") + np.log(found.crp) + rng.normal(size=rows), 3
    )
    return found


def with_gaps(found: pd.DataFrame, number: int, share: float = 0.06) -> pd.DataFrame:
    """The same with cells that are missing."""
    rng = np.random.default_rng([4, number])
    return found.astype(object).mask(rng.uniform(size=found.shape) < share)


def pooled(tables: list[pd.DataFrame]) -> Any:
    """Of all complete rows in one place: another program, and another formula language."""
    import statsmodels.formula.api as smf

    whole = pd.concat([table.astype(object) for table in tables if len(table)]).dropna()
    whole = whole.astype({"age": float, "crp": float, "days": float})
    whole["seen"] = (pd.to_datetime(whole["seen"]) - pd.Timestamp("1970-01-01")).dt.days.astype(float)
    # About its middle: with days since 1970 of size 2e4 beside a column of ones the normal equations lose eight digits.
    whole["when"] = whole["seen"] - 19_300
    fit = smf.ols("days ~ age + C(sex) * np.log(crp) + C(drug, Treatment('none')) + when", whole).fit()
    return fit


NAMES = {  # of statsmodels, by ours
    "age": "age", "sex[T.m]": "C(sex)[T.m]", "log(crp)": "np.log(crp)", "drug[T.b]": "C(drug, Treatment('none'))[T.b]",
    "drug[T.c]": "C(drug, Treatment('none'))[T.c]", "seen": "when", "sex[T.m]:log(crp)": "C(sex)[T.m]:np.log(crp)",
}  # fmt: skip


def dropped(tables: list[pd.DataFrame]) -> dict[str, int]:
    whole = pd.concat([table.astype(object) for table in tables])
    return {"rows": int(whole.isna().any(axis=1).sum()), **{name: int(whole[name].isna().sum()) for name in COLUMNS}}


def check_fit(result: dict[str, Any], tables: list[pd.DataFrame]) -> None:
    answer, fit = result["answer"], pooled(tables)
    assert answer["dropped"] == dropped(tables)
    assert answer["nobs"] == int(fit.nobs)
    assert sorted(answer["terms"]) == sorted(["Intercept", *NAMES])
    ours = dict(zip(answer["terms"], answer["params"], strict=True))
    errors = dict(zip(answer["terms"], np.sqrt(np.diag(answer["covariance"])), strict=True))
    for name, theirs in NAMES.items():
        assert ours[name] == pytest.approx(fit.params[theirs], rel=1e-9), name  # of which statsmodels has as many
        assert errors[name] == pytest.approx(fit.bse[theirs], rel=1e-9), name
    assert answer["ssr"] == pytest.approx(fit.ssr, rel=1e-9)


def plan(folder: Path, names: list[str], about: str = FIT, schema: str = SCHEMA, more: str = "") -> Path:
    """Folders for everybody, with keys."""
    ports = free_ports(len(names))
    parties = "".join(
        f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n' for name, port in zip(names, ports, strict=True)
    )
    text = f'[run]\nname = "trial"\n[network]\ngenerator = "complete"\n[statistic]\n{about}{schema}{more}\n{parties}'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.toml").write_text(text)
    write_plan(read_plan(folder / "plan.toml"), folder / "parties", generate_keys=True)
    return folder / "parties"


def put(folder: Path, table: pd.DataFrame | str, name: str = "data.csv", data: str = "", **how: Any) -> None:
    """A party's table, and where its node file says that it is."""
    if name.endswith(".parquet"):
        assert isinstance(table, pd.DataFrame)
        typed = table.astype({"age": "Int64", "crp": float, "days": float})
        typed.assign(seen=pd.to_datetime(table["seen"])).to_parquet(folder / name)
    else:
        if isinstance(table, pd.DataFrame):  # dates that gaps have made objects would be written with their time
            table = table.assign(seen=pd.to_datetime(table["seen"])).to_csv(index=False, **how)
        (folder / name).write_text(table)
    if data:
        edit(folder / "node.toml", 'data = "data.csv"\n', f"{data}\n" if "=" in data.split("\n")[0] else "")
        if "=" not in data.split("\n")[0]:
            edit(folder / "node.toml", "\n[run]\n", f"\n{data}\n[run]\n")


GOOD = "age,sex,drug,seen,crp,days\n61,f,b,2022-05-04,3.5,21\n58,m,none,2023-01-31,10,25\n"
LAST = "58,m,none,2023-01-31,10,25\n"
ROW = "61,f,b,2022-05-04,3.5,21\n"
FAULTS = {  # what a party has, and what it says
    "column": (GOOD.replace("crp", "CPR"), "has no column 'crp'"),
    "level": (GOOD + "40,x,b,2022-05-04,3.5,21\n", "column 'sex': unknown level (none of 'f', 'm') in row 3"),
    "nan": (GOOD + "40,NaN,b,2022-05-04,3.5,21\n", "column 'sex': unknown level (none of 'f', 'm') in row 3"),
    "late": (
        GOOD + "40,f,b,2024-01-01,3.5,21\n",
        "out of range (from 2022-01-01 to 2023-12-31) in row 3",
    ),
    "twice": (GOOD.replace("crp", "age"), "two columns are named 'age'"),
    "blank": (GOOD + ",f,b,2022-05-04,,21\n", "values are missing in 1 of 3 rows, by column: 'age' 1 (row 3), 'crp' 1"),
}
RAISE = FIT.replace('"drop"', '"raise"')
