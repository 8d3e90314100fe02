"""Every public name says what it is, takes and returns, and shows an example (which test_structure runs)."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

import pytest

MODULES = (
    "sottovoce",
    "sottovoce.baselines",
    "sottovoce.costs",
    "sottovoce.data.sources",
    "sottovoce.pdmm.masks",
    "sottovoce.pdmm.recorders",
    "sottovoce.pdmm.schedules",
    "sottovoce.statistics",
    "sottovoce.privacy",
    "sottovoce.privacy.research",
    "sottovoce.runtime",
    "sottovoce.sklearn",
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


def needs_no_example(thing: Any) -> bool:
    """What is only raised, or written by somebody else."""
    return inspect.isclass(thing) and (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False))


def known(thing: Any, doc: str) -> set[str]:
    """The names that ``doc`` explains; for a class, those that its bases explain too."""
    if not inspect.isclass(thing):
        return named(sections(doc).get("Parameters", ""))
    docs = [sections(inspect.cleandoc(each.__dict__.get("__doc__") or "")) for each in thing.__mro__]
    return {name for found in docs for key in ("Parameters", "Attributes") for name in named(found.get(key, ""))}


def lacks(thing: Any) -> list[str]:
    """What the docstring of ``thing`` does not have; its own, but for the parameters that a base explains."""
    doc = inspect.cleandoc((thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__) or "")
    if not doc:
        return ["a docstring"]
    found = sections(doc)
    explained = known(thing, doc)
    missing = [f"the parameter {name}" for name in parameters(thing) if name not in explained]
    if inspect.isfunction(thing) and inspect.signature(thing).return_annotation not in (None, "None"):
        missing += [] if found.keys() & {"Returns", "Yields"} else ["what it returns"]
    shown = needs_no_example(thing) or ">>>" in found.get("Examples", "")
    return missing + ([] if shown else ["an example"])


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


def test_bases_explain_and_some_need_no_example() -> None:
    class Base:
        """Has one.

        Attributes
        ----------
        a : int
            One.
        """

        def __init__(self, a: int) -> None:
            self.a = a

    class Derived(Base):
        """Has another."""

        def __init__(self, a: int, b: int) -> None:
            super().__init__(a)
            self.b = b

    class Wrong(Exception):
        """Is raised."""

    class Spoken(Protocol):
        """Is written by somebody else."""

    class Written(Spoken):
        """By somebody else."""

        def __init__(self) -> None: ...

    assert lacks(Derived) == ["the parameter b", "an example"]
    assert lacks(Wrong) == lacks(Spoken) == []
    assert lacks(Written) == ["an example"]
