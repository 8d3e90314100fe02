"""The paper: its three figures, with sliders. Curves are the exact ones, drawn anew as a slider moves."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from html import escape
from typing import Any

from nicegui import context, events, ui

from ...errors import SottovoceError
from ...paper.experiments import THETAS
from .. import paper_controls as controls_of
from .. import words
from ..layout import Slider, columns, heading
from ..network_view import NetworkView
from ..paper_controls import AXES, FIGURES, GRAPHS, PLAIN, PaperControls
from ..paper_figures import Exact, Found
from ..paper_panels import CSS, claim_html, draw, draw_attack, pictures
from ..paper_words import figure_words
from ..scene import VARIANCES, Scene
from ..session import Session, complain, computed

TOGGLE = 'dense no-caps unelevated toggle-color=primary padding="3px 12px"'
THETA = "How far a node goes towards what it has heard: 1 is PDMM, 0.5 is ADMM. Everybody knows it."
STEP = "The step size c of PDMM. It decides how fast the run is, and a little how much noise stays. Everybody knows it."
LENGTH = "How many iterations are drawn. Asynchronous: one node wakes in each."
GRAPH = "The paper's: ten nodes at random places, near ones are neighbours. Or that of the playground."
AXIS = "One asynchronous iteration wakes one node, a synchronous one all of them: count either."
SECRET = "Whose number is attacked, by all of its neighbours but the honest one. They learn about it, and nobody else."
CLAIMS = "Its claims, held against these curves. docs/explanation/paper.md has them for the paper's own settings."


class Paper:
    """The page."""

    def __init__(self, session: Session) -> None:
        self.session, self.exact = session, Exact()
        self.controls = _asked(session.scene)
        self.found: Found | None = None
        self.wanted = self.drawn = 0  # so that a slow answer is followed by the one that was asked for last
        self.busy = False
        ui.add_css(CSS)
        with columns() as (left, centre, right):
            with left:
                self._left()
            with centre:
                self._centre()
            with right:
                heading("What one sees")
                self.words = ui.html("", sanitize=False).classes("words")
                self.words.props('aria-live="polite" data-testid="words"')
                heading("What the paper says of it", CLAIMS)
                self.claims = ui.html("", sanitize=False).props('data-testid="claims"')
        self._build()
        session.extra = self.controls.query()
        session.listen(self._scene_changed)
        self._later()

    # Controls

    def _left(self) -> None:
        controls = self.controls
        heading("Averaging", THETA)
        put = self._slider("theta", "theta", (0.05, 1.0, 0.05), controls.theta)
        with ui.row().classes("no-wrap items-center"):
            ui.label("The paper's:").classes("small soft")
            for theta in THETAS:
                preset = ui.button(f"{theta:g}", on_click=lambda theta=theta: put(theta))
                preset.props(f"outline dense no-caps padding='0 8px' aria-label='theta = {theta:g}'")
        heading("Mask", words.MASK)
        self.one = ui.column().classes("w-full gap-0")
        with self.one:
            self._logarithmic("sigma2", "variance σ²", VARIANCES, controls.sigma2)
        self.two = ui.column().classes("w-full gap-0")
        with self.two:
            self._logarithmic("less", "first variance σ²", controls_of.PAIR, controls.less)
            self._logarithmic("more", "second variance σ²", controls_of.PAIR, controls.more)
        heading("Run", STEP)
        self._logarithmic("c", "step c", controls_of.STEPS, controls.c)
        self._slider(
            "iterations", "iterations", (*controls_of.LENGTHS, 10), controls.iterations, whole=True, tip=LENGTH
        )
        heading("Graph", GRAPH)
        graph = ui.toggle(GRAPHS, value=controls.graph, on_change=lambda event: self._set(graph=event.value))
        graph.props(f'{TOGGLE} aria-label="Which graph"')
        seed = ui.number("Seed", value=controls.seed, min=0, max=2**32, precision=0)
        with seed.props("dense outlined").classes("w-full"):
            ui.tooltip("Of the paper's graph and numbers, and of who wakes when")
        seed.on("change", lambda: self._set(seed=None if seed.value is None else int(seed.value)))
        self.attack = ui.column().classes("w-full gap-2")
        with self.attack:
            heading("Attack", SECRET)
            self.node = ui.select({}, label="Whose number", on_change=lambda event: self._pick("node", event.value))
            self.honest = ui.select(
                {}, label="Its honest neighbour", on_change=lambda event: self._pick("honest", event.value)
            )
            for select in (self.node, self.honest):
                select.props("dense outlined").classes("w-full")
        plain = ui.button("As in the paper", icon="restart_alt", on_click=lambda: ui.navigate.to(self._plain()))
        plain.props("flat dense no-caps")

    def _plain(self) -> str:
        self.session.extra = {} if self.controls.figure == 1 else {"figure": str(self.controls.figure)}
        return self.session.address(self.session.path)

    def _slider(
        self, name: str, label: str, span: tuple[float, float, float], value: float, *, whole: bool = False,
        tip: str = "", scale: Callable[[float], float] = float, place: Callable[[float], float] = float,
    ) -> Callable[[float], Awaitable[None]]:  # fmt: skip
        """A slider whose label says its value; ``scale`` leads from its place to the value. What it returns puts it."""
        said = ui.label(f"{label} = {value:g}").classes("small").props(f'data-testid="{name}"')
        slider = Slider(min=span[0], max=span[1], step=span[2], value=place(value)).props(f'aria-label="{label}"')
        if tip:
            with said:
                ui.tooltip(tip)

        async def moved(event: Any) -> None:
            try:
                chosen = float(f"{scale(float(event.value)):.3g}")
                far = abs(place(chosen) - place(getattr(self.controls, name)))
                number = int(chosen) if whole else chosen
            except (TypeError, ValueError, OverflowError):  # nothing that a slider says
                return
            if far < span[2] / 4:
                return  # where it stands: a value between two places of the slider is kept
            said.set_text(f"{label} = {chosen:g}")
            await self._set(tell=False, **{name: number})

        async def put(chosen: float) -> None:
            said.set_text(f"{label} = {chosen:g}")
            await self._set(**{name: chosen})  # type: ignore[arg-type]
            slider.set_value(place(chosen))

        slider.on_value_change(moved)
        slider.on("change", self._tell)  # the address, at the end of a slide
        return put

    def _logarithmic(self, name: str, label: str, span: tuple[float, float], value: float) -> None:
        steps = (math.log10(span[0]), math.log10(span[1]), 0.05)
        self._slider(name, label, steps, value, scale=lambda v: 10.0**v, place=math.log10)

    def _centre(self) -> None:
        with ui.row().classes("items-center w-full"):
            figure = ui.toggle(FIGURES, value=self.controls.figure, on_change=lambda event: self._turn(event.value))
            figure.props(f'{TOGGLE} aria-label="Which figure"')
            ui.element("div").classes("studio-fill")
            self.axis = ui.toggle(AXES, value=self.controls.axis, on_change=lambda event: self._set(axis=event.value))
            with self.axis.props(f'{TOGGLE} aria-label="What is counted from left to right"'):
                ui.tooltip(AXIS)
        self.plots = ui.element("div").classes("w-full")

    def _build(self) -> None:
        """The empty pictures of a figure, and the controls that it has."""
        self.built = self.controls.figure
        self.one.set_visibility(self.built != 3)
        self.two.set_visibility(self.built == 3)
        self.attack.set_visibility(self.built == 3)
        self.axis.set_visibility(self.built != 1)
        self.plots.clear()
        with self.plots:
            self.network = NetworkView("The network, and who is attacked", fixed=True) if self.built == 3 else None
            if self.network is not None:
                self.network.classes("paper-network").on("mark", self._clicked)
            self.pictures = pictures(self.built)

    # What happens

    async def _set(self, *, tell: bool = True, **changes: Any) -> None:
        """Something else is asked for, or a sentence says why it cannot be."""
        try:
            self.controls = self.controls.changed(**changes)
        except SottovoceError as error:
            complain(error)
            return
        if tell:
            self._tell()
        await self._draw()

    async def _turn(self, figure: int) -> None:
        await self._set(figure=figure)
        self._build()
        self._show()

    async def _pick(self, which: str, who: int) -> None:
        """From a list, which also changes by itself."""
        if self.found is not None and getattr(self.found, which) != who:
            await self._set(**{which: who})  # type: ignore[arg-type]

    async def _clicked(self, event: events.GenericEventArguments) -> None:
        await self._set(node=event.args.get("i") if isinstance(event.args, dict) else None)

    def _tell(self) -> None:
        self.session.extra = self.controls.query()
        self.session.tell_address()

    def _scene_changed(self, before: Scene, scene: Scene) -> None:
        if self.controls.graph == "drawn":
            if before.edges != scene.edges:
                self.controls = self.controls.changed(node=None)
            self._later()

    def _later(self) -> None:
        with self.words:
            ui.timer(0.01, self._draw, once=True)

    async def _draw(self) -> None:
        """Compute and show, and again while more was asked for meanwhile."""
        self.wanted += 1
        if self.busy:
            return
        self.busy = True
        try:
            while self.drawn != self.wanted:
                self.drawn = self.wanted
                self.found = await computed(self.exact.found, self.controls, self.session.scene)
                self._show()
        finally:
            self.busy = False

    def _show(self) -> None:
        found = self.found
        if found is None:
            self.words.set_content("<p class='soft'>Nothing can be drawn for this.</p>")
            self.claims.set_content("")
            for plot in self.pictures.values():
                plot.draw(())
            return
        if found.controls.figure != self.built:
            return  # the pictures of another figure are there
        draw(found, self.pictures)
        if self.network is not None:
            network = found.experiment.problem.network
            around = {int(j): network.name(int(j)) for j in network.around(found.node)}
            self.node.set_options({i: network.name(i) for i in range(network.n)}, value=found.node)
            self.honest.set_options(around, value=found.honest)
            draw_attack(self.network, found, self.session.scene)
        told, *claims = figure_words(found)
        self.words.set_content(f"<p>{escape(told.text)}</p>")
        self.claims.set_content("".join(claim_html(said) for said in claims))


def _asked(scene: Scene) -> PaperControls:
    """What the address asks for, as far as it means something."""
    try:
        controls = controls_of.from_query(context.client.request.query_params)
        if controls.node is not None or controls.honest is not None:
            experiment = controls_of.experiment_of(controls.graph, controls.seed, controls.c, scene)
            controls_of.pair_of(controls, experiment.problem.network)
        return controls
    except SottovoceError as error:
        complain(error)
        return PLAIN
