"""A progress bar that appears after two seconds, on a terminal, and nowhere else."""

from __future__ import annotations

import math
import sys
import time
from typing import Any, Self

APPEAR = 2.0  # seconds
CHUNK = 0.25  # seconds between two looks at the clock, about


class Progress:
    """Shows iterations and residual; also says how many iterations to play before the next look (``stride``)."""

    stride: int = 1000

    def __init__(self, limit: int, tol: float, wanted: bool | None) -> None:
        self.limit, self.tol = limit, tol
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.started = self.last = time.perf_counter()
        self.iteration = 0
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def update(self, iteration: int, residual: float) -> None:
        """Called after every chunk: chunks of a quarter of a second, so that Ctrl-C is heard between them."""
        now = time.perf_counter()
        speed = (iteration - self.iteration) / max(now - self.last, 1e-6)
        self.stride = max(1, min(2 * self.stride, int(CHUNK * speed)))
        self.last, self.iteration = now, iteration
        if self.wanted and self.bar is None and now - self.started > APPEAR:
            self.bar = self._appear()
        if self.bar is not None:
            note = f"residual {residual:.1e}" if math.isfinite(residual) else ""
            self.bar.update(self.bar.task_ids[0], completed=iteration, note=note)

    def _appear(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        counts = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
        bar = Bar(TextColumn("solving"), BarColumn(), *counts, console=Console(stderr=True), transient=True)
        bar.add_task("solving", total=self.limit, note="")
        bar.start()
        return bar
