"""The audit itself, of a problem with ``[cost]`` or with ``[statistic]``, in one form for all that prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..data.problem_file import ProblemFile
from ..errors import InvalidInput, Unsupported
from ..pdmm.overlay import matched
from ..pdmm.penalties import is_auto, shown
from ..pdmm.settings import settled_theta
from ..privacy import CalibratedMask, Report, Snapshot, Transcript, Worst, audit, calibrate
from ..statistics.statistic_file import StatisticFile
from .audit_answer import enough

WITHOUT_NOISE = "--delta: it is the bound of the verdict. The smallest mask is found for runs without noise only."
UNIFORM = "--delta: it is the bound of the verdict. Pads of exact sums are uniform: there is no mask to find."


@dataclass(frozen=True)
class Audited:
    """What there is to say."""

    kind: str
    parties: list[str]
    revealed: list[str]  # what the sums are of that are disclosed
    parameters: dict[str, Any]
    report: Report
    prior_needed: bool = False  # it was taken from the data, and another one may be right
    needed: CalibratedMask | str | None = None  # the mask that was asked for, or why there is none
    fits: bool = True  # the file's mask is as large
    notes: tuple[str, ...] = ()


def audit_cost(
    solved: ProblemFile, seen: Transcript | Snapshot, prior: float | None, delta: float | None, given: dict[str, Any]
) -> Audited:
    """One agreement; ``given`` are ``corrupt``, ``against``, ``channels``, ``hessians`` and ``progress`` of
    ``privacy.audit``."""
    mask, noise = solved.options.get("mask"), solved.options.get("noise")
    needed: CalibratedMask | str | None = None
    setting = {name: solved.options[name] for name in ("schedule", "theta", "c", "overlay", "seed")}
    report = audit(solved.problem, mask, noise=noise, seen=seen, prior=prior, **setting, **given)
    if delta is not None and noise is None:
        setting |= {name: given[name] for name in ("channels", "hessians", "progress")}
        against = given["against"] or Worst(1)
        try:
            needed = calibrate(solved.problem, delta=delta, against=against, prior=prior, **setting)
        except Unsupported as reason:
            needed = str(reason)
    overlay, auto, tuned = setting["overlay"], is_auto(setting["c"]), "tuned by pilot runs"
    two_sweeps = matched(solved.problem, overlay) if auto and overlay is not None else None
    if two_sweeps is not None:
        tuned = f"{shown(two_sweeps)}, matched to the tree"
    pair = auto and setting["theta"] is None and two_sweeps is None
    parameters = {
        "schedule": type(setting["schedule"]).__name__,
        "theta": tuned if pair else settled_theta(solved.problem, setting["theta"]),
        "c": tuned if auto else shown(setting["c"]),
        "messages over": str(setting["overlay"] or "all edges"),
    }
    return Audited(
        solved.cost.kind,
        solved.cost.parties,
        solved.cost.revealed,
        parameters,
        report,
        prior is None,
        needed,
        needed is None or enough(mask, seen.runs, needed),
        () if delta is None or noise is None else (WITHOUT_NOISE,),
    )


def audit_statistic(
    file: StatisticFile, seen: Transcript, delta: float | None, of_one: Mapping[str, object], given: dict[str, Any]
) -> Audited:
    """All agreements together, once they were played. ``of_one``: options that make no sense for several, by name."""
    for name, value in of_one.items():
        if value is not None:
            raise InvalidInput(f"{name} is of one agreement, and a [statistic] takes several. Leave it out.")
    answer = file.solve()
    report = answer.audit_total(seen=seen, **given)
    traffic = answer.traffic
    parameters = {"messages over": "a spanning tree", "agreements": 0 if traffic is None else traffic.agreements}
    notes = () if delta is None else (UNIFORM,)
    return Audited(file.spec.type, file.parties, file.revealed, parameters, report, notes=notes)
