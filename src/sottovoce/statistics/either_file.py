"""The file of ``solve``, ``audit`` and the studio: a problem with ``[cost]``, or one with ``[statistic]``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..files.toml_table import TomlFile

if TYPE_CHECKING:
    from ..data.problem_file import ProblemFile
    from .statistic_file import StatisticFile


def read_file(path: Path, seed: int | None = None) -> ProblemFile | StatisticFile:
    """By the table that it has."""
    if "statistic" in TomlFile(path).values:
        from .statistic_file import read_statistic_file

        return read_statistic_file(path, seed)
    from ..data.problem_file import read_problem_file

    return read_problem_file(path, seed)
