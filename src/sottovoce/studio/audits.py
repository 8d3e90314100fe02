"""What the auditor says of a scene, and how that is drawn: colours are excess, rings are disclosed parties."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..errors import InvalidInput, SottovoceWarning
from ..privacy import CalibratedMask, Report, Suggestion, Worst, audit, calibrate, suggest_edges
from ..privacy.answers.verdict import disclosed
from .network_view import edges_of, node_of
from .play import schedule_of, steps_of
from .plots import COLOURS
from .scene import VARIANCES, Scene
from .words import about, percent

ENCRYPTED = 160  # parties over encrypted channels: exact ranks take ten seconds, and more beyond
EDGES = 12  # new ones that are suggested
WORST = {1: 200, 2: 100, 3: 40}  # parties for which all coalitions of so many are tried, in some seconds
SCALE = ("#e3eef9", "#b5d4ee", "#7fb4df", "#4a92cb", "#1f6cb0", "#0b4a86")  # pale to dark, told apart without colour
EPS = 2.0**-52  # of float64
RANGE = (1e-6, 1.0)  # nats, from the palest to the darkest
INKS = ("#10243a", "#10243a", "#10243a", "#10243a", "#ffffff", "#ffffff")


def audited(scene: Scene) -> Report:
    """Against those who are marked corrupt."""
    report: Report = _quietly(audit, scene, mask=scene.mask, corrupt=scene.corrupt_names, channels=_channels(scene))
    return report


def worst(scene: Scene) -> Report:
    """Against whichever coalition of so many is worst for each party."""
    if scene.n > WORST[scene.coalition]:
        raise InvalidInput(
            f"all coalitions of {scene.coalition} are tried for networks of at most {WORST[scene.coalition]} parties; "
            f"this one has {scene.n}. Ask for fewer corrupt parties."
        )
    report: Report = _quietly(audit, scene, mask=scene.mask, against=Worst(scene.coalition), channels=_channels(scene))
    return report


def calibrated(scene: Scene) -> CalibratedMask:
    """The smallest mask for the bound, against any coalition of so many."""
    if scene.n > WORST[scene.coalition]:
        raise InvalidInput(
            f"masks are calibrated against {scene.coalition} for networks of at most {WORST[scene.coalition]} parties; "
            f"this one has {scene.n}."
        )
    for i in np.flatnonzero(scene.network.degrees <= scene.coalition):
        alone = {1: "one neighbour", 2: "two neighbours", 3: "three neighbours"}[int(scene.network.degrees[i])]
        raise InvalidInput(
            f"no mask can do it: {scene.names[i]} has {alone}, who may be the corrupt. Press Suggest below for edges "
            "that would help, or ask for fewer."
        )
    mask: CalibratedMask = _quietly(
        calibrate, scene, delta=scene.bound, against=Worst(scene.coalition), channels=_channels(scene)
    )
    if mask.variance > VARIANCES[1]:
        raise InvalidInput(
            f"it takes a variance of {mask.variance:.2g}, more than {VARIANCES[1]:g}, which this page shows: float64 "
            "would leave few digits of the answer. Allow more nats."
        )
    return mask


def suggested(scene: Scene) -> Suggestion:
    """Edges after which one party more must be corrupt to cut the network."""
    return suggest_edges(scene.network, most=EDGES)


def _channels(scene: Scene) -> str:
    if scene.channels == "encrypted" and scene.n > ENCRYPTED:
        raise InvalidInput(
            f"over encrypted channels this page audits networks of at most {ENCRYPTED} parties; this one has "
            f"{scene.n}. What open channels show is never less."
        )
    return scene.channels


def _quietly(ask: Any, scene: Scene, **how: Any) -> Any:
    c, theta = steps_of(scene)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SottovoceWarning)  # a small mask is what the page is asked about
        how |= {"prior": scene.prior, "schedule": schedule_of(scene), "seed": scene.seed, "progress": False}
        return ask(scene.problem, theta=theta, c=c, **how)


def rounding(scene: Scene) -> float:
    """About how far off answers are by rounding: of pads and numbers, which add up over the neighbours of a party.

    Measured: 2.0e-13 on the first scene (3.1e-13 here), 1.6e-12 on the complete graph of 200 (1.6e-12), 9e-14 under a
    mask of variance 0.01 (8e-14).
    """
    size = math.sqrt(scene.variance or 0.0) + 4 * max(map(abs, scene.numbers))
    return float(EPS / 2 * size * math.sqrt(scene.network.degrees.max()))


def shade(value: float) -> int:
    """Which of the colours so many nats have."""
    if not value > RANGE[0]:  # or not known
        return 0
    if value >= RANGE[1]:
        return len(SCALE) - 1
    share = math.log(value / RANGE[0]) / math.log(RANGE[1] / RANGE[0])
    return int(share * len(SCALE))


def drawing(scene: Scene, report: Report) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Parties, edges and groups for ``NetworkView.draw``."""
    lost = disclosed(report)
    nodes = []
    for i in range(scene.n):
        k = shade(float(report.excess[i]))
        text = _inside(report, i)
        worst_case = {"corrupt": False} if report.coalitions is not None else {}
        nodes.append(
            node_of(
                scene,
                i,
                about(report, scene, i),
                fill=SCALE[k],
                ink=INKS[k],
                ring=bool(lost[i]),
                text=text,
                **worst_case,
            )
        )
    return nodes, edges_of(scene), groups_of(scene, report)


def _inside(report: Report, i: int) -> str:
    """What a mark says itself: how much narrower the interval becomes."""
    if math.isnan(report.leakage[i]):
        return ""
    if math.isinf(report.leakage[i]):
        return "all"
    share = float(report.narrower[i])
    return "<.01%" if 0 < share < 1e-4 else percent(share).replace("more than ", ">").replace(" ", "")


def groups_of(scene: Scene, report: Report) -> list[dict[str, Any]]:
    """Those whose exact sum is learned, where they are several: shaded."""
    groups = report.groups
    if len(groups) < 2:
        return []
    found = []
    for k, group in enumerate(groups):
        members = {scene.names.index(str(name)) for name in group}
        inner = [(i, j) for i, j in scene.edges if i in members and j in members]
        found.append({"nodes": sorted(members), "edges": inner, "colour": COLOURS[k % len(COLOURS)]})
    return found


def order(report: Report, scene: Scene) -> list[int]:
    """The parties, the worst first and the corrupt last."""
    last = np.isin(np.arange(scene.n), list(scene.corrupt) if report.coalitions is None else [])
    keys = (np.arange(scene.n), -np.nan_to_num(report.leakage, nan=-1.0, posinf=1e300), last)
    return [int(i) for i in np.lexsort(keys)]
