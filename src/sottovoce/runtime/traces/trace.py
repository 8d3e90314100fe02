"""A run, recorded by each party as it sees it: when it woke, what it sent, and what it took in, in its own order.

One JSON object a line. The first says who and which run; the others have their ``stage`` and one of

    {"begin": counter, "variance": v}                   the stage begins, with pads of this variance (or null, without)
    {"begin": counter, "variance": v, "after": lines}   it goes on after a restart, in the state after so many lines
    {"wake": counter, "sent": {neighbour: r}}           the node woke, and this is what it says to its neighbours
    {"heard": neighbour, "counter": counter}            it took in what that neighbour said

Over open channels ``r`` is public and written out (base64 of little-endian float64); over encrypted ones only its hash
is. A line is written the moment it happens: before anybody hears of it, and before the state that it leads to is saved.
So whatever a crash leaves of a trace, it holds all that was sent and all that a restored state comes from.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...costs import Cost
from ...costs.base import Array
from ...errors import InvalidFile, JournalError
from ...pdmm.masks import GaussianMask
from ...pdmm.node import Link, Message, Node

if TYPE_CHECKING:
    from ..plan.node_file import NodeConfig

FORMAT = "sottovoce trace 1"


# Writing


class Recorder:
    """Appends to one file, mode 600; also after a crash, which may have left half a line."""

    def __init__(self, path: Path, config: NodeConfig) -> None:
        self.path, self.public = path, config.channels == "open"
        self.names = {neighbour.index: neighbour.name for neighbour in config.neighbours}
        header = {
            "format": FORMAT,
            "party": config.name,
            "index": config.index,
            "neighbours": {name: index for index, name in self.names.items()},
            "run": config.parameters(),
        }
        try:
            self.file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
            whole = _whole_lines(self.file.read())
            self.file.seek(sum(map(len, whole)))
            self.file.truncate()
        except OSError as error:
            raise JournalError(f"{path}: the trace cannot be used: {error.strerror or error}.") from None
        self.lines = len(whole)
        if not whole:
            self.write(header)
        elif whole[0] != _line(header):
            raise JournalError(f"{path}: this is the trace of another run. Move it away, or give record another name.")

    def write(self, entry: dict[str, Any]) -> None:
        try:
            self.file.write(_line(entry))
            self.file.flush()
        except OSError as error:
            raise JournalError(f"{self.path}: the trace cannot be written: {error.strerror or error}.") from None
        self.lines += 1

    def began(self, stage: int, counter: int, mask: GaussianMask | None, state: Mapping[str, Array] | None) -> None:
        """A stage begins, or goes on from a saved state; messages have larger counters than this."""
        entry = {"stage": stage, "begin": counter, "variance": None if mask is None else mask.variance}
        if state is not None:
            entry["after"] = int(state["trace"][0]) if "trace" in state else None
        self.write(entry)

    def left(self, stage: int, party: str) -> None:
        """A party has left for good, and from here on others stand in for it."""
        self.write({"stage": stage, "left": party})

    def rerouted(self, stage: int) -> None:
        """A link stays dead, and from here on messages go over the whole network."""
        self.write({"stage": stage, "rerouted": True})

    def mark(self) -> dict[str, Array]:
        """To be saved with a state: where in the trace it belongs."""
        return {"trace": np.array([float(self.lines)])}

    def woke(self, stage: int, counter: int, messages: list[Message]) -> None:
        sent = {self.names[message.receiver]: written(message.r, self.public) for message in messages}
        self.write({"stage": stage, "wake": counter, "sent": sent})

    def heard(self, stage: int, sender: int, counter: int) -> None:
        self.write({"stage": stage, "heard": self.names[sender], "counter": counter})


class RecordedNode(Node):
    """A node that has everything written down which changes it."""

    def __init__(
        self,
        recorder: Recorder,
        stage: int,
        i: int,
        cost: Cost,
        links: Mapping[int, Link],
        *,
        c: float | Mapping[int, float],
        theta: float,
        grid: float = 0.0,
        folded: Iterable[Link] = (),
    ) -> None:
        super().__init__(i, cost, links, c=c, theta=theta, grid=grid, folded=folded)
        self.recorder, self.stage = recorder, stage

    def wake(self) -> list[Message]:
        messages = super().wake()
        self.recorder.woke(self.stage, self.sent, messages)
        return messages

    def receive(self, message: Message) -> bool:
        fresh = super().receive(message)
        if fresh:
            self.recorder.heard(self.stage, message.sender, message.counter)
        return fresh


def written(r: Array, public: bool) -> str:
    """A message as it stands in a trace."""
    data = np.ascontiguousarray(r, dtype="<f8").tobytes()
    return base64.b64encode(data).decode() if public else hashlib.sha256(data).hexdigest()


def numbers(text: str) -> Array:
    """A message of an open run, from how it stands in a trace."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
    except ValueError:
        raise InvalidFile("a trace has something else in the place of a message.") from None


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _whole_lines(data: bytes) -> list[bytes]:
    """Without what a crash cut off: an event of which nobody can have heard."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


# Reading


@dataclass(frozen=True)
class Began:
    stage: int
    counter: int
    variance: float | None
    after: int | None  # events; None: a fresh start


@dataclass(frozen=True, eq=False)
class Woke:
    stage: int
    counter: int
    sent: Mapping[int, str]  # by the neighbour's index


@dataclass(frozen=True)
class Heard:
    stage: int
    sender: int
    counter: int


Event = Began | Woke | Heard


@dataclass(frozen=True, eq=False)
class Trace:
    """What one party recorded."""

    path: Path
    party: str
    index: int
    neighbours: Mapping[str, int]
    run: Mapping[str, Any]  # the public parameters
    events: tuple[Event, ...]

    @property
    def public(self) -> bool:
        """Whether messages are written out."""
        return bool(self.run["channels"] == "open")


def read_trace(path: str | Path) -> Trace:
    """A trace as a party wrote it."""
    path = Path(path)
    try:
        lines = _whole_lines(path.read_bytes())
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        header = json.loads(lines[0])
        if header["format"] != FORMAT:
            raise ValueError
        who = str(header["party"]), int(header["index"])
        neighbours = {str(name): int(index) for name, index in header["neighbours"].items()}
        run = dict(header["run"])
        known = run["channels"] in ("open", "encrypted") and len(run["parties"]) > 1
        if not (known and np.min(run["c"]) > 0 and run["theta"] > 0):
            raise ValueError
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise InvalidFile(f"{path}: this is no trace of this version. A party writes one with record = ...") from None
    events = tuple(_event(path, k, line, neighbours) for k, line in enumerate(lines[1:]))
    return Trace(path, *who, neighbours, run, events)


def _event(path: Path, k: int, line: bytes, neighbours: Mapping[str, int]) -> Event:
    where, gone, rerouted = f"{path}, line {k + 2}", None, False
    try:
        entry = json.loads(line)
        stage, gone, rerouted = int(entry["stage"]), entry.get("left"), "rerouted" in entry
        if "wake" in entry:
            return Woke(stage, int(entry["wake"]), {neighbours[name]: str(r) for name, r in entry["sent"].items()})
        if "heard" in entry:
            return Heard(stage, neighbours[entry["heard"]], int(entry["counter"]))
        counter, variance = int(entry["begin"]), entry["variance"]
        after = entry.get("after", 1)  # lines, the first of which is no event
        if after is not None:
            after = int(after) - 1
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        if gone is not None:
            raise InvalidFile(
                f"{where}: {gone!r:.80} left this run for good. What the others made of it then is not replayed."
            ) from None
        if rerouted:
            raise InvalidFile(
                f"{where}: a link stayed dead, and the run went on over the whole network. That is not replayed."
            ) from None
        raise InvalidFile(f"{where}: this is no line of a trace.") from None
    if after is None:
        raise InvalidFile(f"{where}: the recording began when the stage was under way; what it came from is not known.")
    if not 0 <= after <= k:
        raise InvalidFile(f"{where}: the party went on from line {after + 1}, but lines before this one are missing.")
    return Began(stage, counter, None if variance is None else float(variance), after if "after" in entry else None)
