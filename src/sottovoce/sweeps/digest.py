"""Whether two values are the same, told by 32 hexadecimal digits, in this process and in any later one.

Pickles will not do: they depend on what was computed and cached since, and on which equal texts are one object.
"""

from __future__ import annotations

import copyreg
import dis
import enum
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..numerics.unquoted import kind_of

PLAIN = (type(None), bool, int, float, complex, str, bytes)
NAMED = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)  # which have names
PIECES = (Mapping, list, tuple, set, frozenset, np.ndarray, partial, types.MethodType)  # each piece counts for itself
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def digest(value: Any) -> str:
    """Of numbers, arrays, containers, objects and functions. A function counts with its code, its defaults, what it has
    captured, and the functions, classes and variables of its own module that it names; other modules count by their
    names. An object counts with the code of its class, where that is the user's own.

    >>> digest({"theta": [0.5, 1.0]}) == digest({"theta": [0.5, 1.0]}) != digest({"theta": [0.5, 1]})
    True
    """
    return Digests().of(value, (), strict=True).hex()[:32]


class Digests:
    """One look at a value, which looks at a function or a class once, however many others name it."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, bytes]] = {}  # with what it is of, so that no other has its id meanwhile

    def of(self, value: Any, above: tuple[int, ...], strict: bool) -> bytes:
        """``above`` are the objects that hold this one: what holds itself is told by how far up it is. ``strict``
        refuses what cannot be compared. What code names may be a log or a lock, which count by what they are.
        """
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value)
        if isinstance(value, PLAIN):
            return sha256(f"{kind.__qualname__} {value!r}".encode()).digest()
        if id(value) in above:
            return sha256(f"above {len(above) - above.index(id(value))}".encode()).digest()
        if id(value) in self.known:
            return self.known[id(value)][1]
        above = (*above, id(value))
        is_code = isinstance(value, types.FunctionType) or (isinstance(value, type) and is_own(value))
        # What others have made, such as a pool of threads, is compared as a whole or not at all.
        strict = not is_code and (strict or not (isinstance(value, PIECES) or is_own(kind)))
        if isinstance(value, np.ndarray) and value.dtype != object:
            parts = [self.of((value.dtype.str, value.shape), above, strict), value.tobytes()]
        else:
            parts = [self._part(part, above, strict) for part in parts_of(value)]
        if is_own(kind):
            parts.append(self.of(kind, above, strict))
        if isinstance(value, set | frozenset):
            parts.sort()
        whole = sha256(kind.__qualname__.encode())
        for piece in parts:
            whole.update(len(piece).to_bytes(8, "big"))
            whole.update(piece)
        if is_code:
            self.known[id(value)] = value, whole.digest()
        return whole.digest()

    def _part(self, part: Any, above: tuple[int, ...], strict: bool) -> bytes:
        try:
            return self.of(part, above, strict)
        except InvalidInput:
            if strict:
                raise
            return self.of(name_of(type(part)), above, strict)


def parts_of(value: Any) -> Iterable[Any]:
    """What makes a value what it is."""
    if isinstance(value, np.ndarray):
        return [value.shape, *value.ravel()]
    if isinstance(value, enum.Enum):
        return [value.name]
    if isinstance(value, Mapping):
        return [each for pair in value.items() for each in pair]
    if isinstance(value, list | tuple | set | frozenset | range):
        return list(value)
    if isinstance(value, NAMED):
        owner = None if isinstance(value, type) else getattr(value, "__self__", None)  # a module, or whose method it is
        code = members_of(value) if isinstance(value, type) else ()
        return [*name_of(value), None if isinstance(owner, types.ModuleType) else owner, *code]
    if isinstance(value, types.CodeType):
        return [value.co_code, value.co_consts, value.co_names, value.co_varnames]
    if isinstance(value, types.FunctionType):
        captured = [captured_in(cell) for cell in value.__closure__ or ()]
        return [
            *(value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, captured),
            *names_of(value),
        ]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, value.args, sorted(value.keywords.items())]
    if isinstance(value, property):
        return [value.fget, value.fset]
    if isinstance(value, cached_property):
        return [value.func]
    if hasattr(value, "__wrapped__"):  # such as a function with a cache
        return [value.__wrapped__]
    kind = type(value)
    if hasattr(value, "__dict__") and not says_itself(kind):
        kept = {name: held for name, held in vars(value).items() if not is_cached(kind, name)}
        return [kind.__module__, kept]
    try:
        made = copyreg.dispatch_table[kind](value) if kind in copyreg.dispatch_table else value.__reduce_ex__(4)
    except Exception:
        raise InvalidInput(
            f"{kind_of(value)} cannot be compared with what another call is given, as a grid and out= need. Give "
            "numbers, arrays, functions and plain Python objects."
        ) from None
    if isinstance(made, str):
        return [made]
    return [name_of(made[0]), *(list(part) if isinstance(part, Iterator) else part for part in made[1:])]


def names_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function names: data, functions and classes of its own module, and the names of others."""
    codes, names = [function.__code__], set[str]()
    for code in codes:
        names |= {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL}
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    for name in sorted(names & function.__globals__.keys()):
        held = function.__globals__[name]
        foreign = isinstance(held, types.FunctionType | type) and held.__module__ != function.__module__
        yield name, name_of(held) if foreign else held


def captured_in(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet, or no more
        return "nothing"


def is_own(kind: type) -> bool:
    """Whether a class is of the user's program: not the package's, nor Python's, nor an installed one."""
    room = kind.__module__.partition(".")[0]
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    installed = "site-packages" in file or "dist-packages" in file
    return not (room == "sottovoce" or room in sys.stdlib_module_names or installed)


def members_of(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class and those above it are made of, as far as the user has written it."""
    for base in filter(is_own, kind.__mro__):
        for name, held in sorted(vars(base).items()):
            of_python = name.startswith("__") and name.endswith("__") and not hasattr(held, "__get__")
            if not (of_python or isinstance(held, types.MemberDescriptorType | types.GetSetDescriptorType)):
                yield name, held


def name_of(thing: Any) -> list[str | None]:
    return [getattr(thing, name, None) for name in ("__module__", "__qualname__", "__name__")]


def says_itself(kind: type) -> bool:
    """Whether a class has its own way to say what its objects are made of."""
    return any(
        getattr(kind, name) is not getattr(object, name) for name in ("__reduce_ex__", "__reduce__", "__getstate__")
    )


def is_cached(kind: type, name: str) -> bool:
    """Whether an attribute was computed from others."""
    return any(isinstance(base.__dict__.get(name), cached_property) for base in kind.__mro__)
