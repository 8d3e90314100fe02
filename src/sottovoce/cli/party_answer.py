"""The answer in a party's result file as a table, for ``node`` and ``status``: the one that ``solve`` prints."""

from __future__ import annotations

from typing import Any

from ..statistics.tables import restored, text


def answer_text(result: dict[str, Any]) -> str:
    """A regression's summary, another statistic by its columns, or a number for each column of a cost."""
    answer, asked = result["answer"], result.get("statistic")
    if asked is None:
        width = max(map(len, answer), default=0)
        return "\n".join(f"{name:<{width}}  {_number(value)}" for name, value in answer.items())
    columns = asked["columns"] if "columns" in asked else [*asked["features"], asked["target"]]
    return text(restored(asked["type"], answer, len(result["covers"])), columns)


def _number(value: float | None) -> str:
    return "not a finite number" if value is None else f"{value:.10g}"
