"""What the studio adds to the library: a click on a page against the audit behind it, a run kept frame by frame against
the bare run, and how long a link is. (What a click takes until a browser has drawn it is told by ``tests/browser``.)"""

from __future__ import annotations

import sottovoce as sv
from sottovoce.studio import words
from sottovoce.studio.audits import audited, drawing, order
from sottovoce.studio.layout import facts
from sottovoce.studio.link import from_link, to_link
from sottovoce.studio.making import generated
from sottovoce.studio.play import played, schedule_of, steps_of

from .measure import Group, Row, interleaved, ratio_row


def pages(quick: bool) -> Group:
    rows = []
    for n in (10,) if quick else (50, 200):
        scene = generated("random_geometric", n, seed=1).toggled(0)
        text = to_link(scene)
        run = {"schedule": schedule_of(scene), "mask": sv.GaussianMask(1e8), "seed": 0, "progress": False}
        c, theta = steps_of(scene)

        def click(text: str = text) -> None:
            """All that the server does: the scene, its audit, the drawing, the words, the table, the address."""
            marked = from_link(text).toggled(1)
            report = audited(marked)
            drawing(marked, report), words.paragraph(report, marked)
            facts([[marked.names[i], words.nats(report.leakage[i])] for i in order(report, marked)])
            to_link(marked)

        times = interleaved(3 if quick else 15, {
            "click": click,
            "audit": lambda scene=scene: audited(scene.toggled(1)),
            "frames": lambda scene=scene: played(scene),
            "run": lambda scene=scene, c=c, theta=theta, run=run: sv.solve(scene.problem, c=c, theta=theta, **run),
        })  # fmt: skip
        how = f"random geometric graph, {scene.network.m} edges"
        rows.append(ratio_row(f"a click / its audit, n = {n}", times["click"], times["audit"], None, "at most", how))
        how = "messages, residuals and beliefs of ten frames a round are kept"
        what = f"a run of the playground / the run, n = {n}"
        rows.append(ratio_row(what, times["frames"], times["run"], None, "at most", how))
        how = f"{scene.network.m} edges"
        rows.append(Row(f"a link, n = {n}", len(text) / 1e3, None if quick else 8.0, "at most", how, "kB"))
    return Group(rows)
