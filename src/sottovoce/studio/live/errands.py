"""What other threads want done by the one that owns the processes."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future

from ...errors import InvalidInput

DONE = 30.0  # seconds in which an errand must be done

Errand = tuple[Callable[[], None], "Future[None]"]


class Errands:
    """Anybody asks, the owner does, and whoever asked hears how it went."""

    def __init__(self) -> None:
        self._wanted: queue.SimpleQueue[Errand | None] = queue.SimpleQueue()
        self.closed = False

    def ask(self, work: Callable[[], None]) -> None:
        """Have something done; what goes wrong is raised here, as ``InvalidInput``."""
        done: Future[None] = Future()
        self._wanted.put((work, done))
        if self.closed:
            self._refuse()
        try:
            done.result(DONE)
        except TimeoutError:
            raise InvalidInput(f"that was not done within {DONE:g} s. Is this machine very busy?") from None
        except RuntimeError as error:  # the process that parties are forked from is gone
            raise InvalidInput(f"the parties cannot be reached any more: {error}") from None

    def do_next(self, wait: float) -> None:
        """By the owner: do what is asked for within so many seconds, at most one thing."""
        try:
            asked = self._wanted.get(timeout=wait)
        except queue.Empty:
            return
        if asked is None:
            return
        work, done = asked
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)

    def hurry(self) -> None:
        """The owner need not wait any longer."""
        self._wanted.put(None)

    def close(self) -> None:
        """By the owner: nothing is done any more, and everybody who waits hears so."""
        self.closed = True
        self._refuse()

    def _refuse(self) -> None:
        while True:
            try:
                asked = self._wanted.get_nowait()
            except queue.Empty:
                return
            if asked is not None:
                asked[1].set_exception(InvalidInput("this studio is ending."))
