"""Signals that end a command which has started processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from .terminal import Ended

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def in_order() -> Iterator[None]:
    """Leave through every ``with`` when told to end, as Ctrl-C does: whoever has started processes then ends them. Only
    the first time: nothing may interrupt that."""

    def leave(number: int, _: object) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(128 + number)

    before = {number: signal.signal(number, leave) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
