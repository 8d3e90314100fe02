"""One table of a problem file: its values by type, and a sentence, with key and line, for each that cannot be used."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InvalidFile, InvalidInput

T = TypeVar("T")

REQUIRED: Any = object()
DEEPEST = 32  # values within values; what files of this package say takes seven
TOO_DEEP = f"values in it are nested more than {DEEPEST} deep, which no key takes"
HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
ASSIGNMENT = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


class TomlFile:
    """The text of a problem file and its tables."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = read_text(path)
        if not self.text.strip():
            raise InvalidFile(f"{path} is empty. Start from: sottovoce solve --example averaging")
        try:
            self.values = toml_values(self.text)
        except ValueError as error:
            raise InvalidFile(self._syntax(str(error))) from None

    def _syntax(self, message: str) -> str:
        found = re.search(r" \(at line (\d+), column (\d+)\)", message)
        if not found:
            return f"{self.path}: not valid TOML: {message}."
        why = message.replace(found.group(), "").rstrip(".")
        return f"{self.path}, line {found[1]}: not valid TOML: {why} (column {found[2]})."

    def table(self, name: str) -> Table:
        """The table ``[name]``; an empty one where the file has none."""
        values = self.values.get(name, {})
        if not isinstance(values, dict):
            raise InvalidFile(f"{self.where('', name)}: {name} must be a table: write [{name}] on a line of its own.")
        return Table(self, name, values)

    def where(self, table: str, key: str | None, at: int = 0) -> str:
        """``path, line 7``, as far as the line can be found."""
        line = self.line(table, key, at)
        return f"{self.path}, line {line}" if line else f"{self.path}"

    def line(self, table: str, key: str | None, at: int = 0) -> int | None:
        """The line of a key, or of its table's header (of the table number ``at`` in an array of tables)."""
        current, seen, header = "", -1, None
        for number, text in enumerate(self.text.splitlines(), start=1):
            if found := HEADER.match(text):
                current = _plain(found[2])
                seen += current == table
                if current == table and seen == at:
                    header = number
            if not (found := ASSIGNMENT.match(text)) or key is None:
                continue
            full = f"{current}.{_plain(found[1])}".lstrip(".")
            wanted = f"{table}.{key}".lstrip(".")
            if (full == wanted or full.startswith(wanted + ".")) and (current != table or seen in (-1, at)):
                return number
        outer, _, inner = table.rpartition(".")
        return header or (self.line(outer, inner) if outer else None)


def toml_values(text: str) -> dict[str, Any]:
    """What a TOML text says; ``ValueError`` where it is none, or has what no key takes and no sentence could quote: a
    whole number beyond 64 bits, or values within values without end."""
    try:
        values = tomllib.loads(text)
    except RecursionError:  # of brackets; dotted keys come to any depth
        raise ValueError(TOO_DEEP) from None
    level: list[Any] = [values]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in (value.values() if isinstance(value, dict) else value)]
        if any(isinstance(value, int) and value.bit_length() > 63 for value in level):
            raise ValueError("a whole number in it is beyond 64 bits, -2^63 to 2^63 - 1, which TOML has")
        if not (level := [value for value in level if isinstance(value, dict | list)]):
            return values
    raise ValueError(TOO_DEEP)


