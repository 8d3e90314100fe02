"""All analyses by the name that files and policies call them."""

from __future__ import annotations

from .analysis import Analysis
from .models.glm import GLM

ANALYSES: dict[str, type[Analysis]] = {analysis.type: analysis for analysis in (GLM,)}
