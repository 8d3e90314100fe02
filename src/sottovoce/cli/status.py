"""``sottovoce status``: ask a running party how it is."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Any

from .options import Json, NodeFile
from .terminal import print_facts, print_json, residual_words

SHOWN = 10  # names in one line


def status(file: NodeFile, json: Json = False) -> int | None:
    """Ask a party that runs on this machine how it is.

    \b
    Examples:
      sottovoce status node.toml
      sottovoce status node.toml --json

    Exit status: 0 answered, 2 it does not run.
    """
    from ..errors import InvalidInput
    from ..runtime.cluster import ask
    from ..runtime.plan.node_file import read_node_file

    config = read_node_file(file)
    try:
        told = ask(config.socket)
    except InvalidInput as error:
        if not config.result.is_file():
            raise
        raise InvalidInput(f"{str(error).rstrip('.')}. An answer is there: {config.result}") from None
    if json:
        print_json(told)
        return 0
    print_facts(status_facts(told))
    if told.get("done") and (result := _written(config.result)) is not None:
        from .party_answer import answer_text

        print(f"\n{answer_text(result)}\n\nAll of it is in {config.result}")
    return 0


def _written(path: Path) -> dict[str, Any] | None:
    """The result file of a party; None where it is none, or of another version."""
    try:
        result = json_module.loads(path.read_text(encoding="utf-8"))
        return result if isinstance(result["answer"], dict) and isinstance(result["covers"], list) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def noise_words(noise: dict[str, Any]) -> str:
    """What the parties have agreed to add."""
    off = ", ".join(dict.fromkeys(f"{value:.3g}" for value in noise["standard_deviation"]))
    return f"of variance {noise['variance']:g} from every party: the answer is off by {off} (one standard deviation)"


def status_facts(told: dict[str, Any]) -> dict[str, Any]:
    """What a party told, in words for its operator."""
    residual, stage = told.get("residual"), told.get("stage", -1)
    where = "waiting for its neighbours" if stage < 0 else f"agreement {stage + 1}"
    rows = {
        "party": told.get("party"),
        "run": told.get("run"),
        **{"asked for" if name == "kind" else name: value for name, value in told.get("question", {}).items()},
        "stage": "finished" if told.get("done") else where,
        **({} if told.get("waiting") is None else {"now": f"it {told['waiting']}"}),
        "residual": "-" if residual is None else residual_words(residual, told.get("tol")),
        **({} if (noise := told.get("noise")) is None else {"noise": noise_words(noise)}),
        "wakes": f"{told.get('wakes', 0):,}",
        "epochs": f"{told.get('epoch', 0):,}",
        "messages": f"{told.get('messages_sent', 0):,} sent, {told.get('messages_received', 0):,} received, "
        f"{told.get('messages_old', 0):,} of them old news",
        "refused": f"{told.get('frames_refused', 0):,} frames that broke the protocol",
        "running": f"{told.get('seconds', 0):,.0f} s",
    }
    rows |= {f"neighbour {name}": state for name, state in told.get("neighbours", {}).items()}
    if waited_for := told.get("not_agreed", []):
        more = f" and {len(waited_for) - SHOWN:,} more" if len(waited_for) > SHOWN else ""
        rows["not agreed"] = f"{', '.join(waited_for[:SHOWN])}{more}: epoch {told.get('epoch')} waits for them"
    if leaving := told.get("leaving"):
        rows[f"{leaving['party']} has left"] = f"as {', '.join(leaving['agreed'])} said. {leaving['sentence']}"
    if lost := told.get("lost_links", []):
        rows["lost links"] = ", ".join(f"{by} does not reach {other}" for by, other in lost[:SHOWN])
    if missed := told.get("missed", []):
        rows["missed"] = f"{', '.join(missed)}: start again, also if it has finished"
    return rows | {f"dispute {name}": why for name, why in told.get("disagreements", {}).items()}
