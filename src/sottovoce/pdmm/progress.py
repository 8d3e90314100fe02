"""A progress bar that appears after two seconds, on a terminal or in a notebook, and nowhere else."""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Self

APPEAR = 2.0  # seconds
CHUNK = 0.25  # seconds between two looks at the clock, about
REFRESH = 0.2  # seconds between two bars, at least: a recorder may ask for a look at every iteration


_heard: ContextVar[Callable[[str], None] | None] = ContextVar("heard", default=None)


@contextmanager
def listening(hear: Callable[[str], None]) -> Iterator[None]:
    """Inside, ``hear`` is called with what ``tell`` is told, in this thread."""
    before = _heard.set(hear)
    try:
        yield
    finally:
        _heard.reset(before)


def tell(how_far: str) -> None:
    """How far something long has come that has no bar of its own, to whoever listens."""
    hear = _heard.get()
    if hear is not None:
        hear(how_far)


class Progress:
    """Shows iterations and residual; also says how many iterations to play before the next look (``stride``)."""

    stride: int = 1000

    def __init__(self, wanted: bool | Line | None, what: str = "solving", unit: str = "iterations") -> None:
        self.face: Face = (Notebook if in_notebook() else Terminal)(what, unit)
        if isinstance(wanted, Line):
            self.face, wanted = replace(wanted, what=what, unit=unit), True
        self.wanted = (sys.stderr.isatty() or in_notebook()) if wanted is None else wanted
        self.started = self.last = time.perf_counter()
        self.shown = -math.inf
        self.iteration = self.limit = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.face.stop()

    def say(self, what: str) -> None:
        """Something that takes a while and is no iteration."""
        if self.wanted:
            self.face.say(what)

    def begin(self, limit: int) -> None:
        """The iterations begin; there are so many at most."""
        self.limit, self.started = limit, time.perf_counter()
        self.last = self.started

    def update(self, iteration: int, residual: float) -> None:
        """Called after every chunk: chunks of a quarter of a second, so that Ctrl-C is heard between them."""
        now = time.perf_counter()
        speed = (iteration - self.iteration) / max(now - self.last, 1e-6)
        self.stride = max(1, min(2 * self.stride, int(CHUNK * speed)))
        self.last, self.iteration = now, iteration
        self.show(now, f"residual {residual:.1e}" if math.isfinite(residual) else "")

    def step(self, note: str) -> None:
        """One more is done of as many as there are, and what comes next has this name."""
        self.show(time.perf_counter(), note)
        self.iteration += 1

    def show(self, now: float, note: str) -> None:
        if self.wanted and now - self.started > APPEAR and now - self.shown >= REFRESH:
            self.shown = now
            self.face.show(self.iteration, self.limit, now - self.started, note)


class Face(ABC):
    """Where progress is shown: of what, and counted in which unit."""

    def __init__(self, what: str = "solving", unit: str = "iterations") -> None:
        self.what, self.unit = what, unit

    @abstractmethod
    def say(self, what: str) -> None: ...

    @abstractmethod
    def show(self, iteration: int, limit: int, seconds: float, note: str) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...


class Terminal(Face):
    """A bar of Rich on stderr, which goes when the run ends."""

    bar: Any = None

    def say(self, what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    def show(self, iteration: int, limit: int, seconds: float, note: str) -> None:
        if self.bar is None:
            self.bar = self._appear(limit)
        self.bar.update(self.bar.task_ids[0], completed=iteration, note=note)

    def stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _appear(self, limit: int) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        counts = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
        bar = Bar(TextColumn(self.what), BarColumn(), *counts, console=Console(stderr=True), transient=True)
        bar.add_task(self.what, total=limit, note="")
        bar.start()
        return bar


@dataclass
class Line(Face):
    """A line that somebody else shows, and changes when told what it is."""

    tell: Callable[[str], None]
    what: str = ""
    unit: str = ""

    def say(self, what: str) -> None:
        self.tell(what)

    def show(self, iteration: int, limit: int, seconds: float, note: str) -> None:
        words = f"{iteration:,} of {limit:,} {self.unit}, {seconds:.0f} s" + (f", {note}" if note else "")
        self.tell(f"{self.what}: {words}")

    def stop(self) -> None:
        pass


class Notebook(Face):
    """One output of the cell, written over and over, and empty in the end. It needs IPython alone: no widgets."""

    handle: Any = None

    def say(self, what: str) -> None:
        self._write(f"<i>{escape(what)}</i>", what)

    def show(self, iteration: int, limit: int, seconds: float, note: str) -> None:
        words = f"{iteration:,} of at most {limit:,} {self.unit}, {seconds:.0f} s" + (f", {note}" if note else "")
        self._write(f'<progress value="{iteration}" max="{limit}"></progress> {escape(words)}', f"{self.what}: {words}")

    def stop(self) -> None:
        if self.handle is not None:
            self._write("", "")

    def _write(self, html: str, text: str) -> None:
        from IPython.display import display

        data = {"text/html": html, "text/plain": text}
        if self.handle is None:
            self.handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self.handle.update(data, raw=True)


def in_notebook() -> bool:
    """Whether a kernel runs this, whose outputs a page shows."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
