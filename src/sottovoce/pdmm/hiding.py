"""Whether a mask is large enough for the data that it has to hide.

Pads hide the constant of a gradient: ``q_i`` of a quadratic cost, ``-2 s_i`` of averaging. One rule serves ``solve``,
``iterate``, the private statistics and the parties of a network, and one sentence, which quotes nothing of the data:
at a party it goes to a log.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ..costs.base import Cost
from ..errors import BadlyHidden
from .masks import Mask

_said = ContextVar("_said", default=False)


def size_of(cost: Cost) -> float:
    """The largest ``|q|`` of a quadratic cost; of another, whatever its data suggest."""
    form = cost.quadratic
    return float(np.abs(form.q).max(initial=0.0)) if form is not None else max(cost.sizes)


def is_hidden(size: float, mask: Mask, whose: str, stacklevel: int) -> bool:
    """Whether a mask hides a ``q`` of this size, with a warning where it does not."""
    hidden = size <= mask.hides
    if not hidden and not was_said():
        warnings.warn(
            f"{whose}: its data are hidden badly, as they are not small against the mask's sigma = {mask.sigma:.3g}: "
            "it should be about 100 times as large as what a party contributes. Use a larger mask, or bring the data "
            "to size 1 by public numbers (scale=).",
            BadlyHidden,
            stacklevel=stacklevel + 1,
        )
    return hidden


@contextmanager
def said() -> Iterator[None]:
    """Inside, nothing is said again, in this thread."""
    token = _said.set(True)
    try:
        yield
    finally:
        _said.reset(token)


def was_said() -> bool:
    """Whether whoever runs this says it himself."""
    return _said.get()
