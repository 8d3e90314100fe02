"""Answers as files: JSON and CSV, each whole or not at all."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .atomic import write_whole


def finite(value: Any) -> Any:
    """With None, which JSON calls null, for every number that is not finite."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: Path, value: Any) -> None:
    """One value, for people too."""
    text = json.dumps(finite(value), allow_nan=False, ensure_ascii=False, indent=1) + "\n"
    write_whole(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table; numbers as ``repr`` writes them, with all their digits."""

    def save(temporary: str) -> None:
        with Path(temporary).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)

    write_whole(path, save)
