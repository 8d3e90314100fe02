"""A run, recorded by each party as it sees it: when it woke, what it sent, and what it took in, in its own order.

One JSON object a line. The first line says who and which run; then ``{"stage", "wake", "sent": {neighbour: r}}`` and
``{"stage", "heard": neighbour, "counter"}``. Over open channels ``r`` is public and written out (base64 of little-endian
float64); over encrypted ones only its hash is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs.base import Array
from .agreement import Agreement

if TYPE_CHECKING:
    from .config import NodeConfig


class Recorder:
    """Appends to one file, mode 600."""

    def __init__(self, path: Path, config: NodeConfig) -> None:
        self.public = config.channels == "open"
        new = not path.exists()
        self.file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")
        self.names = {neighbour.index: neighbour.name for neighbour in config.neighbours}
        if new:
            neighbours = {neighbour.name: neighbour.index for neighbour in config.neighbours}
            self.write({"party": config.name, "index": config.index, "neighbours": neighbours, "run": config.parameters()})

    def write(self, entry: dict[str, Any]) -> None:
        self.file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self.file.flush()

    def woke(self, stage: int, agreement: Agreement) -> None:
        """After a wake."""
        sent = {self.names[j]: written(r, self.public) for j, r in agreement.newest.items()}
        self.write({"stage": stage, "wake": agreement.node.sent, "sent": sent})

    def heard(self, stage: int, neighbour: str, counter: int) -> None:
        """When a message was taken in."""
        self.write({"stage": stage, "heard": neighbour, "counter": counter})


def written(r: Array, public: bool) -> str:
    """A message as it stands in a trace."""
    data = np.ascontiguousarray(r, dtype="<f8").tobytes()
    return base64.b64encode(data).decode() if public else hashlib.sha256(data).hexdigest()
