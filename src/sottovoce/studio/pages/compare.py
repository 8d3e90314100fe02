"""Compare: what else one could use on this network, at equal leakage, with its error and its cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nicegui import context, ui

from ...baselines.comparison import Comparison
from ...errors import InvalidInput, SottovoceError
from .. import words
from ..comparing import (
    DRAWS,
    FAMILIES,
    HEADER,
    METHODS,
    Asked,
    against,
    compared,
    first_asked,
    from_query,
    table_csv,
    table_rows,
    taken,
    terms,
    together,
    verdict,
)
from ..comparison_plot import ComparisonPlot, looks_of
from ..layout import columns, facts, heading
from ..scene import Scene
from ..session import Session, complain, computed

CSS = """
.compare-table td:last-child, .compare-table th:last-child { text-align: left; padding-left: 22px; min-width: 180px; }
.compare-table td:last-child { white-space: normal !important; }
.compare-table td { white-space: nowrap; vertical-align: top; }
.compare-table table.facts thead th { text-align: right; vertical-align: bottom; }
.compare-table table.facts thead th:first-child, .compare-table table.facts thead th:last-child { text-align: left; }
.compare-table { overflow-x: auto; width: 100%; }
.compare-words { max-width: 108ch; }
.compare-methods h2 { margin: 10px 0 2px !important; }
.compare-methods .q-checkbox { display: flex; }
.compare-methods .q-checkbox__label { font-size: 14px; }
"""
WHAT = (
    "All parties want the mean of their numbers. Each method is tuned on draws of its own, then given as much noise or "
    "mask as it takes to give away so many nats at most, and played. It takes some ten seconds."
)
NATS = (
    "What the worst honest party may give away. Left empty: 1.5 times the floor, which is what the exact mean itself "
    "tells, or where the corrupt parties cut the honest ones apart, the sum of the smallest part. Those who learn it "
    "are the corrupt parties, with a tap on every channel that a method leaves open."
)
ERROR = "mean squared error (squared units of the numbers)"


class Compare:
    """The page."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked = _asked(session.scene)
        self.found: Comparison | None = None
        self.running = self.stopped = False
        self.looks = looks_of(list(METHODS))
        ui.add_css(CSS)
        with columns(three=False) as (left, centre, _):
            with left:
                self._left()
            with centre:
                self._centre()
        session.extra = self.asked.query(session.scene)
        session.listen(self._changed)
        self._changed(session.scene, session.scene)

    def _left(self) -> None:
        heading("Network", "That of the playground, which is where to change it.")
        self.about = ui.label().classes("small")
        self.corrupt = ui.select(
            {}, multiple=True, value=[], label="Corrupt parties", clearable=True,
            on_change=lambda event: self._mark(event.value),
        ).props("dense outlined use-chips").classes("w-full")  # fmt: skip
        with self.corrupt:
            ui.tooltip("They pool what they see and tap open channels. Nobody named: the first that cuts nobody off.")
        heading("Terms", WHAT)
        with ui.row().classes("no-wrap w-full"):
            self.nats = ui.number(
                "Nats", value=self.asked.nats, min=1e-6, max=10, placeholder="1.5 × floor", format="%.4g"
            )
            self.draws = ui.number("Draws", value=self.asked.draws, min=DRAWS[0], max=DRAWS[1], precision=0)
        with self.nats.props("dense outlined clearable stack-label placeholder='1.5 × floor'"):
            ui.tooltip(NATS)
        with self.draws.props("dense outlined"):
            ui.tooltip("Of the numbers and of the noise, that errors are means over")
        for number in (self.nats, self.draws):
            number.on("change", self._settle)
            number.on("clear", self._settle)
        with ui.row().classes("no-wrap items-center w-full"):
            self.button = ui.button("Compare", on_click=self._run).props("unelevated dense no-caps padding='4px 18px'")
            self.stop = ui.button("Stop", on_click=self._stop).props("outline dense no-caps padding='4px 12px'")
            self.stop.set_visibility(False)
        self.progress = ui.linear_progress(0, show_value=False).props('instant-feedback aria-label="Progress"')
        self.progress.set_visibility(False)
        self.now = ui.label().classes("small soft").props('aria-live="polite" data-testid="now"')
        self.boxes: dict[str, Any] = {}
        with ui.element("div").classes("compare-methods"):
            for family, methods in FAMILIES.items():
                heading(family)
                for method in methods:
                    box = ui.checkbox(method, value=method in self.asked.methods, on_change=self._settle).props("dense")
                    self.boxes[method] = box
        with ui.row():
            ui.button("All", on_click=lambda: self._tick(METHODS)).props("flat dense no-caps")
            ui.button("None", on_click=lambda: self._tick(())).props("flat dense no-caps")

    def _centre(self) -> None:
        self.words = (
            ui.html("", sanitize=False).classes("words compare-words").props('aria-live="polite" data-testid="words"')
        )
        self.results = ui.element("div").classes("w-full")
        with self.results:
            self.plot = ComparisonPlot(
                "Error against leakage", "leakage of the worst honest party (nats)", ERROR,
                tip=f"To the right a method gives more away, upwards it is further off. {words.NATS}",
            )  # fmt: skip
            with ui.row().classes("items-center w-full"):
                heading("Method by method")
                ui.element("div").classes("studio-fill")
                save = ui.button("CSV", on_click=self._save).props('flat dense size=sm aria-label="The table as CSV"')
                with save:
                    ui.tooltip("Save the table as CSV, with every digit")
            self.table = ui.html("", sanitize=False).classes("compare-table").props('data-testid="table"')

    # What happens

    def _changed(self, before: Scene, scene: Scene) -> None:
        """The scene is another, and what was found is of the one before."""
        self.about.set_text(terms(scene))
        self.corrupt.set_options(dict(enumerate(scene.names)), value=sorted(scene.corrupt))
        if replace(before, places=scene.places) != scene or self.found is None:
            self.stopped = True
            self._clear(scene)

    def _clear(self, scene: Scene) -> None:
        self.found = None
        self.results.set_visibility(False)
        who = taken(scene)
        self.words.set_content(f"<p>{words.escape(f'{WHAT} {who}.' if who else WHAT)}</p>")

    def _mark(self, chosen: Any) -> None:
        def edit(scene: Scene) -> Scene:
            if not all(isinstance(i, int) for i in chosen or ()):
                raise InvalidInput("corrupt parties are named by the list alone.")
            return replace(scene, corrupt=frozenset(chosen or ()))

        if frozenset(chosen or ()) != self.session.scene.corrupt and not self.session.change(edit):
            self.corrupt.set_value(sorted(self.session.scene.corrupt))

    def _tick(self, methods: tuple[str, ...]) -> None:
        for method, box in self.boxes.items():
            box.set_value(method in methods)

    def _settle(self) -> None:
        """What is asked for, as far as it means something."""
        try:
            self.asked = Asked(
                tuple(method for method, box in self.boxes.items() if box.value is True),
                int(self.draws.value) if self.draws.value is not None else first_asked(self.session.scene).draws,
                None if self.nats.value is None else float(self.nats.value),
            )
        except (SottovoceError, TypeError, ValueError) as error:
            complain(error if isinstance(error, SottovoceError) else InvalidInput("draws and nats must be numbers."))
            return
        self.session.extra = self.asked.query(self.session.scene)
        self.session.tell_address()

    def _stop(self) -> None:
        self.stopped = True
        self.now.set_text("stopping after this method …")

    async def _run(self) -> None:
        """One method after the other, beside the page; what is there is shown at once."""
        if self.running:
            return
        asked, scene = self.asked, self.session.scene
        if not asked.methods:
            complain(InvalidInput("tick one method at least."))
            return
        self.running, self.stopped = True, False
        self._waiting(True)
        parts: list[Comparison] = []
        try:
            for k, method in enumerate(asked.methods):
                self.progress.set_value(k / len(asked.methods))
                self.now.set_text(f"{method} ({k + 1} of {len(asked.methods)})")
                part = await computed(compared, scene, method, asked)
                if part is None or self.stopped or scene is not self.session.scene:
                    break
                parts.append(part)
                self._show(together(parts))
        finally:
            self.running = False
            self._waiting(False)

    def _waiting(self, on: bool) -> None:
        self.button.set_enabled(not on)
        self.stop.set_visibility(on)
        self.progress.set_visibility(on)
        self.now.set_text("")

    def _show(self, found: Comparison) -> None:
        self.found = found
        self.results.set_visibility(True)
        self.plot.compare(found, self.looks)
        who = against(self.session.scene, found)
        best, *others = verdict(found)
        self.words.set_content(
            "".join(f"<p>{words.escape(said)}</p>" for said in (f"{who} {best}", " ".join(others)) if said)
        )
        self.table.set_content(facts(table_rows(found), HEADER))

    def _save(self) -> None:
        if self.found is not None:
            ui.download.content(table_csv(self.found), "comparison.csv", "text/csv")


def _asked(scene: Scene) -> Asked:
    """What the address asks for, as far as it means something."""
    try:
        return from_query(context.client.request.query_params, scene)
    except SottovoceError as error:
        complain(error)
        return first_asked(scene)
