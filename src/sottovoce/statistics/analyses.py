"""All analyses by the name that files and policies call them."""

from __future__ import annotations

from . import evidence, groups
from .analysis import Analysis

ANALYSES: dict[str, type[Analysis]] = {analysis.type: analysis for analysis in (*evidence.ANALYSES, *groups.ANALYSES)}
