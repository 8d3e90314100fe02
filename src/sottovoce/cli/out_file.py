"""``--out FILE``: the answer of ``solve`` as JSON or as CSV, by the suffix, whole or not at all."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files.atomic import check_writable, write_whole
from .terminal import finite

SUFFIXES = (".json", ".csv")


def check_out(path: Path) -> None:
    """Before the run: a suffix that is known, in a folder that is there."""
    check_writable("--out", path, SUFFIXES)


def write_out(path: Path, answer: dict[str, Any], header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """``answer`` as ``--json`` prints it, or a CSV table, which is there for a run that converged: it has no place to
    say that another did not."""
    if path.suffix.lower() == ".json":
        text = json.dumps(finite(answer), allow_nan=False, ensure_ascii=False, indent=1) + "\n"
        write_whole(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))
    elif answer["status"] == "converged":
        write_whole(path, lambda temporary: _write_csv(Path(temporary), header, rows))
    else:
        print(f"warning: {path} is not written: the run did not converge.", file=sys.stderr)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)  # numbers as repr writes them: all their digits
