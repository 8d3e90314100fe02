"""What a party keeps on its disk, and for how long. Whoever finds a journal finds nothing that is not needed any more:

    until two neighbours have met       their private keys
    until a stage is over               its state, and the keys of this stage and the next ones
    until the last stage is over        the keys of stages, and the seed of the noise
    until all neighbours know the end   the key for MACs, to tell them
    from then on                        answers, the result, and a tombstone

From what is left of a stage that is over, nobody comes back to the party's sums: the pads are gone, and so is the state
that they hid. A party that is recorded keeps all of it, for the replay.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..costs.base import Array
from ..errors import JournalError
from ..files.atomic import write_whole
from .journal import Journal
from .keys.edge_secrets import EDGE, EdgeSecrets
from .plan.node_file import NodeConfig
from .protocol.lost_links import LOST

log = logging.getLogger(__name__)

RESULT, TOLD, OVER = "result", "told", "over"


def own(config: NodeConfig, journal: Journal) -> None:
    """A journal is for one run on one set of data: other data with the same pads would show their difference."""
    parameters, data = config.run_text.encode(), journal.keyed(config.data_bytes())
    for name, value, what in (("parameters", parameters, "the [run] table"), ("data", data, "the data")):
        saved = journal.get(name)
        if saved is not None and saved != value:
            raise JournalError(
                f"{journal.path}: {what} changed since this run began. Pads must not be used twice: give the run "
                "another name, agree on it with the others, and use a new journal; or restore what it was."
            )
    journal.put({"parameters": parameters, "data": data})


def stage_over(
    journal: Journal,
    edges: Iterable[EdgeSecrets],
    stage: int,
    answer: Mapping[str, Array],
    others: Iterable[str] = (),
    *,
    keep: bool,
) -> None:
    """Write the answer of a stage, and drop in the same transaction what it was come by, and what ``others`` left."""
    rows: dict[str, bytes] = {}
    gone: list[str] = []
    if not keep:
        gone = [*journal.under(f"stage/{stage}#", f"stage/{stage}/"), f"spent/{stage}", *others]
        for edge in edges:
            rows |= edge.next_stage(stage)
    journal.put_arrays(f"answer/{stage}", answer, rows, gone)
    journal.sweep()


def stages_over(
    journal: Journal, edges: Iterable[EdgeSecrets], result: bytes, others: Iterable[str], *, keep: bool
) -> None:
    """The result is there: no pads are needed any more, and nothing that ``others`` left."""
    journal.put({RESULT: result}, [*others, *([] if keep else [edge.last_stage() for edge in edges])])
    journal.sweep()


def tell(journal: Journal, neighbours: Collection[str]) -> None:
    """These know the end; after a restart nobody waits for them."""
    journal.put({TOLD: "\n".join(sorted(neighbours)).encode()})


def told(journal: Journal) -> list[str]:
    """Who is known to know the end."""
    return (journal.get(TOLD) or b"").decode().split()


def bury(journal: Journal, *, keep: bool) -> None:
    """All neighbours know the end: no key is needed any more, and the party need not run again."""
    if keep:
        log.info("record is set: the journal keeps its keys and states for the replay. Delete it as soon as you can")
        return
    journal.put({OVER: b""}, journal.under(EDGE, TOLD, "heard/", LOST))
    journal.sweep()
    log.info("all neighbours know the end; the keys of this run are deleted")


def finished(config: NodeConfig, journal: Journal) -> dict[str, Any] | None:
    """The result, if there is nothing left to do, also not for others. The result file is as the run has left it."""
    result = journal.get(RESULT)
    if journal.get(OVER) is None or result is None:
        return None
    own(config, journal)
    try:
        found = config.result.read_bytes() if config.result.exists() else None
    except OSError as error:
        raise JournalError(f"{config.result} cannot be read: {error.strerror or error}.") from None
    if found is None:
        write_whole(config.result, lambda path: Path(path).write_bytes(result))
    elif found != result:
        raise JournalError(
            f"{config.result} is not what this run has come to. Move it away, and start the party again: the journal "
            "has the result."
        )
    log.info("this run is over, and all neighbours know; the result is in %s", config.result)
    return dict(json.loads(result))
