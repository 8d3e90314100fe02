"""What the auditor found, for people who do not count in nats: sentences that name who learns what about whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape as escape

import numpy as np

from ..privacy import Report
from ..privacy.answers.verdict import Verdict, disclosed, most
from .scene import Scene

FEW = 6  # names that a sentence lists
SURE = 1.96  # standard deviations: 95 %

NATS = "Nats: a unit of information. 0.01 nats about a number narrow an attacker's 95 % interval for it by 1 %."
EXCESS = "What the messages add to that. A larger mask makes it less. Who learns it: whoever is corrupt, with all taps."
FLOOR = (
    "What the exact mean tells and, where the corrupt cut the network, the exact sum of each group: no mask changes "
    "it. Who learns it: whoever is corrupt."
)
NARROWER = "How much narrower the interval becomes in which an attacker, with 95 % certainty, finds the number."
ACCURACY = "About how far off everybody's answer is by rounding, in units of the numbers: large pads cost digits."
MASK = (
    "The variance of the random numbers that every pair of neighbours hides its messages behind. They cancel out of "
    "the answer. Each pair alone knows its own."
)


def listed(names: Sequence[str]) -> str:
    """``Ada, Bo and Cy``, or the first few and how many more."""
    if len(names) > FEW:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def plain(value: float) -> str:
    """A number as people write it: 1000 and 0.0023, and powers of ten only where there is no other way."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if 1e-4 <= abs(value) < 1e7:
        return f"{float(f'{value:.3g}'):,.10g}"
    return f"{value:.2g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


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


def both(value: float) -> str:
    """Nats never stand alone."""
    return f"{narrows(value)} ({nats(value)} nats)"


def who(report: Report, scene: Scene) -> str:
    """Against whom it is told."""
    if report.coalitions is not None:
        few = {1: "party is", 2: "two parties are", 3: "three parties are"}.get(report.max_corrupt or 0, "parties are")
        return f"whichever {few} corrupt"
    if not scene.corrupt:
        return "an eavesdropper on every channel" if report.channels == "open" else "an eavesdropper"
    taps = f", who also tap{'s' if len(scene.corrupt) == 1 else ''} every channel" if report.channels == "open" else ""
    return f"{listed(scene.corrupt_names)}{taps}"


def is_cut(report: Report) -> bool:
    """Whether the corrupt parties leave several groups, whose sums they learn one by one."""
    return len(report.groups) > 1


def badge(report: Report, scene: Scene) -> tuple[str, str]:
    """The verdict in a few words, and of which kind it is."""
    found = report.verdict(scene.bound)
    if found is Verdict.NOT_ASSESSED:
        return "not assessed", "not"
    if found is Verdict.DISCLOSED:
        lost = int(disclosed(report).sum())
        effect = "" if report.exposed else " in effect"
        return f"{lost} of {scene.n - len(report.adversary.corrupt)} honest parties disclosed{effect}", "disclosed"
    adds = f"messages add {'' if report.guarantee == 'exact' else 'at most '}{both(most(report.excess))}"
    if found is Verdict.WEAK:
        return (f"weak: {adds}" if most(report.excess) > scene.bound else "weak: numbers larger than expected"), "weak"
    if report.coalitions is not None:
        return f"safe, {who(report, scene)}: {adds}", "safe"
    if not scene.corrupt:
        return f"safe from eavesdroppers ({adds}); nobody is marked corrupt", "safe"
    if is_cut(report):
        return "group sums are learned", "weak"
    return f"safe against {listed(scene.corrupt_names)}: {adds}", "safe"


def paragraph(report: Report, scene: Scene) -> list[str]:
    """What it means, sentence by sentence; it changes with every click."""
    if report.guarantee == "none":
        return [*report.flags.values(), *report.disclosures()]
    return [_known(report, scene), *_lost(report, scene), *_groups(report, scene), *_most(report, scene),
            *_trouble(report, scene)]  # fmt: skip


