"""All figures and claims, written to a folder."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, MissingExtra
from ..files.atomic import writable_folder
from .claims import MEASUREMENTS, Claim, claims
from .experiments import DRAWS, THETAS, VARIANCES, Experiment, Panel, Progress, figure1, figure2, figure3

STAGES = 2 * len(THETAS) + len(VARIANCES) + len(MEASUREMENTS) + 1  # for a progress bar


def reproduce(
    out: Path, seed: int, *, quick: bool = False, progress: Progress = lambda stage: None
) -> tuple[dict[str, Panel], list[Claim]]:
    """Figures 1 to 3 as PNG, PDF and JSON, and ``claims.json``: all of one run, or nothing new."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("drawing the figures", "matplotlib", "plot")
    experiment = replace(Experiment.paper(seed), draws=30 if quick else DRAWS)
    folder = writable_folder(out)
    panels = {
        "figure1": figure1(experiment, progress=progress),
        "figure2": figure2(experiment, progress=progress),
        "figure3": figure3(experiment, progress=progress),
    }
    found = claims(experiment, progress=progress)
    progress("writing")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".paper-") as temporary:
        ready = Path(temporary)
        for name, panel in panels.items():
            write_json(ready / f"{name}.json", panel.data)
            for kind in ("png", "pdf"):
                panel.figure.savefig(ready / f"{name}.{kind}", dpi=300)
        write_json(ready / "claims.json", [claim.to_dict() for claim in found])
        for path in sorted(ready.iterdir()):
            try:
                path.replace(folder / path.name)
            except OSError as error:
                raise InvalidInput(f"{folder / path.name} cannot be written: {error.strerror or error}.") from None
    return panels, found


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, allow_nan=False) + "\n", encoding="utf-8")
