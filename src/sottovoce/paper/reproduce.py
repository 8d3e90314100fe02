"""All figures and claims, written to a folder."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..atomic import write_whole
from ..errors import InvalidInput
from .claims import Claim, claims
from .experiments import DRAWS, Experiment, Panel, Progress, figure1, figure2, figure3

STAGES = 3 + 3 + 2 + 13  # thetas of Figures 1 and 2, variances of Figure 3, claims: for a progress bar


def reproduce(
    out: Path, seed: int, *, quick: bool = False, progress: Progress = lambda stage: None
) -> tuple[dict[str, Panel], list[Claim]]:
    """Figures 1 to 3 as PNG, PDF and JSON, and ``claims.json``; files appear only when they are complete."""
    folder = writable_folder(out)
    experiment = replace(Experiment.paper(seed), draws=30 if quick else DRAWS)
    panels = {
        "figure1": figure1(experiment, progress=progress),
        "figure2": figure2(experiment, progress=progress),
        "figure3": figure3(experiment, progress=progress),
    }
    found = claims(experiment, quick=quick, progress=progress)
    for name, panel in panels.items():
        write_json(folder / f"{name}.json", panel.data)
        for kind in ("png", "pdf"):
            write_whole(folder / f"{name}.{kind}", partial(panel.figure.savefig, dpi=300))
    write_json(folder / "claims.json", [claim.to_dict() for claim in found])
    return panels, found


def writable_folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"--out {out}: cannot make this folder ({error.strerror}). Choose another one.") from None
    if not os.access(out, os.W_OK):
        raise InvalidInput(f"--out {out}: the folder is not writable. Choose another one.")
    return out


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, allow_nan=False) + "\n"
    write_whole(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))