def _trouble(report: Report, scene: Scene) -> list[str]:
    """What is wrong with the setting, by the page's own words."""
    if "no mask" in report.flags:
        if not scene.corrupt and report.channels == "encrypted":
            return ["There is no mask: encryption alone protects, and one corrupt neighbour reads numbers."]
        return ["There is no mask: messages travel as they are, and hide nothing."]
    if "prior" in report.flags:
        size, expected = root_mean_square(scene), math.sqrt(scene.prior or 0.0)
        return [
            f"The numbers are larger ({plain(size)}) than you said attackers expect ({plain(expected)}): the figures "
            "here are too small. Clear that field, or subtract a public level from all numbers."
        ]
    return []


def root_mean_square(scene: Scene) -> float:
    """The size of a number, counted from 0: what attackers are taken to know where nothing else is said."""
    return math.sqrt(math.fsum(s * s for s in scene.numbers) / scene.n)


def _known(report: Report, scene: Scene) -> str:
    taps = "every channel is tapped" if report.channels == "open" else "channels between others are closed"
    ends = "Once the run ends, everybody is told the exact mean."
    if report.coalitions is not None:
        few = {1: "one party is", 2: "two parties are", 3: "three parties are"}.get(report.max_corrupt or 0, "few are")
        return f"Suppose any {few} corrupt, nobody knows which, and {taps}. {ends}"
    if scene.corrupt:
        are = "is corrupt" if len(scene.corrupt) == 1 else "are corrupt, and pool what they see"
        return f"{listed(scene.corrupt_names)} {are}; {taps}. {ends}"
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
        ""
        if bare
        else ", at any mask: every neighbour is corrupt, so that the sum that is learned is the number itself"
    )
    if report.coalitions is not None:
        return [f"The {whose} can be learned exactly{why}."]
    return [f"The {whose} {'is' if len(exact) == 1 else 'are'} disclosed exactly{why}."]


def _groups(report: Report, scene: Scene) -> list[str]:
    exposed = set(report.exposed)
    groups = [group for group in report.groups if not set(group) <= exposed]
    if not groups or "no mask" in report.flags:
        return []
    learn = f"{scene.corrupt_names[0]} learns" if len(scene.corrupt) == 1 else "they learn"
    if len(groups) == 1 and not exposed:
        alone = "" if disclosed(report).any() else ", and no single number exactly"
        return [f"From the mean {learn} the exact sum over the {len(groups[0])} others{alone}."]
    each = "; ".join(listed([str(name) for name in group]) for group in groups[:3])
    more = "" if len(groups) <= 3 else f"; and {len(groups) - 3} more groups"
    return [f"{learn[0].upper()}{learn[1:]} the exact sum over each group that is left in one piece: {each}{more}."]


def _most(report: Report, scene: Scene) -> list[str]:
    left = np.where(np.isfinite(report.leakage), report.leakage, -1.0)
    if left.max(initial=-1.0) <= 0:
        return []
    i = int(np.argmax(left))
    total, floor, excess = (float(values[i]) for values in (report.leakage, report.floor, report.excess))
    bound = "" if report.guarantee == "exact" else "at most "
    against = f"Against {_against(report, scene, i)}, the interval for {scene.names[i]} narrows most"
    told = [f"{against}: by {bound}{both(total)}."]
    told += _before_and_after(report, i)
    if report.coalitions is not None:  # whose worst coalitions differ from figure to figure
        told.append(f"What messages add under the mask is at most {both(most(report.excess))}, whoever is corrupt.")
    elif scene.corrupt and report.holds_answer and not math.isnan(floor):
        by = "the exact sum of its group, which no mask hides" if is_cut(report) else "the mean itself"
        told.append(f"Of that, {both(floor)} comes from {by}; the messages add {bound}{both(excess)}.")
    return told


def _before_and_after(report: Report, i: int) -> list[str]:
    before, after = (SURE * float(std[i].max()) for std in (report.prior_std, report.posterior_std))
    if not (math.isfinite(before) and math.isfinite(after)):
        return []
    return [f"Before, they could be 95 % sure of it within ±{plain(before)}; after, within ±{plain(after)}."]


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
    said = f"{name}: interval narrower by {both(total)}, of it by messages {both(excess)}."
    return f"{said}\nWho learns it: {who(report, scene)}."
