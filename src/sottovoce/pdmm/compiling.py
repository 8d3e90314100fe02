"""What compiling takes of a run: it happens once on a machine, is said when it happens, and is no part of the run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

WORDS = "compiling, once: later runs start at once"


class Compiled:
    """Seconds that kernels took to be compiled, or loaded from Numba's cache, in this thread."""

    seconds: float = 0.0


@contextmanager
def compiled(load: bool, say: Callable[[str], None]) -> Iterator[Compiled]:
    """Inside, kernels that are compiled are said, once, and those and the ones that are loaded are timed.

    With ``load`` what a run imports is imported first, before anybody looks at the clock.
    """
    taken = Compiled()
    if load:
        from scipy.sparse import csgraph  # noqa: F401

        from . import engine  # noqa: F401  (imports Numba)
    if "numba" not in sys.modules:
        yield taken
        return
    from numba.core import event

    here, depth, began, said = threading.get_ident(), 0, 0.0, False

    class Heard(event.Listener):
        def on_start(self, what: Any) -> None:
            nonlocal depth, began, said
            if threading.get_ident() != here:
                return
            if what.kind == "numba:compile":
                if not said:
                    said = True
                    say(WORDS)
                return
            if depth == 0:
                began = time.perf_counter()
            depth += 1

        def on_end(self, what: Any) -> None:
            nonlocal depth
            if threading.get_ident() != here or what.kind == "numba:compile":
                return
            depth -= 1
            if depth == 0:
                taken.seconds += time.perf_counter() - began

    heard = Heard()
    # A kernel that is loaded from the cache takes the compiler's lock, too; only one that is compiled says so.
    with event.install_listener("numba:compile", heard), event.install_listener("numba:compiler_lock", heard):
        yield taken
