"""The command ``sottovoce node``, without the parser of all commands, which takes long to load."""

from __future__ import annotations

import gc
import json as json_module
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from .terminal import Exit, one_line_each, print_json

OPTIONS = ("--json", "--quiet")
PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}  # what every log record has


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether the command line is ``node``, a file and options of its own; help and mistakes are for the parser."""
    words = [word for word in arguments if word not in OPTIONS]
    return len(words) == 2 and words[0] == arguments[0] == "node" and not words[1].startswith("-")


def main(arguments: Sequence[str]) -> int:
    """The exit status of such a command line."""
    (file,) = (word for word in arguments[1:] if word not in OPTIONS)
    try:
        with one_line_each():
            return run_node(Path(file), "--json" in arguments, "--quiet" in arguments)
    except Exit as leave:
        return leave.code


def leave(status: int) -> NoReturn:
    """End at once. Files are written and connections closed: to take the interpreter and all libraries apart piece by
    piece, as ``sys.exit`` does, is a tenth of what a party costs."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # nobody reads it, or it was never there
            stream.flush()
    os._exit(status)


def load() -> None:
    """What every party needs. Once is enough."""
    gc.disable()  # to look for garbage among modules while they load, and ever after, finds none and takes long
    from ..runtime import process  # noqa: F401

    gc.freeze()
    gc.enable()


def run_node(file: Path, json: bool, quiet: bool) -> int:
    """Run a party to its end, and print its answer."""
    load()
    from ..runtime.plan.node_file import read_node_file
    from ..runtime.process import run_party
    from .party_answer import answer_text  # now: to open files in the middle of a run is no good (``prepare``)

    config = read_node_file(file)
    log_to_stderr(json, quiet)

    def tell(result: dict[str, Any]) -> None:
        """At once: the party may have to wait for its neighbours for a while yet, also where nobody reads this."""
        with suppress(BrokenPipeError):
            if json:
                print_json(result)
            else:
                print(answer_text(result))
                for gone in result.get("left", []):
                    print(f"\n{gone['party']} left for good: the answer is {gone['answer']}.")
                if fallback := result.get("fallback"):
                    dead = ", ".join(" - ".join(link) for link in fallback["dead"])
                    print(
                        f"\nDead links: {dead}. Messages went over the whole network since stage {fallback['stage']}."
                    )
                print(f"\nAll of it is in {config.result}")
            sys.stdout.flush()

    return run_party(config, tell)


# Logging


def log_to_stderr(json: bool, quiet: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(json))
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, handlers=[handler], force=True)


class _Lines(logging.Formatter):
    """One line a record: time, level, message and what else is known, as text or as JSON."""

    def __init__(self, json: bool) -> None:
        super().__init__()
        self.json = json

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        more = {key: value for key, value in vars(record).items() if key not in PLAIN}
        if record.exc_info:
            more["exception"] = self.formatException(record.exc_info)
        if self.json:
            line = {"time": when, "level": record.levelname, "message": record.getMessage(), **more}
            return json_module.dumps(line, default=str, ensure_ascii=False)
        parts = [when, record.levelname, record.getMessage(), *(f"{key}={value}" for key, value in more.items())]
        return " ".join(parts)
