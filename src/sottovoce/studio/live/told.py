"""What parties say of themselves, read with care: a status may be missing, old or strange, a log may name folders."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...runtime.plan.node_file import NodeConfig

LONGEST = 300  # characters of a sentence that is shown
MOST = 20  # sentences of one party
LARGEST = 2**62  # of a count
TAIL = 8192  # bytes of a log that are read
RESULT = 2**24  # bytes of a result file that is read
PATH = re.compile(r"(?<![\w.:/])(?:/[^\s/:,;'\"()]+)*/([^\s/:,;'\"()]+)")


@dataclass(frozen=True)
class Told:
    """A status, as far as it can be believed; ``links`` has messages sent to and received from each neighbour."""

    stage: int = -1
    done: bool = False
    residual: float | None = None
    tol: float | None = None
    wakes: int = 0
    epoch: int = 0
    sent: int = 0
    received: int = 0
    links: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    neighbours: Mapping[str, str] = field(default_factory=dict)
    waits_for: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


def read_told(answer: Any, config: NodeConfig, names: Names) -> Told | None:
    """The status of this party in this run; None where the answer is anything else."""
    if not isinstance(answer, dict) or (answer.get("party"), answer.get("run")) != (config.name, config.run_name):
        return None
    known = {neighbour.name for neighbour in config.neighbours}
    links = {
        name: (_count(of.get("sent")), _count(of.get("received")))
        for name, of in _table(answer.get("links")).items()
        if name in known and isinstance(of, dict)
    }
    neighbours = {
        name: names.without_paths(state) for name, state in _table(answer.get("neighbours")).items() if name in known
    }
    waits_for = answer.get("not_agreed")
    return Told(
        stage=_count(answer.get("stage"), -1),
        done=answer.get("done") is True,
        residual=_number(answer.get("residual")),
        tol=_number(answer.get("tol")),
        wakes=_count(answer.get("wakes")),
        epoch=_count(answer.get("epoch")),
        sent=_count(answer.get("messages_sent")),
        received=_count(answer.get("messages_received")),
        links=links,
        neighbours=neighbours,
        waits_for=tuple(name for name in waits_for if name in config.names) if isinstance(waits_for, list) else (),
        sentences=tuple(names.without_paths(said) for said in _sentences(answer))[:MOST],
    )


def _sentences(answer: dict[str, Any]) -> Iterable[str]:
    """Whatever else an operator should hear."""
    for name, said in _table(answer.get("disagreements")).items():
        yield f"dispute with {name}: {said}"
    if isinstance(missed := answer.get("missed"), list) and missed:
        yield f"misses {', '.join(map(str, missed[:MOST]))}: start it again, also if it has finished"
    leaving = _table(answer.get("leaving"))
    if "party" in leaving and "sentence" in leaving:
        yield f"{leaving['party']} is said to have left for good. {leaving['sentence']}"
    lost = answer.get("lost_links")
    for pair in lost[:MOST] if isinstance(lost, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            yield f"{pair[0]} does not reach {pair[1]}"


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any, least: int = 0) -> int:
    """A whole number, or the least."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and least <= value <= LARGEST else least


def _number(value: Any) -> float | None:
    """Finite and not negative."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0 or value > 1e300:
        return None
    return float(value) if math.isfinite(value) else None


class Names:
    """Files of these parties by their names alone: where they lie is nobody's business on a page."""

    def __init__(self, folder: Path, configs: Iterable[NodeConfig]) -> None:
        kept = [(config.path, config.data, config.journal, config.result) for config in configs]
        files = {path for of in kept for path in of if path is not None}
        places = {**{path: path.name for path in files}, folder: "", Path.cwd(): "", Path.home(): ""}
        forms = {str(form): short for path, short in places.items() for form in (path.absolute(), path.resolve())}
        long_first = sorted((long for long in forms if len(long) > 1), key=len, reverse=True)
        self.short = {long: forms[long] for long in long_first}

    def without_paths(self, text: Any) -> str:
        """One line of bounded length, in which no folder of this machine is named."""
        line = " ".join(str(text)[: 10 * LONGEST].split())
        line = "".join(character for character in line if character.isprintable())
        for long, short in self.short.items():
            line = line.replace(long, short)
        line = PATH.sub(r"\1", line)
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def last_sentence(path: Path) -> str:
    """The last line of a log, which says why a party has ended."""
    content = tail(path, TAIL)
    lines = "" if content is None else content.decode("utf-8", errors="replace")
    return next((line.strip().removeprefix("error: ") for line in lines.split("\n")[::-1] if line.strip()), "")


def tail(path: Path, most: int) -> bytes | None:
    """The end of a file, so many bytes; None where there is none, or something that is no file and would never end."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            file.seek(max(0, file.seek(0, 2) - most))
            return file.read(most)
    except OSError:
        return None


def read_result(path: Path) -> dict[str, Any] | None:
    """A result file; None where there is none yet, or one that is none."""
    content = tail(path, RESULT + 1)
    if content is None or len(content) > RESULT:
        return None
    try:
        result = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict) or not isinstance(result.get("answer"), dict):
        return None
    covers = result.get("covers")
    return result if isinstance(covers, list) and covers and all(isinstance(name, str) for name in covers) else None
