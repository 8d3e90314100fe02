"""All methods, each with its defaults: what a comparison compares."""

from __future__ import annotations

from .base import Method
from .subspace_perturbation import SubspacePerturbation


def every_method() -> list[Method]:
    """Family by family, in the order of the paper."""
    return [
        SubspacePerturbation(),
        SubspacePerturbation(overlay="tree"),
    ]
