"""A CSV file as blocks of whole rows in UTF-8, each with the line on which it begins.

A row ends at a line's end outside quotes. Quotes count only where a cell begins and ends with them; others are refused,
as nobody could say where their row ends.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import InvalidFile

SIZE = 1 << 23  # bytes of a block; larger ones leave the caches
LARGEST = 1 << 26  # of one row
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Block(NamedTuple):
    """Whole rows, as UTF-8."""

    text: bytes
    line: int  # on which the first begins, from 1


def blocks(path: Path, encoding: str, delimiter: str, quote: str, size: int = SIZE) -> Iterator[Block]:
    """The rows of a file, header and all."""
    plain = codecs.lookup(encoding).name == "utf-8"
    decoder = None if plain else codecs.getincrementaldecoder(encoding)()
    line, rest, begun = 1, b"", False
    try:
        file = path.open("rb")
    except IsADirectoryError:
        raise InvalidFile(f"{path} is a directory, not a file.") from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from None
    with file:
        while True:
            piece = file.read(size)
            last = not piece
            if not begun and plain and piece.startswith(UTF_16):
                raise InvalidFile(f'{path}: looks like UTF-16 text. Set encoding = "utf-16", or save it as UTF-8.')
            if decoder is not None:
                piece = _decoded(piece, decoder, last, f"{path}: not {encoding} text after line {line}.").encode()
            if not begun and len(piece) >= 3:
                piece, begun = piece.removeprefix(codecs.BOM_UTF8), True
            rest += piece
            if not rest and last:
                return
            end = len(rest) if last else _end(rest, quote)
            if not end and len(rest) > LARGEST:
                raise InvalidFile(
                    f"{path}, line {line}: no row ends within {LARGEST >> 20} MB. A quote may be open, or lines "
                    "may end in CR alone: save the file with ordinary line ends."
                )
            if end:
                block, rest = Block(rest[:end], line), rest[end:]
                _check(block, path, delimiter, quote)
                yield block
                line += int(np.count_nonzero(np.frombuffer(block.text, np.uint8) == 10))  # faster than count
            if last:
                return


def _decoded(piece: bytes, decoder: codecs.IncrementalDecoder, last: bool, sentence: str) -> str:
    try:
        return decoder.decode(piece, last)
    except UnicodeError:
        pass
    raise InvalidFile(f"{sentence} Set encoding to that of the file.")  # out here: that error has the block in it


def _end(text: bytes, quote: str) -> int:
    """After the last line's end that is outside quotes; 0 if there is none."""
    mark = quote.encode()
    end = text.rfind(b"\n") + 1
    while end and mark and text.count(mark, 0, end) % 2:
        end = text.rfind(b"\n", 0, text.rfind(mark, 0, end)) + 1
    return end


def _check(block: Block, path: Path, delimiter: str, quote: str) -> None:
    """No NUL bytes, and quotes about whole cells only."""
    text = block.text
    if (at := text.find(b"\0")) >= 0:
        line = block.line + text.count(b"\n", 0, at)
        raise InvalidFile(f"{path}, line {line}: has a NUL byte. Is it a text file, in the encoding that is set?")
    quotes = np.empty(0, np.intp)
    if quote and quote.encode() in text:
        quotes = _quotes(block, path, delimiter, quote)
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        marks = np.frombuffer(text + b"\n", np.uint8)
        alone = np.flatnonzero((marks[:-1] == 13) & (marks[1:] != 10))
        if (np.searchsorted(quotes, alone) % 2 == 0).any():
            raise InvalidFile(f"{path}: has lines that end in CR alone. Save the file with ordinary line ends.")


def _quotes(block: Block, path: Path, delimiter: str, quote: str) -> npt.NDArray[np.intp]:
    """Where quotes are, each about a whole cell."""
    marks = np.frombuffer(b"\n" + block.text + b"\n", np.uint8)
    quotes = np.flatnonzero(marks == ord(quote))
    opening, closing = quotes[0::2], quotes[1::2]  # of a doubled quote the first closes, the second opens
    beside = np.zeros(256, bool)
    beside[[ord(delimiter), ord(quote), 10, 13]] = True
    wrong = np.concatenate([opening[~beside[marks[opening - 1]]], closing[~beside[marks[closing + 1]]]])
    if len(wrong):
        line = block.line + block.text.count(b"\n", 0, int(wrong.min()) - 1)
        raise InvalidFile(
            f"{path}, line {line}: a cell has a quote inside, or a blank beside one. Quote whole cells and double the "
            'quotes in them; or set quote = "" where quotes have no meaning.'
        )
    if len(quotes) % 2:
        line = block.line + block.text.count(b"\n", 0, int(quotes[-1]) - 1)
        raise InvalidFile(f"{path}, line {line}: a quoted cell does not end.")
    return quotes - 1


def rows_of(
    block: Block, path: Path, delimiter: str, quote: str, blank: bool = False
) -> Iterator[tuple[list[str], int]]:
    """The cells of every row, and the line on which it ends; slowly, for headers and for trouble. A blank line is no
    row, but where there is one column."""
    if (line := _not_utf8(block)) is not None:
        raise InvalidFile(
            f"{path}, line {line}: not UTF-8 text. Save the file as UTF-8, or set encoding, such as "
            'encoding = "cp1252".'
        )
    reader = csv.reader(
        io.StringIO(block.text.decode(), newline="\n"),
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )
    try:
        for cells in reader:
            if cells or blank:
                yield [cell.strip() for cell in cells], block.line + reader.line_num - 1
    except csv.Error:  # a cell of more than 131,072 characters
        raise InvalidFile(f"{path}, line {block.line + reader.line_num - 1}: not valid CSV.") from None


def _not_utf8(block: Block) -> int | None:
    try:
        block.text.decode()
    except UnicodeDecodeError as error:
        return block.line + block.text.count(b"\n", 0, error.start)
    return None


def without(block: Block, lines: int) -> Block:
    """The block but for its first lines."""
    at = 0
    for _ in range(lines):
        at = block.text.find(b"\n", at) + 1 or len(block.text)
    return Block(block.text[at:], block.line + lines)
