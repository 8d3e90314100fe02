"""``--out FILE``: the answer of ``solve`` as JSON or as CSV, by the suffix, whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files.atomic import check_writable
from ..files.written import write_csv, write_json

SUFFIXES = (".json", ".csv")


def check_out(path: Path) -> None:
    """Before the run: a suffix that is known, in a folder that is there."""
    check_writable("--out", path, SUFFIXES)


def write_out(path: Path, answer: dict[str, Any], header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """``answer`` as ``--json`` prints it, or a CSV table, which is there for a run that converged: it has no place to
    say that another did not."""
    if path.suffix.lower() == ".json":
        write_json(path, answer)
    elif answer["status"] == "converged":
        write_csv(path, header, rows)
    else:
        print(f"warning: {path} is not written: the run did not converge.", file=sys.stderr)
