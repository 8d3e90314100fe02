"""Every public name says what it is, takes and returns, and shows an example (which test_structure runs)."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

MODULES = (
    "sottovoce",
    "sottovoce.costs",
    "sottovoce.pdmm.masks",
    "sottovoce.pdmm.recorders",
    "sottovoce.pdmm.schedules",
    "sottovoce.statistics",
    "sottovoce.privacy",
    "sottovoce.privacy.research",
    "sottovoce.runtime",
)


def public() -> Iterator[tuple[str, Any]]:
    seen = set()
    for module in map(import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) not in seen:
                seen.add(id(thing))
                yield name, thing


def sections(doc: str) -> dict[str, str]:
    """The text under each underlined heading."""
    parts = re.split(r"^(\w+)\n-+\n", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def parameters(thing: Any) -> list[str]:
    if inspect.isclass(thing) and (issubclass(thing, enum.Enum | Exception) or getattr(thing, "_is_protocol", False)):
        return []
    taken = inspect.signature(thing).parameters.values()
    bare = inspect.isclass(thing) and thing.__init__ is object.__init__
    return [] if bare else [parameter.name for parameter in taken]


def named(section: str) -> set[str]:
    """``a, b : type`` names two, ``**more`` one."""
    heads = re.findall(r"^(\S[^:\n]*?)(?: ?:.*)?$", section, re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def lacks(thing: Any) -> list[str]:
    """What the docstring of ``thing`` does not have; its own, not one of a base."""
    doc = inspect.cleandoc((thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__) or "")
    if not doc:
        return ["a docstring"]
    found = sections(doc)
    known = named(found.get("Parameters", "")) | (
        named(found.get("Attributes", "")) if inspect.isclass(thing) else set()
    )
    missing = [f"the parameter {name}" for name in parameters(thing) if name not in known]
    if inspect.isfunction(thing) and inspect.signature(thing).return_annotation not in (None, "None"):
        missing += [] if found.keys() & {"Returns", "Yields"} else ["what it returns"]
    return missing + ([] if ">>>" in found.get("Examples", "") else ["an example"])


@pytest.mark.parametrize(("name", "thing"), list(public()))
def test_public_names_are_documented(name: str, thing: Any) -> None:
    assert lacks(thing) == []


def test_what_lacks_is_noticed() -> None:
    def good(a: int, b: int, *more: int) -> int:
        """Adds.

        Parameters
        ----------
        a, b : int
            Two numbers.
        *more : int
            Others.

        Returns
        -------
        int
            Their sum.

        Examples
        --------
        >>> 1 + 1
        2
        """
        return a + b + sum(more)

    def bad(a: int, c: int = 0) -> int:
        return a + c

    class Inherits(dict):  # type: ignore[type-arg]
        pass

    assert lacks(good) == []
    assert lacks(bad) == ["a docstring"]
    assert lacks(Inherits) == ["a docstring"]
    bad.__doc__ = good.__doc__
    assert lacks(bad) == ["the parameter c"]
    bad.__doc__ = "Adds.\n\nParameters\n----------\na : int\n    One.\n"
    assert lacks(bad) == ["the parameter c", "what it returns", "an example"]
