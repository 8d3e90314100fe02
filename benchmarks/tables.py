"""What exact sums over a table cost: time against BLAS, which is not exact, and memory, that of a few blocks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from sottovoce.sums import IntegerSums, on_grid

from .measure import Group, Row, fresh, interleaved, nanoseconds, ratio_row

FOLD = """
def peak():  # of this program alone: what getrusage says begins with the parent's
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
bare = peak()
import json, time
import numpy as np
from sottovoce.data.table_rows import TableRows
from sottovoce.sums import on_grid
def blocks(count):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((65536, {d})) for _ in range(count))
def same(block):
    whole = on_grid(block)
    return whole, whole
TableRows(lambda: blocks(1), {d}, threads={threads}).grams(same)  # compiles, or loads
loaded = peak()
count = {rows} // 65536
started = time.process_time()
for block in blocks(count):
    pass
reading = time.process_time() - started
started, worked = time.perf_counter(), time.process_time()
TableRows(lambda: blocks(count), {d}, threads={threads}).grams(same)
taken, cpu = time.perf_counter() - started, time.process_time() - worked
print(json.dumps({{"bare": bare, "loaded": loaded, "peak": peak(), "reading": reading, "all": taken, "cpu": cpu}}))
"""


def tables(quick: bool) -> Group:
    """Bar 500 MB above the interpreter for ten million rows of 20 columns, which are 1.6 GB."""
    return Group([*against_blas(quick), *folded(quick)])


def against_blas(quick: bool) -> list[Row]:
    """On one block that both sides have in memory, one thread."""
    rounds, n, d = (2, 2_000, 5) if quick else (15, 8_192, 20)
    block = np.random.default_rng(0).standard_normal((n, d))
    fine, whole, k = on_grid(block), np.rint(100 * block).astype(np.int64), d * (d + 1) // 2
    sums, products = IntegerSums(d), IntegerSums((d, d))
    times = interleaved(
        rounds,
        {
            "BLAS": lambda: block.T @ block,
            "exact": lambda: products.add_products(fine, fine),
            "exact, two decimals": lambda: products.add_products(whole, whole),
            "numpy": lambda: block.sum(axis=0),
            "exact sums": lambda: sums.add(fine),
            "fsum": lambda: [math.fsum(column) for column in block.T],
        },
    )
    shape = f"{n} x {d} normal numbers on a grid of 2^-40"
    how = f"{shape}; {nanoseconds(times['exact'], n * k)} a product"
    rows = [ratio_row("exact sums of products / BLAS", times["exact"], times["BLAS"], None, "at most", how)]
    how = f"with two decimals; {nanoseconds(times['exact, two decimals'], n * k)} a product"
    name = "the same of two decimals / BLAS"
    rows.append(ratio_row(name, times["exact, two decimals"], times["BLAS"], None, "at most", how))
    how = f"{shape}; {nanoseconds(times['exact sums'], n * d)} a term"
    rows.append(ratio_row("exact sums / numpy", times["exact sums"], times["numpy"], None, "at most", how))
    rows.append(ratio_row("math.fsum / exact sums", times["fsum"], times["exact sums"], 10.0, "at least", how))
    return rows


def folded(quick: bool) -> list[Row]:
    """Blocks are drawn as they are needed, so that drawing stands for reading; a fresh process for each."""
    if not Path("/proc/self/status").exists():
        return [Row("memory of sums of products", None, 500.0, "at most", "needs /proc", "MB")]
    rows, size, d = [], 200_000 if quick else 10_000_000, 20
    for threads in (1, 2):
        told = json.loads(fresh(FOLD.format(rows=size, d=d, threads=threads)).stdout)
        what = f"sums of products, {size:.0e} rows, {d} columns, threads = {threads}".replace("e+0", "e")
        how = (
            f"peak of a fresh process above the bare interpreter; {(told['loaded'] - told['bare']) / 1e6:.0f} MB of it "
        )
        how += "are NumPy, Numba and one block"
        rows.append(Row(f"memory of {what}", (told["peak"] - told["bare"]) / 1e6, 500.0, "at most", how, "MB"))
        how = f"CPU {told['cpu']:.1f} s, of which {told['reading']:.1f} s to draw them"
        rows.append(Row(f"time of {what}", told["all"], 15.0 if threads == 1 else None, "at most", how, "s"))
    return rows
