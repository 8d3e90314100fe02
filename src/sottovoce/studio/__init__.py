"""The studio: see it, click it, believe it, in the browser (``sottovoce studio``) or in a notebook (``show``).

Needs the extra ``studio``.
"""

from .notebook import Embedded, show

__all__ = ["Embedded", "show"]
