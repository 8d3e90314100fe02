"""Where rows come from: one class for each kind of source, all read in the same way."""

from .arrow_source import ArrowSource
from .csv_source import CSVSource
from .duckdb_source import DuckDBSource
from .frame_source import FrameSource
from .opening import open_source
from .parquet_source import ParquetSource
from .pieces_source import PiecesSource
from .postgresql_source import PostgreSQLSource
from .source import Source

__all__ = [
    "ArrowSource",
    "CSVSource",
    "DuckDBSource",
    "FrameSource",
    "ParquetSource",
    "PiecesSource",
    "PostgreSQLSource",
    "Source",
    "open_source",
]
