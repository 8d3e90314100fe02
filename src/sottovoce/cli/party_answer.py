"""The answer in a party's result file as a table, for ``node`` and ``status``: the one that ``solve`` prints."""

from __future__ import annotations

from typing import Any

from ..statistics.analyses import restored


def answer_text(result: dict[str, Any]) -> str:
    """A regression's summary, another statistic by its columns, or a number for each column of a cost."""
    answer, asked = result["answer"], result.get("statistic")
    if asked is None:
        width = max(map(len, answer), default=0)
        told = "\n".join(f"{name:<{width}}  {_number(value)}" for name, value in answer.items())
        return told + _noise(list(answer), result.get("noise"))
    told = restored(asked["type"], answer, len(result["covers"])).summary()
    told = f"{asked['formula']}\n{told}" if "formula" in asked else told
    return told


def _noise(columns: list[str], noise: dict[str, Any] | None) -> str:
    """That the answer is not exact, and by how much."""
    if noise is None:
        return ""
    off = {name: f"{value:.3g}" for name, value in zip(columns, noise["standard_deviation"], strict=True)}
    alike = len(set(off.values())) == 1
    each = off[columns[0]] if alike else ", ".join(f"{value} in {name}" for name, value in off.items())
    return (
        f"\n\nNoisy: every party has added noise of variance {noise['variance']:g} in units of scale, and the answer "
        f"is off by {each} (one standard deviation)."
    )


def _number(value: float | None) -> str:
    return "not a finite number" if value is None else f"{value:.10g}"
