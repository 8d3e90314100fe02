"""What users bring: problem files, and the rows of every party in them or in CSV files beside them."""

from .on_dask import on
from .problem_file import ProblemFile, example, read_problem_file

__all__ = ["ProblemFile", "example", "on", "read_problem_file"]