class Table:
    """One table. Values that are asked for are ticked off; ``finish`` refuses the rest."""

    def __init__(self, file: TomlFile, name: str, values: dict[str, Any], at: int | None = None) -> None:
        self.file, self.name, self.values, self.at = file, name, values, at
        self.used: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def refuse(self, key: str | None, why: str) -> InvalidFile:
        """The exception for a mistake at ``key``; ``why`` continues the sentence that starts with the key."""
        title = f"[{self.name}]" if self.at is None else f"[[{self.name}]] number {self.at + 1}"
        where = self.file.where(self.name, key if key in self.values else None, self.at or 0)
        return InvalidFile(f"{where}: {title} {key + ' ' if key else ''}{why}")

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Every key must be one of ``known``."""
        for key in self.values:
            if key not in known:
                raise self.refuse(key, f"is not a known key{nearest(key, known)}")

    def finish(self, chosen: str) -> None:
        """Every key given must have been asked for; ``chosen`` says by what choice it was not."""
        for key in self.values:
            if key not in self.used:
                raise self.refuse(key, f"has no meaning with {chosen}. Remove it.")

    def call(self, make: Callable[..., T], *arguments: Any, at: str | None = None, **options: Any) -> T:
        """``make(...)``, with its refusal attributed to the key it names first, else to ``at``."""
        try:
            return make(*arguments, **options)
        except InvalidInput as error:
            first, _, rest = str(error).partition(" ")
            if first in self.values:
                raise self.refuse(first, rest) from None
            raise self.refuse(at, f"cannot be used: {error}") from None

    # Values by type

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        self.used.add(key)
        if key in self.values:
            return self.values[key]
        if default is REQUIRED:
            raise self.refuse(key, "is missing. Add it to the table.")
        return default

    def string(self, key: str, default: Any = REQUIRED) -> Any:
        value = self.get(key, default)
        if key in self.values and (not isinstance(value, str) or not value):
            raise self.refuse(key, f"must be text in quotes; got {shown(value)}.")
        return value

    def strings(self, key: str, default: Any = REQUIRED) -> Any:
        """A list of distinct names."""
        value = self.get(key, default)
        if key not in self.values:
            return value
        if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
            raise self.refuse(key, f'must be a list of names such as ["age", "dose"]; got {shown(value)}.')
        if len(set(value)) < len(value) and (repeated := [name for name in value if value.count(name) > 1]):
            raise self.refuse(key, f"names {repeated[0]!r} twice.")
        return value

    def choice(self, key: str, known: Iterable[str], default: Any = REQUIRED) -> str:
        if key not in self.values and default is REQUIRED:
            raise self.refuse(key, f"is missing. Known: {', '.join(known)}.")
        value = str(self.string(key, default))
        if value not in known:
            raise self.refuse(key, f"= {value!r} is not known{nearest(value, known)} Known: {', '.join(known)}.")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.refuse(key, f"must be true or false; got {shown(value)}.")
        return value

    def integer(self, key: str, default: Any = REQUIRED, least: int | None = None) -> Any:
        value = self.get(key, default)
        if key not in self.values:
            return value
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            bound = "" if least is None else f" >= {least}"
            raise self.refuse(key, f"must be a whole number{bound}; got {shown(value)}.")
        return value

    def number(self, key: str, default: Any = REQUIRED, least: float | None = None) -> Any:
        value = self.get(key, default)
        if key not in self.values:
            return value
        if not finite(value) or (least is not None and value < least):
            bound = "" if least is None else f" >= {least:g}"
            raise self.refuse(key, f"must be a number{bound}; got {shown(value)}.")
        return float(value)


def finite(value: object) -> bool:
    """Whether it is a finite number, and not ``true`` or ``false``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**1023
    return isinstance(value, float) and math.isfinite(value)


def shown(value: object) -> str:
    """A value as the file has it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: ``; did you mean 'theta'?`` where a known word is near, or two are; else a full stop."""
    known, word = list(known), word.lower()
    close = difflib.get_close_matches(word, known, n=2, cutoff=0.7) or difflib.get_close_matches(word, known, n=1)
    close = [name for name in close if name[:3] == close[0][:3]]  # 'partie' is 'parties' or 'party'
    close = close or [name for name in known if name.startswith(word)][:1]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else "."


def read_text(path: Path) -> str:
    """A text file, or a sentence for each way in which it is none."""
    if path.is_dir():
        raise InvalidFile(f"{path} is a directory, not a file.")
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InvalidFile(f"{path} does not exist.") from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
    # Out here: that error has the whole file in it, and would be the context of this one.
    raise InvalidFile(f"{path}, line {line}: not UTF-8 text. Save the file as UTF-8.")


def _plain(name: str) -> str:
    """A dotted name without its quotes and blanks."""
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
