"""What users bring: problem files, tables, and the rows of every party in them."""

from .check import check
from .checked import Checked
from .on_dask import on
from .problem_file import ProblemFile, example, read_problem_file

__all__ = ["Checked", "ProblemFile", "check", "example", "on", "read_problem_file"]
