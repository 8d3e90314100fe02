"""A live run: the parties of a trial as they run, killed and started again by hand, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nicegui import run, ui

from ...errors import InvalidInput, SottovoceError
from ..layout import Cell, columns, facts, heading
from ..live.drawing import busiest, edge, label_places, node, still
from ..live.moment import ENDED
from ..live.party_table import KILL, START, PartyTable
from ..live.sentences import RESIDUAL, details, event_list, headline, legend, question_words, traffic
from ..live_run import TOLERANCE, LiveRun
from ..network_view import NetworkView
from ..plots import AXIS, DASHES, Curve, Plot
from ..plots import COLOURS as CURVES
from ..session import Session, complain
from ..words import escape

EVERY = 0.35  # seconds between two looks at what has changed
REDRAWN = 4000  # points that are appended before the curves are drawn anew, from a shorter history
WHAT = "A trial runs all parties of a plan on this machine, each a process of its own, over real connections."
FEW, DOT = 5, 6  # points of a curve that is drawn as points, too, and their size in pixels
NOISE = "Of what every party adds to its numbers, in squared units of scale; it does not cancel."
NONE = """
<h2>A live run</h2>
<p>This page shows parties as they run: who is up, what they say to each other and how fast, how far they are from the
answer, and what becomes of a run when one of them is killed and started again. There is none to show yet. Two commands
bring one; end this studio first (Ctrl-C), or give another <code>--port</code>.</p>
<p>Ten hospitals that fit one regression, ready to be disturbed:</p>
<pre>sottovoce demo --studio</pre>
<p>The parties of a plan of your own, all on this machine:</p>
<pre>sottovoce plan plan.toml --generate-keys --out trial
sottovoce studio --cluster trial</pre>
"""


class Live:
    """The page."""

    def __init__(self, session: Session, *, live: LiveRun | None) -> None:
        if live is None:
            with ui.element("main").classes("studio-centre words live-none"):
                ui.html(NONE, sanitize=False)
            return
        self.live = live
        self.chosen: str | None = None
        self.shown: dict[str, Any] = {}  # what was sent of each part of the page
        self.drawn, self.appended = -1.0, 0  # until when the curves are drawn, and how many points were added since
        with columns() as (left, centre, right):
            with left:
                self._about()
            with centre:
                self._picture()
            with right:
                self._lists()
        self._draw_curves()
        self.update()
        ui.timer(EVERY, self.update)

    # What there is

    def _about(self) -> None:
        live = self.live
        heading("Run", WHAT)
        self.headline = ui.label().classes("figure live-headline").props('role="status" data-testid="headline"')
        config = live.config
        rows: list[tuple[Cell, Cell]] = [
            ("name", config.run_name), ("asked for", question_words(live)), ("parties", str(len(live.names))),
            ("channels", config.channels), ("edges", f"{len(config.route.edges)} of {len(live.edges)} carry values"),
            (("tolerance", RESIDUAL), f"{config.tol:g}"),
        ]  # fmt: skip
        if config.question.noise is not None:
            rows.append((("noise", NOISE), f"variance {config.question.noise.variance:g}"))
        ui.html(facts(rows), sanitize=False)
        self.traffic = ui.label().classes("small soft").props('data-testid="traffic"')
        with self.traffic:
            ui.tooltip("Sent by the parties whose process runs, since each was started")
        self.all = ui.button("Start all", on_click=lambda: self.do(live.start_all))
        with self.all.props("unelevated no-caps icon=play_arrow"):
            ui.tooltip("Start every party that does not run and has no answer")
        if not live.controlled:
            ui.label("To be watched only: this studio can be reached from other machines.").classes("small soft")
        self.title = ui.html("", sanitize=False)
        with ui.row():
            self.kill = ui.button("Kill", on_click=lambda: self.chosen and self.do(live.kill, self.chosen))
            self.start = ui.button("Start", on_click=lambda: self.chosen and self.do(live.start, self.chosen))
            for button, tip in ((self.kill, KILL), (self.start, START)):
                with button.props("outline dense no-caps padding='2px 12px'"):
                    ui.tooltip(tip)
        self.details = ui.html("", sanitize=False).classes("w-full live-details").props('data-testid="chosen"')

    def _picture(self) -> None:
        live = self.live
        self.view = NetworkView("The parties, and how many messages a second travel between them", fixed=True)
        self.view.classes("live-network")
        self.view.on("mark", lambda event: self.choose_number(event.args))
        at = label_places(live.places, live.edges)
        nodes = [still(name, place) | self._node(name) for name, place in zip(live.names, live.places, strict=True)]
        edges = [{"a": a, "b": b, "at": t} | self._edge(a, b) for (a, b), t in zip(live.edges, at, strict=True)]
        self.view.draw(nodes, edges)
        self.nodes, self.edges = [dict(of) for of in nodes], [dict(of) for of in edges]
        ui.html(legend(), sanitize=False)
        self.answer = ui.element("section").classes("live-answer")
        self.answer.props('aria-label="The answer" data-testid="answer" aria-live="polite"')
        self.residuals = Plot(
            "Residuals", "time (s)", "residual (units of scale)", log_y=True, height=300,
            tip=f"{RESIDUAL} Time counts from when this studio began to watch.",
        )  # fmt: skip

    def _lists(self) -> None:
        live = self.live
        heading("Parties", "One process each")
        act = {"kill": self._kill, "start": self._start} if live.controlled else {"kill": None, "start": None}
        with ui.element("div").classes("scroll tall"):
            self.table = PartyTable(live.names, self.choose, **act)
        heading("What has happened", "Seconds since this studio began to watch; the newest is on top")
        with ui.element("div").classes("scroll"):
            self.events = ui.html("", sanitize=False).props('data-testid="events"')

    # What is done

    async def _kill(self, name: str) -> None:
        await self.do(self.live.kill, name)

    async def _start(self, name: str) -> None:
        await self.do(self.live.start, name)

    async def do(self, work: Callable[..., None], *names: str) -> None:
        """Have it done beside the page; whether it may be is checked there."""
        try:
            await run.io_bound(work, *names)
        except SottovoceError as error:
            complain(error)
        self.update()

    def choose_number(self, said: Any) -> None:
        """The party that was clicked in the drawing."""
        i = said.get("i") if isinstance(said, dict) else None
        if isinstance(i, int) and not isinstance(i, bool) and 0 <= i < len(self.live.names):
            self.choose(self.live.names[i])
        else:
            complain(InvalidInput("the page said something that means nothing here; load it again."))

    def choose(self, name: str) -> None:
        """Tell more of this party; of none where it was told already."""
        self.chosen = None if self.chosen == name else name
        self.view.show_frame({"awake": [] if self.chosen is None else [self.live.names.index(name)]})
        self.update()

    # What is shown

    def update(self) -> None:
        """Send what has changed, and nothing else."""
        live, now = self.live, self.live.now
        self._changed("headline", headline(live), self.headline.set_text)
        self._changed("traffic", traffic(now), self.traffic.set_text)
        self._changed("all", live.controlled and bool(live.startable), self.all.set_visibility)
        self.table.show(now)
        self._changed("events", live.events, lambda events: self.events.set_content(event_list(events)))
        self._draw_network()
        self._add_to_curves()
        self._changed("answer", live.results.answer, lambda _: self._show_answer())
        self._show_chosen()

    def _changed(self, part: str, value: Any, show: Callable[[Any], object]) -> None:
        if part not in self.shown or self.shown[part] != value:
            self.shown[part] = value
            show(value)

    def _node(self, name: str) -> dict[str, Any]:
        seen = self.live.now.parties[name]
        return node(seen, self.live.agreement(seen.told.stage))

    def _edge(self, a: int, b: int) -> dict[str, Any]:
        live = self.live
        return edge(live.now, live.names[a], live.names[b], busiest(live.now), (a, b) in live.config.route.edges)

    def _draw_network(self) -> None:
        live = self.live
        nodes = {i: _other(self.nodes[i], self._node(name)) for i, name in enumerate(live.names)}
        edges = {k: _other(self.edges[k], self._edge(a, b)) for k, (a, b) in enumerate(live.edges)}
        self.view.change(
            {i: change for i, change in nodes.items() if change}, {k: change for k, change in edges.items() if change}
        )

    def _draw_curves(self) -> None:
        history, names = self.live.history, self.live.names
        self.drawn, self.appended = self.live.now.seconds, 0
        curves = []
        for k, name in enumerate([TOLERANCE, *names], start=-1):
            x, y = zip(*history.after(name, -1.0), strict=True) if history.after(name, -1.0) else ((), ())
            shade, dash = CURVES[k % len(CURVES)], DASHES[k // len(CURVES) % len(DASHES)]
            level = name == TOLERANCE
            curves.append(Curve(name, x, y, AXIS if level else shade, [6, 4] if level else dash, 2.0 if level else 1.5))
        self.residuals.draw(curves)
        self.values = {curve.name: _values(curve.y) for curve in curves}
        for series in self.residuals.chart.options["series"]:
            if self.values.get(series.get("name"), FEW) < FEW:  # of one point there is no line to be seen
                series |= {"showSymbol": True, "symbolSize": DOT}

    def _add_to_curves(self) -> None:
        live, until = self.live, self.live.now.seconds
        new = {name: live.history.after(name, self.drawn) for name in (*live.names, TOLERANCE)}
        new = {name: [point for point in points if point[0] <= until] for name, points in new.items()}
        values = {name: before + _values(y for _, y in new[name]) for name, before in self.values.items()}
        enough = any(before < FEW <= values[name] for name, before in self.values.items())
        appended = self.appended + sum(map(len, new.values()))
        if enough or appended > REDRAWN:
            return self._draw_curves()
        self.drawn, self.appended, self.values = until, appended, values
        self.residuals.append(new)

    def _show_answer(self) -> None:
        self.answer.clear()
        if (answer := self.live.results.answer) is None:
            return
        with self.answer:
            heading("The answer", "From the result files that the parties have written")
            ui.label(" ".join(answer.sentences)).classes("words small")
            with ui.element("div").classes("scroll"):
                ui.html(facts(answer.rows, answer.header), sanitize=False)

    def _show_chosen(self) -> None:
        seen = None if self.chosen is None else self.live.now.parties[self.chosen]
        text = "Click a party for more" if seen is None else seen.name
        self._changed("title", text, lambda text: self.title.set_content(f"<h2>{escape(text)}</h2>"))
        controlled = self.live.controlled and seen is not None
        self._changed("kill", controlled and seen is not None and seen.here, self.kill.set_visibility)
        may_start = controlled and seen is not None and not seen.here and seen.state in ENDED
        self._changed("start", may_start, self.start.set_visibility)
        rows = [] if seen is None else details(seen, self.live)
        self._changed("details", rows, lambda rows: self.details.set_content(facts(rows) if rows else ""))


def _values(y: Iterable[float | None]) -> int:
    """How many points can be drawn: not gaps, nor what has no logarithm."""
    return sum(value is not None and value > 0 for value in y)


def _other(shown: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What differs from what is shown, which it then is."""
    change = {key: value for key, value in now.items() if shown.get(key) != value}
    shown |= change
    return change
