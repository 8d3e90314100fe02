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
)
# Names whose docstrings are still to be written; this ends empty.
NOT_YET = set(
    """
    Adversary Asynchronous CalibratedMask Coalition CorrelatedPads Delayed Eavesdropper EdgeBernoulli Exposure
    GaussianMask Histogram Information LinearRun Message ModularMask Network Node NodeBernoulli PoissonClocks
    PooledCovariance PooledMean PooledVariance Problem RandomMoments RecoveredChanges RecoveredGradients
    RecoveredHessians RecoveredKinks RecoveredRows Regression Report Result SampledVariances Schedule Snapshot
    State Statistic Status Subspace Suggestion Synchronous Trace Transcript UniformLeak UniformMask Variances
    Verdict Worst audit averaging calibrate changes_between covariance edge_attack estimated_information
    exposure gradient_attack gradient_differences iterate kink_attack least_squares logistic monte_carlo
    nodes_of pad_reuse_attack perp_covariance perp_variance private_covariance private_histogram
    private_least_squares private_mean private_variance random_variances record_transcript recover_hessians
    regression_attack row_attack sequence_variances snapshot_information solve statement suggest_edges total
    uniform_attack write_statement
    """.split()  # noqa: SIM905
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
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
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


@pytest.mark.parametrize(("name", "thing"), [pair for pair in public() if pair[0] not in NOT_YET])
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
