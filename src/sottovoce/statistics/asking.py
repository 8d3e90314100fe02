"""What the faces of ``Study`` are made of: a method for every analysis, by the room that it belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .analysis import Analysis


class Asking(ABC):
    """Something that can be asked for an analysis."""

    @abstractmethod
    def _ask(self, analysis: type[Analysis], **options: Any) -> Any:
        """The answer of all parties to ``analysis(schema=..., **options)``."""
