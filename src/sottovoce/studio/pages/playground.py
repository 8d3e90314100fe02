"""The playground: a network that agrees on a mean before one's eyes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from nicegui import events, ui

from .. import words
from ..frames import closeness, frame_of, frame_words
from ..layout import Slider, columns, heading
from ..mask_control import MaskControl
from ..network_view import NetworkView, edges_of, node_of
from ..play import Played, played
from ..plots import COLOURS, Curve, Line, Plot
from ..scene import Scene
from ..session import Session, computed
from ..tools import hand_keys, hand_tools, network_tools

SCHEDULES = {
    "asynchronous": "one at random wakes",
    "permutations": "in turns, shuffled",
    "edge_reversal": "when all neighbours have spoken",
    "synchronous": "all at once",
}
SPEEDS = {1: "1 a second", 4: "4 a second", 12: "12 a second"}
CURVES = 40  # parties whose curves are drawn one by one
LOOKS = {"corrupt", "channels", "prior", "at", "coalition", "bound", "places"}  # what a run does not hang on


class Playground:
    """The page."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.played: Played | None = None
        self.frame = 0
        self.asked = 0  # so that a slow run does not overwrite a later one
        with columns() as (left, centre, right):
            with left:
                network_tools(session)
                self._controls()
            with centre:
                self.view = NetworkView("The network: parties, what they believe, and what travels between them")
                hand_tools(self.view)
                self.view.move()  # below its tools
                self.view.edits(session)
                self._player()
                ui.html(
                    "<div class='legend'><span><i class='awake'></i>awake</span><span>arrow: a message; "
                    "dashed: lost</span><span>darker: nearer to the mean</span>"
                    "<span><i class='square'></i>corrupt</span></div>",
                    sanitize=False,
                )
                self._plots()
                hand_keys()
            with right:
                heading("What happens")
                with ui.element("div").props('aria-live="off"'):
                    self.words = ui.html("", sanitize=False).classes("words").props('data-testid="happens"')
                heading("Private numbers", "Each is known to its party alone. Double-click a cell to change it.")
                self._numbers()
        self.timer = ui.timer(0.25, self._tick, active=False)
        session.listen(self.changed)
        self.changed(None, session.scene)

    def _controls(self) -> None:
        scene = self.session.scene
        heading("How they talk")
        self.schedule = ui.select(SCHEDULES, value=scene.schedule, label="Who wakes", on_change=self._settle)
        self.loss = ui.number("Messages lost (%)", value=100 * scene.loss, min=0, max=90, step=5, format="%.4g")
        with ui.row().classes("w-full no-wrap"):
            self.theta = ui.number("theta", value=scene.theta, min=0.05, max=1, step=0.05, placeholder="tuned")
            self.c = ui.number("c", value=scene.c, min=1e-6, max=1e6, placeholder="tuned", format="%.4g")
        with self.theta:
            ui.tooltip("1 is PDMM, 0.5 is ADMM; left empty, the library tunes it. Public.")
        with self.c:
            ui.tooltip("The step of the method; left empty, the library tunes it. Public.")
        with self.loss:
            ui.tooltip("How many messages do not arrive. A party that waits for all neighbours cannot do without one.")
        self.seed = ui.number("Seed of wakes and pads", value=scene.seed, min=0, max=2**32, precision=0)
        for control in (self.schedule, self.loss, self.theta, self.c, self.seed):
            control.props("dense outlined stack-label").classes("w-full")
        for number in (self.loss, self.theta, self.c, self.seed):
            number.on("change", self._settle)
        MaskControl(self.session)

    def _settle(self) -> None:
        """What the controls say, as a scene."""
        if self.following:
            return
        theta, c, loss, seed = self.theta.value, self.c.value, self.loss.value, self.seed.value
        self.session.change(
            lambda scene: replace(
                scene,
                schedule=self.schedule.value,
                loss=round((loss or 0) / 100, 6) if self.schedule.value != "edge_reversal" else 0.0,
                theta=None if theta is None else float(theta),
                c=None if c is None else float(c),
                seed=int(seed or 0),
                at=0,
            )
        )

    following = False

    def _follow(self, scene: Scene) -> None:
        """Controls that follow what was undone, or loaded."""
        self.following = True
        self.schedule.set_value(scene.schedule)
        self.loss.set_value(100 * scene.loss)
        self.loss.set_enabled(scene.schedule != "edge_reversal")
        self.theta.set_value(scene.theta)
        self.c.set_value(scene.c)
        self.seed.set_value(scene.seed)
        self.following = False

    def _player(self) -> None:
        with ui.row().classes("w-full no-wrap items-center"):
            self.play = ui.button(icon="play_arrow", on_click=self._play_or_pause)
            self.play.props('unelevated round size=sm aria-label="Play"')
            back = ui.button(icon="skip_previous", on_click=lambda: self._go(self.frame - 1))
            back.props('flat round size=sm aria-label="One step back"')
            step = ui.button(icon="skip_next", on_click=lambda: self._go(self.frame + 1))
            step.props('flat round size=sm aria-label="One step"')
            self.scrub = Slider(min=0, max=1, step=1, value=0, on_change=self._scrubbed)
            self.scrub.props('aria-label="Iteration"').classes("grow")
            self.scrub.on("change", self._released)
            self.place = (
                ui.label("")
                .classes("small soft")
                .style("min-width: 132px; white-space: nowrap")
                .props('data-testid="place"')
            )
            self.speed = ui.select(SPEEDS, value=4, on_change=self._set_speed)
            self.speed.props('dense borderless aria-label="Speed, in frames"')

    def _plots(self) -> None:
        with ui.element("div").classes("pair"):
            with ui.element("div"):
                self.beliefs = Plot(
                    "Beliefs", "iteration", "belief (units of the data)",
                    tip="What everybody believes the mean to be; each party knows its own. All run into the mean.",
                )  # fmt: skip
            with ui.element("div"):
                self.residual = Plot(
                    "Residual", "iteration", "KKT residual (relative)", log_y=True,
                    tip="How far from the answer, found without knowing it; the run ends at 1e-9.",
                )  # fmt: skip

    def _numbers(self) -> None:
        self.grid = ui.aggrid(
            {
                "columnDefs": [
                    {"field": "name", "headerName": "Party", "editable": True, "flex": 1},
                    {"field": "number", "headerName": "Private number", "editable": True, "flex": 1,
                     "cellDataType": "number", "type": "rightAligned"},
                ],
                "rowData": [],
                "stopEditingWhenCellsLoseFocus": True,
                "suppressHorizontalScroll": True,
            }
        ).classes("w-full").style("height: 320px")  # fmt: skip
        self.grid.on("cellValueChanged", self._edited, ["rowIndex", "colId", "newValue", "data"])
        self.sum = ui.label().classes("small soft").props('data-testid="mean"')
        with self.sum:
            ui.tooltip(
                "The sum over all, divided by how many there are: what everybody is told at the end, and nothing else."
            )

    def _edited(self, event: events.GenericEventArguments) -> None:
        said = event.args if isinstance(event.args, dict) else {}
        data: Any = said.get("data")
        i: Any = data.get("party") if isinstance(data, dict) else None
        column, value = said.get("colId"), said.get("newValue")

        def edit(scene: Scene) -> Scene:
            return scene.renamed(i, value or "") if column == "name" else scene.holding(i, value)

        if not self.session.change(edit):
            self._fill_grid(self.session.scene)  # back to what is

    def _fill_grid(self, scene: Scene) -> None:
        rows = zip(range(scene.n), scene.names, scene.numbers, strict=True)
        self.grid.options["rowData"] = [{"party": i, "name": name, "number": number} for i, name, number in rows]
        self.grid.update()
        self.sum.set_text(f"Their exact mean: {scene.mean:.10g}")

    # What happens

    def changed(self, before: Scene | None, scene: Scene) -> None:
        """The scene is another."""
        self._follow(scene)
        if before is None or (before.names, before.numbers) != (scene.names, scene.numbers):
            self._fill_grid(scene)
        tips = [
            f"{name} holds {number:g}.\nWho knows it: {name} alone."
            for name, number in zip(scene.names, scene.numbers, strict=True)
        ]
        self.view.draw([node_of(scene, i, tips[i]) for i in range(scene.n)], edges_of(scene))
        if before is not None and scene.differs(before) <= LOOKS and self.played is not None:
            self._draw()
            return
        self.asked += 1
        self.played = None  # of another scene
        self._pause()
        self.words.set_content("<p class='soft'>playing …</p>")
        ui.timer(0.01, lambda asked=self.asked: self._run(asked), once=True)

    async def _run(self, asked: int) -> None:
        if asked != self.asked:
            return
        scene = self.session.scene
        found = await computed(played, scene)
        if asked != self.asked:
            return
        self.played = found
        if found is None:
            self.words.set_content("<p>There is no run for these settings.</p>")
            return
        self.near = closeness(scene, found)
        self.scrub.props(f":max={len(found) - 1}")
        self._draw_plots(scene, found)
        self.frame = min(int(np.searchsorted(found.iterations, scene.at)), len(found) - 1)
        self._draw()

    def _draw_plots(self, scene: Scene, found: Played) -> None:
        k = found.iterations.tolist()
        if scene.n <= CURVES:
            curves = [
                Curve(name, k[1:], found.x[1:, i].tolist(), COLOURS[i % len(COLOURS)], width=1.2, legend=scene.n <= 6)
                for i, name in enumerate(scene.names)
            ]
        else:
            some: dict[str, Any] = {"largest": np.nanmax, "middle": np.nanmedian, "smallest": np.nanmin}
            curves = [
                Curve(f"{name} of {scene.n}", k[1:], of(found.x[1:], axis=1).tolist(), colour)
                for (name, of), colour in zip(some.items(), COLOURS, strict=False)
            ]
        ends = Curve("the mean", [k[1], k[-1]], [scene.mean] * 2, width=0, legend=False)  # so that its line is in sight
        self.beliefs.draw([*curves, ends], [Line(f"exact mean {scene.mean:.5g}", y=scene.mean)])
        residual = [value if math.isfinite(value) else None for value in found.residual.tolist()]
        self.residual.draw([Curve("residual", k, residual, legend=False)], [Line("the end, 1e-9", y=1e-9)])

    def _draw(self) -> None:
        """The frame that is looked at."""
        scene, found = self.session.scene, self.played
        if found is None:
            return
        self.view.show_frame(frame_of(scene, found, self.frame, self.near))
        k = int(found.iterations[self.frame])
        self.following = True
        self.scrub.set_value(self.frame)
        self.following = False
        self.place.set_text(f"iteration {k} of {int(found.iterations[-1])}")
        self.beliefs.mark(k)
        self.residual.mark(k)
        said = frame_words(scene, found, self.frame)
        self.words.set_content("".join(f"<p>{words.escape(sentence)}</p>" for sentence in said))

    def _go(self, frame: int) -> None:
        if self.played is None:
            return
        self._pause()
        self._move_to(frame)
        self._keep_place()

    def _move_to(self, frame: int) -> None:
        if self.played is not None:
            self.frame = max(0, min(frame, len(self.played) - 1))
            self._draw()

    def _keep_place(self) -> None:
        """The iteration goes into the address, once a hand or the player rests there."""
        if self.played is not None:
            at = int(self.played.iterations[self.frame])
            self.session.change(lambda scene: replace(scene, at=at), remember=False)

    def _scrubbed(self, event: events.ValueChangeEventArguments[Any]) -> None:
        if not self.following and isinstance(event.value, int | float) and self.played is not None:
            self._pause()
            self._move_to(int(event.value))

    def _released(self, event: events.GenericEventArguments) -> None:
        """What the event itself says: the slider's own value may come later."""
        if isinstance(event.args, int | float) and self.played is not None:
            self._move_to(int(max(0, min(event.args, len(self.played) - 1))))
            self._keep_place()

    def _play_or_pause(self) -> None:
        if self.timer.active:
            self._pause()
            self._keep_place()
        elif self.played is not None:
            if self.frame == len(self.played) - 1:
                self._move_to(0)
            self.timer.activate()
            self.play.props('icon=pause aria-label="Pause"')

    def _pause(self) -> None:
        self.timer.deactivate()
        self.play.props('icon=play_arrow aria-label="Play"')

    def _tick(self) -> None:
        if self.played is None or self.frame >= len(self.played) - 1:
            self._pause()
            self._keep_place()
            return
        self._move_to(self.frame + 1)

    def _set_speed(self, event: events.ValueChangeEventArguments[Any]) -> Any:
        if event.value in SPEEDS:
            self.timer.interval = 1 / event.value
