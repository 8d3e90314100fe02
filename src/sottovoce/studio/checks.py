"""What a page says is checked like any other argument: a value within its bounds, or a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidInput


def within(value: Any, low: float, high: float, what: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:
        told = f"{value:.4g}" if number else f"{value!r:.40}"
        raise InvalidInput(f"{what} must be a number from {low:g} to {high:g}; got {told}.")


def whole(value: Any, low: int, high: int, what: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInput(f"{what} must be a whole number from {low} to {high}; got {value!r:.40}.")


def one_of(value: Any, known: Sequence[str], what: str) -> None:
    if value not in known:
        raise InvalidInput(f"{what} must be one of {', '.join(known)}; got {value!r:.40}.")
