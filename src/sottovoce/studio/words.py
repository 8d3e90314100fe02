"""What the auditor found, for people who do not count in nats: sentences that name who learns what about whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape as escape

import numpy as np

from ..privacy import Report
from ..privacy.answers.verdict import disclosed
from .scene import Scene

FEW = 6  # names that a sentence lists

NATS = "Nats: a unit of information. 0.01 nats about a number narrow an attacker's 95 % interval for it by 1 %."
EXCESS = "What the messages add to what the exact mean itself tells. Who learns it: whoever is corrupt, with all taps."
FLOOR = "What the exact mean tells at any mask, since everybody is told it. Who learns it: whoever is corrupt."
NARROWER = "How much narrower the interval becomes in which an attacker, with 95 % certainty, finds the number."
ACCURACY = (
    "The rounding error of the answer that the mask costs, about 2e-16 times its standard deviation, in units of the "
    "numbers. Everybody has it."
)
MASK = (
    "The variance of the random numbers that every pair of neighbours hides its messages behind. They cancel out of "
    "the answer. Each pair alone knows its own."
)


def listed(names: Sequence[str]) -> str:
    """``Ada, Bo and Cy``, or the first few and how many more."""
    if len(names) > FEW:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    """A share for people: two digits, and no more zeros than can be read."""
    value = 100 * share
    if value == 0:
        return "0 %"
    if value < 1e-4:
        return "less than 0.0001 %"
    if value > 99.99 and share < 1:
        return "more than 99.99 %"
    return f"{float(f'{value:.2g}'):.10g} %" if value < 10 else f"{value:.3g} %"


def nats(value: float) -> str:
    """A leakage."""
    return "-" if math.isnan(value) else "all" if math.isinf(value) else "0" if value == 0 else f"{value:.3g}"


def narrows(value: float) -> str:
    """How much narrower so many nats make an interval of one number: ``1 - exp(-I)``."""
    return "-" if math.isnan(value) else percent(float(-np.expm1(-value)))


def who(report: Report, scene: Scene) -> str:
    """Against whom it is told."""
    if report.coalitions is not None:
        return f"whichever {'party is' if report.max_corrupt == 1 else f'{report.max_corrupt} parties are'} corrupt"
    if not scene.corrupt:
        return "an eavesdropper on every channel" if report.channels == "open" else "an eavesdropper"
    taps = ", who also tap every channel" if report.channels == "open" else ""
    return f"{listed(scene.corrupt_names)}{taps}"


def paragraph(report: Report, scene: Scene) -> list[str]:
    """What it means, sentence by sentence; it changes with every click."""
    if report.guarantee == "none":
        return [*report.flags.values(), *report.disclosures()]
    told = [_known(report, scene), *_lost(report, scene), *_groups(report, scene), *_most(report, scene)]
    if "no mask" in report.flags:
        told.append("There is no mask: messages travel as they are, and hide nothing.")
    elif "prior" in report.flags:
        told.append(report.flags["prior"])
    return [sentence for sentence in told if sentence]


def _known(report: Report, scene: Scene) -> str:
    if report.coalitions is not None:
        return f"Suppose {who(report, scene)}, and every channel is tapped. Everybody is told the exact mean."
    if scene.corrupt:
        are = "is corrupt" if len(scene.corrupt) == 1 else "are corrupt, and pool what they see"
        taps = (
            " Besides, every channel is tapped."
            if report.channels == "open"
            else " Channels between others are closed."
        )
        return f"{listed(scene.corrupt_names)} {are}.{taps} Everybody is told the exact mean."
    if report.channels == "encrypted":
        return "Nobody is corrupt, and channels are encrypted: whoever listens learns nothing."
    return "Nobody is corrupt, but somebody taps every channel. The mean stays hidden from them unless it is published."


def _lost(report: Report, scene: Scene) -> list[str]:
    exact = [scene.names[i] for i in np.flatnonzero(np.isinf(report.leakage))]
    if not exact:
        effect = [scene.names[i] for i in np.flatnonzero(disclosed(report))]
        if effect:
            return [f"Hardly anything is left of the interval for {listed(effect)}: disclosed in effect."]
        return ["Nobody's number is disclosed."] if scene.corrupt or report.coalitions is not None else []
    whose = "number of " + listed(exact) if len(exact) == 1 else "numbers of " + listed(exact)
    bare = "no mask" in report.flags
    why = (
        "" if bare else " at any mask: every neighbour is corrupt, so the sum over the honest ones is the number itself"
    )
    if report.coalitions is not None:
        return [f"The {whose} can be learned exactly{why}."]
    return [f"The {whose} {'is' if len(exact) == 1 else 'are'} disclosed exactly{why}."]


def _groups(report: Report, scene: Scene) -> list[str]:
    exposed = set(report.exposed)
    groups = [group for group in report.groups if not set(group) <= exposed]
    if not groups or "no mask" in report.flags:
        return []
    if len(groups) == 1 and not exposed:
        return [f"From the mean they learn the exact sum over the {len(groups[0])} others, and no number of its own."]
    each = "; ".join(listed([str(name) for name in group]) for group in groups[:3])
    more = "" if len(groups) <= 3 else f"; and {len(groups) - 3} more groups"
    return [f"They learn the exact sum over each group that is left in one piece: {each}{more}."]


def _most(report: Report, scene: Scene) -> list[str]:
    left = np.where(np.isfinite(report.leakage), report.leakage, -1.0)
    if left.max(initial=-1.0) < 0:
        return []
    i = int(np.argmax(left))
    total, floor, excess = (float(values[i]) for values in (report.leakage, report.floor, report.excess))
    most = "" if report.guarantee == "exact" else "at most "
    against = _against(report, scene, i)
    first = (
        f"Against {against}, the interval for {scene.names[i]} narrows most: by {most}{narrows(total)} "
        f"({nats(total)} nats)."
    )
    if not report.holds_answer or math.isnan(floor) or (not scene.corrupt and report.coalitions is None):
        return [first]
    by = f"Of that, {narrows(floor)} ({nats(floor)} nats) comes from the mean itself"
    adds = f"the messages add {most}{narrows(excess)} ({nats(excess)} nats)"
    return [first, f"{by}; {adds}."]


def _against(report: Report, scene: Scene, i: int) -> str:
    if report.coalitions is not None:
        coalition = report.coalitions[i]
        return listed([str(name) for name in sorted(coalition, key=str)]) if coalition else "taps alone"
    return listed(scene.corrupt_names) if scene.corrupt else "an eavesdropper"


def about(report: Report, scene: Scene, i: int) -> str:
    """What is told when one points at a party."""
    name = scene.names[i]
    if i in scene.corrupt and report.coalitions is None:
        return f"{name} is corrupt.\nClick to make honest."
    if report.guarantee == "none" or math.isnan(report.leakage[i]):
        return f"{name}: not assessed."
    if math.isinf(report.leakage[i]):
        return f"{name} is disclosed exactly.\nWho learns it: {who(report, scene)}."
    total, excess = float(report.leakage[i]), float(report.excess[i])
    return (
        f"{name}: interval {narrows(total)} narrower ({nats(total)} nats), of it by messages {narrows(excess)} "
        f"({nats(excess)} nats).\nWho learns it: {who(report, scene)}."
    )
