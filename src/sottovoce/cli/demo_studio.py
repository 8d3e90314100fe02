"""The demonstration in the browser: ten hospitals run, and whoever watches kills one and starts it again."""

from __future__ import annotations

import signal
from pathlib import Path
from tempfile import TemporaryDirectory

from ..runtime.demonstration import plan_at_leisure
from ..runtime.plan.plan import write_plan
from ..studio.live_run import LiveRun
from ..studio.serve import serve
from .endings import in_order


def run_studio_demo(port: int, browser: bool) -> int:
    """Until it is interrupted; the exit status."""
    with in_order(), TemporaryDirectory(prefix="sottovoce-") as folder:
        parties = Path(folder) / "p"  # the path of a socket must be short
        write_plan(plan_at_leisure(), parties, generate_keys=True)
        with LiveRun(parties, start=True) as live:
            scene, notice = live.scene()
            ended_by = serve(
                scene,
                port=port,
                page="/live",
                browser=browser,
                notice=notice,
                live=live,
                ready=lambda address: print(f"sottovoce studio: {address}  (Ctrl-C ends it)", flush=True),
            )
    return 0 if ended_by in (0, signal.SIGINT) else 128 + ended_by
