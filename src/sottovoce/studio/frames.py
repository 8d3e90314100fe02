"""One frame of a run: for the drawing, and in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..pdmm.result import Status
from .audits import INKS, SCALE
from .play import Played
from .scene import Scene
from .words import listed, plain

LABELS = 10  # messages that are drawn with what they say
ARROWS = 150  # that are drawn at all: more hide everything
NEAR = 1e-6  # of the spread of the numbers: as dark as it gets
LISTED = 4  # messages that are told in words


def short(value: float) -> str:
    """A number in a circle: three digits, or a thousand."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "…"  # nothing yet
    size = abs(value)
    if size >= 1e5 or size < 1e-3:
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:.0f}" if size >= 1e3 else f"{value:.3g}"


def closeness(scene: Scene, found: Played) -> npt.NDArray[np.int64]:
    """Which of the colours every belief has, ``(frames, n)``: the darker, the nearer to the mean."""
    spread = max(float(np.std(scene.numbers)), 1e-12 * max(1.0, abs(scene.mean)))
    off = np.maximum(np.abs(np.nan_to_num(found.x, nan=scene.mean + spread) - scene.mean) / spread, 1e-300)
    share = np.log(off) / math.log(NEAR)  # 0 at the spread itself, 1 at a millionth of it
    return np.clip((share * len(SCALE)).astype(np.int64), 0, len(SCALE) - 1)


def frame_of(scene: Scene, found: Played, frame: int, near: npt.NDArray[np.int64]) -> dict[str, Any]:
    """For ``NetworkView.show_frame``. Before the first iteration everybody shows what it holds."""
    number = {name: i for i, name in enumerate(scene.names)}
    last: dict[tuple[int, int], tuple[float, bool]] = {}
    for sender, receiver, value, arrived in found.sent(frame):
        last[number[str(sender)], number[str(receiver)]] = (value, arrived)  # the newest on each way
    few = len(last) <= LABELS
    messages = [
        {"a": a, "b": b, "text": short(value) if few else "", "lost": not arrived}
        for (a, b), (value, arrived) in list(last.items())[:ARROWS]
    ]
    held = scene.numbers if frame == 0 else found.x[frame].tolist()
    shades = [0] * scene.n if frame == 0 else near[frame].tolist()
    return {
        "texts": [short(value) for value in held],
        "fills": [SCALE[k] for k in shades],
        "inks": [INKS[k] for k in shades],
        "awake": sorted({a for a, _ in last}),
        "messages": messages,
    }


def frame_words(scene: Scene, found: Played, frame: int) -> list[str]:
    """What happens in it, and how far they are."""
    if frame == 0:
        first = f"Before anybody speaks, each of {scene.n} parties holds its number and nothing else."
        return [first, *_hidden(scene, found)]
    sent = found.sent(frame)
    wakes = list(dict.fromkeys(str(sender) for sender, *_ in sent))
    lost = sum(not arrived for *_, arrived in sent)
    iterations = int(found.iterations[frame] - found.iterations[frame - 1])
    told = [_woke(scene, wakes, len(sent), lost, iterations), *_said(scene, found, wakes, sent)]
    off = np.abs(found.x[frame] - scene.mean)
    i = int(np.nanargmax(off))
    asleep = int(np.isnan(off).sum())
    yet = f" {asleep} have not woken yet." if asleep > 1 else " One has not woken yet." if asleep else ""
    told.append(
        f"{scene.names[i]} is furthest from the mean, by {short(float(off[i]))}; the residual, which needs no "
        f"knowledge of the mean, is {found.residual[frame]:.1e}.{yet}"
    )
    if frame == len(found) - 1:
        told.append(_ended(scene, found))
    return told


def _hidden(scene: Scene, found: Played) -> list[str]:
    """How what travels is hidden, and from whom."""
    if scene.variance is None:
        return ["There is no mask, so messages will show what is held."]
    sigma = math.sqrt(scene.variance)
    told = [
        f"Every two neighbours have agreed on random pads of about ±{plain(sigma)}, and each hides its number behind "
        "the sum of its own."
    ]
    if found.hidden is False:
        times = sigma / max(2 * max(map(abs, scene.numbers)), 1e-300)
        told.append(f"Pads are {times:.2g} times as large as what they hide: Who learns what says what that leaves.")
    if scene.corrupt:
        pool = "pools" if len(scene.corrupt) == 1 else "pool"
        told.append(
            f"{listed(scene.corrupt_names)} will follow the protocol, and {pool} what they see: see there, too."
        )
    return told


def _said(scene: Scene, found: Played, wakes: list[str], sent: list[Any]) -> list[str]:
    """What was said, where one party spoke and to few."""
    if len(wakes) != 1 or len(sent) > LABELS:
        return []
    said = "; ".join(f"to {receiver} {short(value)}" for _, receiver, value, _ in sent[:LISTED])
    means = (
        "functions of what it holds, for whoever listens"
        if scene.variance is None
        else "numbers behind pads that are small"
        if found.hidden is False
        else "numbers that mean nothing without the pads"
    )
    return [f"{wakes[0]} says {said}{' …' if len(sent) > LISTED else ''}: {means}."]


def _woke(scene: Scene, wakes: list[str], sent: int, lost: int, iterations: int) -> str:
    if not wakes:
        return "Nobody woke."
    who = "Everybody wakes" if len(wakes) == scene.n else f"{listed(wakes)} {'wakes' if len(wakes) == 1 else 'wake'}"
    gone = f", of which {lost} {'is' if lost == 1 else 'are'} lost" if lost else ""
    when = "" if iterations == 1 else f" in these {iterations} iterations"
    padded = "" if scene.variance is None else "padded "
    travel = f"one {padded}message travels" if sent == 1 else f"{sent} {padded}messages travel"
    return f"{who}{when}, and {travel} to neighbours{gone}."


def _ended(scene: Scene, found: Played) -> str:
    off = float(np.nanmax(np.abs(found.x[-1] - scene.mean)))
    if found.status is Status.CONVERGED:
        return (
            f"Everybody holds the exact mean, {scene.mean:.10g}, up to {off:.1e}, after {found.messages:,} messages "
            f"(c = {found.c:.3g}, theta = {found.theta:.3g})."
        )
    how = "diverged" if found.status is Status.DIVERGED else "has not converged within what a page plays"
    return f"The run {how}: the residual is {found.residual[-1]:.1e} after {found.messages:,} messages."
