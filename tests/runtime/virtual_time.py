"""An event loop whose clock jumps: where everybody waits, it is at once the time for which the first one waits.

Tests on it never sleep, and see the same times on every machine.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 5.0  # real seconds to wait for another thread, where nothing else will ever happen

STILL = 100_000  # rounds of the loop at one time


class _JumpingSelector(selectors.DefaultSelector):
    now, still = 0.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            if not (events := super().select(PATIENCE)):
                raise RuntimeError("everybody waits, and nothing will ever happen")
            return events
        self.still += 1
        if self.still > STILL:
            raise RuntimeError(f"time stands still at {self.now} s: somebody is busy without ever waiting")
        if not (events := super().select(0)) and timeout > 0:
            self.now += timeout
            self.still = 0
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
