"""A process of its own that plays runs of parties, and tells what it imported, and when: for ``test_prepare``."""

from __future__ import annotations

import asyncio
import importlib.abc
import json
import logging
import sys
from pathlib import Path
from typing import Any

from sottovoce.cli import run_node

HEAVY = ("numba", "llvmlite", "scipy", "matplotlib", "networkx", "cvxpy", "rich", "typer", "pandas", "narwhals")
HEAVY += ("pyarrow", "duckdb", "prometheus_client")


class Watch(importlib.abc.MetaPathFinder, logging.Handler):
    """Remembers every module that is looked for while all parties of a run have started and not all have ended."""

    def __init__(self, parties: int) -> None:
        logging.Handler.__init__(self)
        self.missing, self.late = parties, set()

    def emit(self, record: logging.LogRecord) -> None:
        self.missing -= record.msg == "party started"

    def find_spec(self, name: str, *_: Any) -> None:
        if self.missing <= 0:
            self.late.add(name)


async def play(folder: Path) -> list[int]:
    from sottovoce.runtime.plan.node_file import read_node_file
    from sottovoce.runtime.process import serve

    configs = [read_node_file(path) for path in sorted(folder.glob("*/node.toml"))]
    return await asyncio.gather(*(serve(config) for config in configs))


def watched(folder: Path) -> dict[str, Any]:
    watch = Watch(len(list(folder.glob("*/node.toml"))))
    sys.meta_path.insert(0, watch)
    log = logging.getLogger("sottovoce.runtime.process")
    log.setLevel(logging.INFO)
    log.addHandler(watch)
    try:
        ended = asyncio.run(play(folder))
    finally:
        sys.meta_path.remove(watch)
        log.removeHandler(watch)
    heavy = sorted({name.partition(".")[0] for name in sys.modules} & set(HEAVY))
    own = sorted(name for name in sys.modules if name.startswith("sottovoce."))
    return {"ended": ended, "started": watch.missing == 0, "late": sorted(watch.late), "heavy": heavy, "own": own}


if __name__ == "__main__":
    assert run_node.main(["node", "no such file"]) == 2  # the way to a party
    print(json.dumps([watched(Path(folder)) for folder in sys.argv[1:]]))
