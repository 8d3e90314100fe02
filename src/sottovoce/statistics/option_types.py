"""Whether the options of an analysis are of the types that its fields say: files and callers can give anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import Any

import numpy as np

from ..errors import InvalidInput, is_number
from ..files.toml_table import shown
from .analysis import Analysis


def _is_integer(value: Any) -> bool:
    return is_number(value) and isinstance(value, int | np.integer)


# What a field is annotated with: its name for people, alone and in a list, and whether a value is one.
KINDS: dict[str, tuple[str, str, Callable[[Any], bool]]] = {
    "str": ("a string", "strings", lambda value: isinstance(value, str)),
    "bool": ("true or false", "true and false", lambda value: isinstance(value, bool | np.bool_)),
    "int": ("an integer", "integers", _is_integer),
    "date": ("a date", "dates", lambda value: type(value) is date),
    "float": ("a number", "numbers", is_number),
}


def check_types(analysis: type[Analysis], options: Mapping[str, Any]) -> None:
    """Refuse an option that is of another type than its field, before anybody looks at it.

    Raises
    ------
    InvalidInput
        A sentence that begins with the name of the option.
    """
    for field in fields(analysis):
        if field.name in options:
            value = options[field.name]
            allowed = [kind for kind in str(field.type).split(" | ") if kind != "None"]
            if not any(_is(kind, value) for kind in allowed):
                raise InvalidInput(f"{field.name} must be {' or '.join(map(_words, allowed))}; got {shown(value)}.")


def _is(kind: str, value: Any) -> bool:
    if kind in KINDS:
        return KINDS[kind][2](value)
    one = KINDS[_of_each(kind)][2]
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
        return all(one(each) for each in value)
    return one(value)  # as a list of one


def _words(kind: str) -> str:
    return KINDS[kind][0] if kind in KINDS else f"a list of {KINDS[_of_each(kind)][1]}"


def _of_each(kind: str) -> str:
    return kind.removeprefix("tuple[").removesuffix(", ...]")
