"""SciPy's special functions, loaded when one is first used: ``import sottovoce`` stays quick."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)
