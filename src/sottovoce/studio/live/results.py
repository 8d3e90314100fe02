"""Result files, read as they appear; the table of them is made beside the watch, since data may take long to read."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from ...runtime.plan.node_file import NodeConfig
from .answers import Answer, Pooled, answer_of, pooled_answer
from .told import read_result

log = logging.getLogger(__name__)


class Results:
    """What the parties of these node files found; ``answer`` is the newest table."""

    def __init__(self, configs: Mapping[str, NodeConfig], names: tuple[str, ...]) -> None:
        self.configs, self.names = configs, names
        self.found: dict[str, dict[str, Any]] = {}
        self.answer: Answer | None = None
        self._pooled: dict[tuple[str, ...], Pooled] = {}
        self._shown, self._at_work = 0, False  # how many the table has, and whether one is being made

    def read(self, pool: Executor) -> None:
        """Look for those that are new."""
        missing = {name: config for name, config in self.configs.items() if name not in self.found}
        read = {name: read_result(config.result) for name, config in missing.items()}
        self.found |= {name: result for name, result in read.items() if result is not None}
        if len(self.found) > self._shown and not self._at_work:
            self._shown, self._at_work = len(self.found), True
            pool.submit(self._show, {name: self.found[name] for name in self.names if name in self.found})

    def _show(self, results: dict[str, dict[str, Any]]) -> None:
        try:
            covers = tuple(next(iter(results.values()))["covers"])
            if covers not in self._pooled:
                self._pooled[covers] = pooled_answer(self.configs, covers)
            self.answer = answer_of(results, len(self.names), self._pooled[covers])
        except Exception:  # a result file that is none must not end the watch
            log.exception("the answer cannot be shown")
        finally:
            self._at_work = False
