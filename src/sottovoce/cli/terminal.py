"""What the commands print: tables for people, one JSON object for programs, one line for a warning or an error."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import ExitStatus, PolicyError, SottovoceError, SottovoceWarning
from ..files.written import finite

if TYPE_CHECKING:
    from rich.table import Table

    from ..pdmm.progress import Line

SHOWN = 25  # entries of an answer, or of an audit, in a table
SPINNER_AFTER = 2.0  # seconds
CLOSED_PIPE = 128 + 13  # the status of a program that SIGPIPE ends
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # what a disk says that takes no more


class Exit(Exception):
    """Leave the command with this status."""

    def __init__(self, code: int) -> None:
        self.code = code


class Ended(Exit, KeyboardInterrupt):
    """Leave since a signal says so: like Ctrl-C, nobody on the way may take it for an error of their own."""


@contextmanager
def one_line_each() -> Iterator[None]:
    """Inside, a warning is one line on stderr, and an error of the library one line and its exit status: another one
    where the party's own policy refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", SottovoceWarning)

        def show(message: Warning | str, *_: object, **__: object) -> None:
            print(f"warning: {message}", file=sys.stderr)

        warnings.showwarning = show
        try:
            yield
        except SottovoceError as error:
            print(f"error: {error}", file=sys.stderr)
            raise Exit(ExitStatus.REFUSED if isinstance(error, PolicyError) else ExitStatus.TO_MEND) from None
        except Exit:
            raise
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise Exit(ExitStatus.INTERRUPTED) from None


def unwritten(leave: BaseException) -> int | None:
    """The status where the output did not get out: nobody reads it any more, as ``head`` does, which needs no words; or
    it cannot be written, to a full disk say. None where all of it did."""
    why = next((each for each in (leave, leave.__context__) if isinstance(each, OSError)), None)
    try:
        sys.stdout.flush()
    except OSError as error:
        why = error
    if isinstance(why, BrokenPipeError):  # noticed by Rich, by the parser, or here
        status = CLOSED_PIPE
    elif why is not None and why.errno in FULL and why.filename is None:  # files have names
        print(f"error: the output cannot be written: {why.strerror}.", file=sys.stderr)
        status = ExitStatus.TO_MEND
    else:
        return None
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
    return status


def print_json(value: dict[str, Any]) -> None:
    """One object on stdout; what is not a finite number becomes null."""
    print(json.dumps(finite(value), allow_nan=False, ensure_ascii=False))


def residual_words(residual: float, tol: float | None) -> str:
    """A residual has one unit everywhere, that of the tolerance; None where a party of an older version tells none."""
    return f"{residual:.2e}" + ("" if tol is None else f" (tolerance {tol:g})")


def facts() -> Table:
    """A table of two columns, without a frame."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def print_facts(rows: dict[str, Any]) -> None:
    """Such a table, on stdout."""
    from rich.console import Console
    from rich.text import Text

    table = facts()
    for name, value in rows.items():
        table.add_row(Text(name), Text(str(value)))
    Console(highlight=False, soft_wrap=True).print(table)


@contextmanager
def stages(count: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar over named stages, on a terminal only; yields what to call when one begins."""
    if quiet or not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=count)

        def begin(stage: str) -> None:
            bar.update(task, description=stage, advance=1)

        yield begin


@contextmanager
def spinner(what: str, quiet: bool) -> Iterator[Line | bool]:
    """Says what is under way, after two seconds, on a terminal only; yields what to give as ``progress``. What is
    told on the way (``progress.tell``) is shown as well."""
    if quiet or not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console

    from ..pdmm.progress import Line, listening

    status = Console(stderr=True).status(what)
    timer = threading.Timer(SPINNER_AFTER, status.start)
    timer.daemon = True
    timer.start()
    try:
        with listening(lambda how_far: status.update(f"{what} {how_far}")):
            yield Line(status.update)
    finally:
        timer.cancel()
        timer.join()
        status.stop()
