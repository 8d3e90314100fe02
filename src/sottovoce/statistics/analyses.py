"""All analyses by the name that files and policies call them."""

from __future__ import annotations

from .analysis import Analysis
from .models.multinomial import Multinomial

ANALYSES: dict[str, type[Analysis]] = {analysis.type: analysis for analysis in (Multinomial,)}
