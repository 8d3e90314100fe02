"""How fast tables are read, against the libraries that read them: a source looks at more, and keeps less in memory."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sottovoce.data.schema import Schema
from sottovoce.data.sources import CSVSource, DuckDBSource, ParquetSource, Source

from .measure import Group, Row, fresh, interleaved, ratio_row

COLUMNS = 10
MEMORY = """
import json, re
import pyarrow.csv, pyarrow.compute
from sottovoce.data.schema import Schema
from sottovoce.data.sources import CSVSource
def peak():  # of this process; ru_maxrss would begin with that of the one that started it
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
source = CSVSource({path!r})
rows = sum(batch.num_rows for batch in source.batches(Schema({{name: "number" for name in source.names()}})))
print(json.dumps({{"above": peak() - before, "rows": rows}}))
"""


def sources(quick: bool) -> Group:
    rounds = 2 if quick else 9
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table = written(folder, 2_000 if quick else 1_000_000)
        times = interleaved(rounds, tasks(folder, table))
        csv = ratio_row(
            "speed of a CSV source / pyarrow.csv", times["pyarrow.csv"], times["csv"], 0.5, "at least",
            f"{table.num_rows:,} rows of {COLUMNS} numbers, all cores; pyarrow.csv.read_csv keeps the table",
        )  # fmt: skip
        taken = Row(
            "time of a CSV source",
            median(times["csv"]),
            2.0,
            "at most",
            f"{table.num_rows:,} rows, {COLUMNS} columns",
            "s",
        )
        rows = [csv, taken]
        for name in ("parquet", "duckdb"):
            how = f"the same rows in a Parquet file, by {name}"
            rows.append(
                ratio_row(
                    f"speed of a source / {name} alone", times[f"{name} alone"], times[name], 0.5, "at least", how
                )
            )
        written(folder, 2_000 if quick else 1_000_000, parts=1 if quick else 3)
        found = json.loads(fresh(MEMORY.format(path=str(folder / "rows.csv"))).stdout)
        how = (
            f"CSV of {found['rows']:,} rows of {COLUMNS} numbers, in a fresh process, above the interpreter and pyarrow"
        )
        rows.append(Row("peak memory of reading", found["above"] / 1e6, 500.0, "at most", how, "MB"))
    return Group(rows)


def written(folder: Path, rows: int, parts: int = 1) -> pa.Table:
    """Random numbers in rows.csv, one table several times, and in rows.parquet."""
    draw = np.random.default_rng(0)
    table = pa.table({f"x{k}": draw.normal(size=rows) for k in range(COLUMNS)})
    with pyarrow.csv.CSVWriter(str(folder / "rows.csv"), table.schema) as writer:
        for _ in range(parts):
            writer.write_table(table)
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    return table


def tasks(folder: Path, table: pa.Table):
    schema = Schema({name: "number" for name in table.column_names})
    path = str(folder / "rows.parquet")

    def through(source: Source) -> int:
        return sum(batch.num_rows for batch in source.batches(schema))

    def duckdb_alone() -> int:
        with duckdb.connect() as connection:
            return sum(batch.num_rows for batch in connection.sql(f"FROM '{path}'").to_arrow_reader(65_536))

    return {
        "csv": lambda: through(CSVSource(folder / "rows.csv")),
        "pyarrow.csv": lambda: pyarrow.csv.read_csv(folder / "rows.csv"),
        "parquet": lambda: through(ParquetSource(path)),
        "parquet alone": lambda: pyarrow.parquet.read_table(path),
        "duckdb": lambda: through(DuckDBSource("FROM 'rows.parquet'", folder=folder)),
        "duckdb alone": duckdb_alone,
    }
