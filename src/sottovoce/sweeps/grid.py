"""The settings that a sweep goes over, and what a table says of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput, is_number
from ..numerics.unquoted import kind_of
from .digest import digest
from .values import check_keyword, check_name, check_points, check_together, check_value

Grid = Mapping[str, Any]

LONGEST = 200  # characters of a text in a table


@dataclass(frozen=True)
class Setting:
    """One point of a grid: arguments of ``solve``, and what a table says of them."""

    values: dict[str, Any]
    texts: dict[str, Any]  # numbers as they are, others as text


def settings_of(grid: Grid | Sequence[Grid] | None, options: Grid) -> list[Setting]:
    """All points, each checked, no two alike; ``options`` are those that all have in common."""
    grids = [{}] if grid is None else [grid] if isinstance(grid, Mapping) else grid
    if (
        isinstance(grids, str)
        or not isinstance(grids, Sequence)
        or not all(isinstance(each, Mapping) for each in grids)
    ):
        raise InvalidInput(
            'grid must be a mapping such as {"theta": [0.5, 1.0], "c": [0.1, 1.0]}, or a list of them; '
            f"got {kind_of(grid)}."
        )
    for name, value in options.items():
        check_keyword(name, "arguments")
        check_value(name, value, name)
    if not grids:
        raise InvalidInput("grid is an empty list, which has no points. Leave it out to play one point a seed.")
    found: list[Setting] = []
    for each in grids:
        columns = {name: values_of(name, values, options) for name, values in each.items()}
        check_points(len(found) + math.prod(len(column) for column in columns.values()))
        for chosen in itertools.product(*columns.values()):
            texts = {name: text for name, (text, _) in zip(columns, chosen, strict=True)}
            values = {name: value for name, (_, value) in zip(columns, chosen, strict=True)}
            check_together({**options, **values})
            found.append(Setting(values, texts))
    if not found:
        raise InvalidInput("grid has no points: one of its lists is empty. Give at least one value of each.")
    found = one_kind_a_column(found)
    check_texts(found)
    check_distinct(found)
    return found


def values_of(name: str, values: Any, options: Grid) -> list[tuple[Any, Any]]:
    """What a table says of each value of one keyword, and the values."""
    check_keyword(name, "grid")
    if name in options:
        raise InvalidInput(f"{name} is in the grid and beside it: both say what it is. Keep one of them.")
    where, pairs = f"grid[{name!r}]", [(None, values)]
    if isinstance(values, Mapping):
        if not all(isinstance(label, str) for label in values):
            raise InvalidInput(f"{where}: the names of values must be text; got {list(values)!r:.80}.")
        pairs = list(values.items())
    elif isinstance(values, list | tuple | range) or (isinstance(values, np.ndarray) and values.ndim == 1):
        pairs = [(None, value) for value in values]
    for _, value in pairs:
        check_value(name, value, where)
    return [(cell_of(name, label, value), value) for label, value in pairs]


def cell_of(name: str, label: str | None, value: Any) -> Any:
    """What a table says of a value: its name, a number as it is, or a short text."""
    plain = _plain(value)
    cell = label if label is not None else plain if _is_cell(plain) else text_of(plain)
    if isinstance(cell, str) and (len(cell) > LONGEST or " at 0x" in cell):
        raise InvalidInput(f"grid[{name!r}]: {kind_of(value)} has no short text for a table. {cure(name)}")
    if isinstance(cell, str):
        check_name(cell, f"grid[{name!r}]")
    return cell


def cure(name: str) -> str:
    return f'Give it a name: {{"{name}": {{"some name": value}}}}.'


def check_texts(settings: list[Setting]) -> None:
    """A table never says the same of two values."""
    digests: dict[int, str] = {}  # of the values by their ids, as a grid has each of them many times
    seen: dict[tuple[str, Any], str] = {}
    for setting in settings:
        for name, value in setting.values.items():
            if id(value) not in digests:
                plain = _plain(value)
                digests[id(value)] = digest(float(plain) if isinstance(plain, float | int) else plain)
            cell = setting.texts[name]
            if seen.setdefault((name, cell), digests[id(value)]) != digests[id(value)]:
                raise InvalidInput(f"grid[{name!r}]: two of its values read {cell!r} in a table. {cure(name)}")


def text_of(value: Any) -> str:
    """Such as ``EdgeBernoulli(p=0.3)``, without what is as it is by default.

    >>> import sottovoce as sv
    >>> text_of(sv.Asynchronous()), text_of([0.5, 1.0])
    ('Asynchronous()', '[0.5, 1.0]')
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    # One that dataclass has made, which is wrapped, and no other.
    if is_dataclass(value) and hasattr(type(value).__repr__, "__wrapped__"):
        shown = [each for each in fields(value) if each.repr and not _is_default(each, getattr(value, each.name))]
        inner = ", ".join(f"{each.name}={text_of(getattr(value, each.name))}" for each in shown)
        return f"{type(value).__name__}({inner})"
    return " ".join(repr(value).split())


def _is_default(field: Any, value: Any) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return default is not MISSING and (value is default or (_is_cell(value) and value == default))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def one_kind_a_column(settings: list[Setting]) -> list[Setting]:
    """Numbers stay numbers where all of a column are (None is missing), and are text where one is not; each reads alike
    wherever it stands."""
    names = dict.fromkeys(name for setting in settings for name in setting.texts)
    kinds = {name: _kind([setting.texts.get(name) for setting in settings]) for name in names}

    def cell(setting: Setting, name: str) -> Any:
        text = setting.texts.get(name)
        return None if text is None else kinds[name](text)

    return [Setting(setting.values, {name: cell(setting, name) for name in names}) for setting in settings]


def _kind(cells: list[Any]) -> Callable[[Any], Any]:
    given = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool) for cell in given):
        return bool
    number = float if any(isinstance(cell, float) for cell in given) else int
    if all(is_number(cell) for cell in given):
        return number
    return lambda cell: str(number(cell) if is_number(cell) else cell)


def check_distinct(settings: list[Setting]) -> None:
    seen = set()
    for setting in settings:
        told = {name: text for name, text in setting.texts.items() if text is not None}  # None is the default
        key = frozenset(told.items())
        if key in seen:
            what = ", ".join(f"{name} = {text}" for name, text in told.items())
            raise InvalidInput(f"the grid has a point twice: {what or 'the one without settings'}. Keep one of them.")
        seen.add(key)
