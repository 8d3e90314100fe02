"""CSV files, larger than memory too: blocks of rows, each parsed by Arrow on all cores.

Where a block cannot be read, and only there, it is read once more as text, to say by line and column what is wrong.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

from ...errors import InvalidFile, InvalidInput
from ...files.toml_table import nearest
from ..cells import DATE, DECIMAL_COMMA, THOUSANDS, as_number
from ..csv_rows import MARKS
from ..schema import Column
from .csv_blocks import Block, blocks, rows_of, without
from .csv_cells import Marks, arrow_type, as_text, cleaned, common_codes, from_text, kept, what_is_wrong, words
from .source import Source, library, stamp_of

HEAD = 1 << 16  # bytes that are read for the header


class CSVSource(Source):
    """A CSV file whose first line names the columns.

    Parameters
    ----------
    path : str or Path
        The file.
    delimiter : str
        One character between cells.
    decimal : {".", ","}
        What is before the fraction of a number.
    thousands : str, optional
        One character between the thousands of a number.
    encoding : str
        As Python calls it: ``"utf-8"``, ``"latin-1"``, ``"cp1252"``, ``"utf-16"``.
    quote : str
        One character about cells that contain others of these; ``""`` for none.

    Raises
    ------
    InvalidInput
        Where an option cannot be used; ``InvalidFile``, as the file is read, where it cannot be.

    Examples
    --------
    >>> import tempfile
    >>> from sottovoce.data.schema import Schema
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("age;dose\\n61;2,5\\n58;\\n")
    ...     source = CSVSource(path, delimiter=";", decimal=",")
    ...     [batch.to_pydict() for batch in source.batches(Schema({"dose": "number"}))]
    [{'dose': [2.5, None]}]
    """

    def __init__(
        self,
        path: str | Path,
        delimiter: str = ",",
        decimal: str = ".",
        thousands: str | None = None,
        encoding: str = "utf-8",
        quote: str = '"',
    ) -> None:
        self.path, self.delimiter, self.encoding, self.quote = Path(path), delimiter, encoding, quote
        for what, value in (("delimiter", delimiter), ("quote", quote or '"')):
            if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in "\r\n\0":
                raise InvalidInput(f"{what} must be one character, such as ',' or ';'; got {value!r}.")
        if decimal not in (".", ","):
            raise InvalidInput(f"decimal must be '.' or ','; got {decimal!r}.")
        if thousands is not None and (
            not isinstance(thousands, str) or len(thousands) != 1 or thousands.isalnum() or thousands in "+-\r\n\0"
        ):
            raise InvalidInput(f"thousands must be one character, such as '.' or ' '; got {thousands!r}.")
        if decimal == thousands or (quote and quote in (delimiter, decimal, thousands)):
            raise InvalidInput(
                f"decimal and thousands must differ, and quote from both and the delimiter; got decimal {decimal!r}, "
                f"thousands {thousands!r}, quote {quote!r}, delimiter {delimiter!r}."
            )
        try:
            codecs.lookup(encoding)
            "".encode(encoding)
        except (LookupError, TypeError, UnicodeError):
            raise InvalidInput(f"encoding {encoding!r} is not known; such as 'utf-8', 'cp1252' or 'utf-16'.") from None
        self.marks = Marks(decimal, thousands)
        self._header: tuple[object, list[str], int] | None = None
        self._forgives = False

    def forgiving(self) -> CSVSource:
        other = copy(self)
        other._forgives = True
        return other

    def describe(self) -> str:
        return str(self.path)

    def stamp(self) -> object:
        return stamp_of([self.path])

    def names(self) -> list[str]:
        return list(self._head()[0])

    def _head(self) -> tuple[list[str], int]:
        """The header, and the number of lines it takes with those before it."""
        stamp = self.stamp()
        if self._header is None or self._header[0] != stamp:
            self._header = (stamp, *self._read_head())
        return self._header[1], self._header[2]

    def _read_head(self) -> tuple[list[str], int]:
        for block in self._blocks(HEAD):
            for cells, line in rows_of(block, self.path, self.delimiter, self.quote):
                if any(cells):
                    self._check_header(cells, line)
                    return cells, line
        raise InvalidFile(f"{self.path} is empty. Its first line must name the columns.")

    def _check_header(self, cells: list[str], line: int) -> None:
        # Cells must not be quoted as names, nor those of a line that another mark separates.
        names = [*cells, *(MARKS.split(cells[0]) if len(cells) == 1 else ())]
        if any(_is_number(name) for name in names):
            raise InvalidFile(f"{self.path}, line {line}: there are numbers where the names of the columns should be.")
        if any(kind.fullmatch(name) for name in names for kind in (DATE, DECIMAL_COMMA, THOUSANDS)):
            raise InvalidFile(f"{self.path}, line {line}: there are data where the names of the columns should be.")
        for number, name in enumerate(cells, start=1):
            if not name:
                raise InvalidFile(f"{self.path}, line {line}: column {number} has no name.")
        self._different(cells)

    def _listed(self, names: list[str], wanted: Iterable[str]) -> str:
        """The first line is not quoted where nothing tells that it is a header."""
        if any(name in names or "did you mean" in nearest(name, names) for name in wanted):
            return super()._listed(names, wanted)
        return "" if self._hint() else " None of them is in its first line. Does that name the columns?"

    def _hint(self) -> str:
        """What a header suggests that is one name with other marks in it."""
        names = self.names()
        others = [mark for mark in ";,\t|" if mark != self.delimiter and mark in names[0]]
        if not others or len(names) > 1:
            return ""
        mark = json.dumps(others[0])  # as TOML writes it
        return f" Is the file separated by {mark}? Then set delimiter = {mark}."

    def _blocks(self, size: int | None = None) -> Iterator[Block]:
        more = {} if size is None else {"size": size}
        return blocks(self.path, self.encoding, self.delimiter, self.quote, **more)

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        library("pyarrow.csv", "a CSV table")
        names, skipped = self._head()
        for block in self._blocks():
            if block.line <= skipped:
                block = without(block, skipped - block.line + 1)
            if block.text.strip() or (len(names) == 1 and block.text):  # a blank line is a row of one column
                yield from self._table(block, names, wanted).to_batches()

    def _table(self, block: Block, names: list[str], wanted: Mapping[str, Column]) -> Any:
        codes = common_codes(wanted)
        texts = {name for name, column in wanted.items() if as_text(column, codes, self.marks)}
        parsed = self._parsed(block, names, wanted, texts, codes)
        made = self._typed(parsed, wanted, texts) if parsed is not None else None
        if isinstance(made, int) or made is None:  # a cell with blanks in it, or one that is wrong
            texts = set(wanted)
            parsed = self._parsed(block, names, wanted, texts, codes, slowly=True)
            made = self._typed(parsed, wanted, texts) if parsed is not None else None
        if isinstance(made, int) or made is None:
            raise self._trouble(block, names, wanted, made)
        return made

    def _parsed(
        self,
        block: Block,
        names: list[str],
        wanted: Mapping[str, Column],
        texts: set[str],
        codes: frozenset[str],
        slowly: bool = False,
    ) -> Any | None:
        """The block as Arrow reads it; None where it cannot. Its own words quote cells."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {name: pa.string() if name in texts else arrow_type(column) for name, column in wanted.items()}
        multiline = bool(self.quote) and self.quote.encode() in block.text
        size = len(block.text) + 1 if slowly else 1 << 20  # a row must fit; small parts keep all cores busy
        try:
            return arrow_csv.read_csv(
                pa.py_buffer(block.text),
                read_options=arrow_csv.ReadOptions(column_names=names, block_size=size),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter,
                    quote_char=self.quote or False,
                    newlines_in_values=multiline,
                    ignore_empty_lines=len(names) > 1,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(wanted),
                    null_values=["", *sorted(codes)],
                    true_values=words(True),
                    false_values=words(False),
                    decimal_point=self.marks.decimal,
                ),
            )
        except pa.ArrowException:
            return None

    def _typed(self, parsed: Any, wanted: Mapping[str, Column], texts: set[str]) -> Any:
        """With columns of text made what they should be; or the first row where a cell cannot be."""
        import pyarrow as pa

        made, wrong = [], []
        for name, column in wanted.items():
            chunks = parsed[name]
            if name in texts:
                cells = chunks.combine_chunks()
                chunks, bad = from_text(cells, column, self.marks)
                if bad is not None and self._forgives:
                    chunks, bad = kept(cells, column, self.marks), None
                wrong += [] if bad is None else [bad]
            elif column.type == "category":
                chunks = pa.chunked_array([cleaned(chunk, column) for chunk in chunks.chunks], arrow_type(column))
            made.append(chunks)
        return min(wrong) if wrong else pa.table(made, names=list(wanted))

    def _trouble(self, block: Block, names: list[str], wanted: Mapping[str, Column], at: int | None) -> InvalidFile:
        """What is wrong with the block, by line: with its row ``at``, or with its shape."""
        import pyarrow as pa

        for row, (cells, line) in enumerate(rows_of(block, self.path, self.delimiter, self.quote, len(names) == 1)):
            where = f"{self.path}, line {line}"
            if len(cells or [""]) != len(names):
                return InvalidFile(f"{where}: {len(cells)} cells; the header has {len(names)}.{self._hint()}")
            for name, column in wanted.items() if row == at else ():
                text = cells[names.index(name)] if cells else ""
                if from_text(pa.array([text]), column, self.marks)[1] is not None:
                    return InvalidFile(f"{where}, column {name!r}: {what_is_wrong(text, column, self.marks)}")
        return InvalidFile(f"{self.path}: what begins on line {block.line} cannot be read as CSV.")


def _is_number(text: str) -> bool:
    value = as_number(text)
    return value is not None and text.lower() not in ("nan", "inf", "infinity")  # which may be names
