"""Who learns what: mark parties corrupt, and see what they learn about the others."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import ui

from ...errors import SottovoceError
from ...privacy import Report
from .. import words
from ..audits import SCALE, audited, calibrated, drawing, order, suggested, worst
from ..layout import Cell, columns, facts, heading
from ..mask_control import MaskControl
from ..network_view import NetworkView, edges_of, node_of
from ..play import steps_of
from ..scene import VARIANCES, Scene
from ..session import Session, complain, computed
from ..tools import hand_keys, hand_tools, network_tools

AT_ONCE = 100  # parties that are audited while everybody waits: some milliseconds
SHOWN = 60  # rows of the table


class Learns:
    """The page."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked = 0  # so that a slow answer does not overwrite a later one
        with columns() as (left, centre, right):
            with left:
                network_tools(session)
                self._mask()
            with centre:
                self.view = NetworkView("The network: parties and who talks to whom")
                hand_tools(self.view)
                self.view.move()  # below its tools
                self.view.edits(session)
                _legend()
                hand_keys()
            with right:
                self._meaning()
        session.listen(self.changed)
        self.changed(None, session.scene)

    def _mask(self) -> None:
        scene = self.session.scene
        MaskControl(self.session)
        heading("Channels", "Open: whoever taps reads every message. Encrypted: the corrupt read their own alone.")
        self.channels = ui.toggle(
            {"open": "open", "encrypted": "encrypted"}, value=scene.channels,
            on_change=lambda event: self.session.change(lambda scene: replace(scene, channels=event.value)),
        ).props('dense no-caps unelevated toggle-color=primary padding="3px 12px"')  # fmt: skip
        heading(
            "What attackers know before",
            "How large a number is, counted from 0: before anything is sent, they take it for N(0, size²). Left empty, "
            "that is the root mean square of the numbers here.",
        )
        self.prior = ui.number(
            "Typical size of a number", value=None if scene.prior is None else math.sqrt(scene.prior)
        )
        self.prior.props("dense outlined clearable stack-label min=0").classes("w-full")
        self.prior.on("change", self._set_prior)
        self.prior.on("clear", self._set_prior)

    def _set_prior(self) -> None:
        value = self.prior.value
        self.session.change(lambda scene: replace(scene, prior=None if value is None else float(value) * float(value)))

    def _meaning(self) -> None:
        with ui.element("div").props('aria-live="polite" role="status"'):
            self.banner = ui.row().classes("items-center banner no-wrap")
            with self.banner:
                self.supposed = ui.label().classes("small")
                ui.button("Back to those marked", on_click=self._back).props("flat dense no-caps")
            self.verdict = ui.html("", sanitize=False)
            self.words = ui.html("", sanitize=False).classes("words").props('data-testid="words"')
        self.how = ui.label().classes("small soft")
        heading("Party by party", "Every number is about one party's number, learned by those who are corrupt.")
        with ui.element("div").classes("scroll"):
            self.table = ui.html("", sanitize=False).props('data-testid="table"').classes("w-full")
        heading("If others were corrupt", "Whoever it is: all coalitions of so many are tried.")
        with ui.row().classes("no-wrap items-center w-full"):
            self.coalition = ui.select(
                {1: "any one", 2: "any two", 3: "any three"}, value=self.session.scene.coalition, label="Corrupt",
                on_change=lambda event: self.session.change(
                    lambda scene: replace(scene, coalition=event.value), remember=False),
            ).props("dense outlined").classes("w-32")  # fmt: skip
            self.find = ui.button("Find the worst", on_click=self._worst).props(
                "outline dense no-caps padding='4px 10px'"
            )
        with ui.row().classes("no-wrap items-center w-full"):
            self.bound = ui.number(
                "Nats messages may add", value=self.session.scene.bound, min=1e-9, max=10, format="%.4g"
            )
            self.bound.props("dense outlined").classes("w-32")
            self.bound.on("change", self._set_bound)
            self.smallest = ui.button("Smallest mask", on_click=self._calibrate)
            self.smallest.props("outline dense no-caps padding='4px 10px'")
        with self.smallest:
            ui.tooltip("The smallest mask that keeps what messages add below the bound, whoever is corrupt")
        self.found = ui.html("", sanitize=False).classes("words small").props('aria-live="polite" data-testid="found"')
        heading("Edges that would help", "New channels after which one party more must be corrupt to cut the network.")
        self.edges = ui.column().classes("w-full gap-1")

    # What happens

    def changed(self, before: Scene | None, scene: Scene) -> None:
        """The scene is another."""
        self._follow(scene)
        if before is not None and scene.differs(before) <= {"places"} and self.report is not None:
            self.view.draw(*drawing(scene, self.report))
            return
        if before is None or scene.differs(before) != {"variance"}:
            self.found.set_content("")
        self.edges.clear()
        with self.edges:
            ui.button("Suggest", on_click=self._suggest).props("outline dense no-caps padding='4px 10px'")
        self.asked += 1
        if scene.channels == "encrypted" or scene.n > AT_ONCE or len(scene.edges) > 20 * AT_ONCE:
            ui.timer(0.01, lambda: self._audit_slowly(self.asked), once=True)
            return
        try:
            self._show(audited(scene))
        except SottovoceError as error:
            self._not_audited(error)

    report: Report | None = None

    async def _audit_slowly(self, asked: int) -> None:
        scene = self.session.scene
        self.verdict.set_content("<span class='soft'>auditing …</span>")
        report = await computed(audited, scene)
        if asked != self.asked:
            return
        if report is None:
            self._not_audited(None)
        else:
            self._show(report)

    def _not_audited(self, error: Exception | None) -> None:
        scene = self.session.scene
        self.report = None
        self.view.draw([node_of(scene, i, scene.names[i]) for i in range(scene.n)], edges_of(scene))
        self.verdict.set_content("<span class='verdict not'>not assessed</span>")
        self.words.set_content("")
        self.table.set_content("")
        if error is not None:
            complain(error)

    def _show(self, report: Report) -> None:
        scene = self.session.scene
        self.report = report
        self.view.draw(*drawing(scene, report))
        told, kind = words.badge(report, scene)
        found = report.verdict(scene.bound).value
        self.verdict.set_content(
            f"<p class='verdict {kind}' data-verdict='{found}'>{words.escape(told)}</p><p class='small soft'>Messages "
            f"may add {words.both(scene.bound)} before it is called weak; see below.</p>"
        )
        supposed = report.coalitions is not None
        self.banner.set_visibility(supposed)
        if supposed:
            self.supposed.set_text(f"The worst case, {words.who(report, scene)}: not those that are marked.")
        c, theta = steps_of(scene)
        self.how.set_text(f"For c = {c:.3g}, theta = {theta:.3g}, schedule {scene.schedule.replace('_', ' ')}.")
        self.words.set_content("".join(f"<p>{words.escape(said)}</p>" for said in words.paragraph(report, scene)))
        listed = order(report, scene)[:SHOWN]
        rows = [_row(report, scene, i) for i in listed]
        more = f"the {SHOWN} of which most is learned, of {scene.n}" if scene.n > SHOWN else ""
        header: list[Cell] = [
            "party", ("interval narrower", words.NARROWER), ("in all (nats)", words.NATS),
            ("at any mask (nats)", words.FLOOR), ("messages add (nats)", words.EXCESS),
        ]  # fmt: skip
        self.table.set_content(facts(rows, header, more, [words.about(report, scene, i) for i in listed]))

    def _follow(self, scene: Scene) -> None:
        """Controls that follow what was undone, or loaded."""
        self.channels.set_value(scene.channels)
        self.coalition.set_value(scene.coalition)
        self.bound.set_value(scene.bound)
        self.prior.set_value(None if scene.prior is None else math.sqrt(scene.prior))
        self.prior.props["placeholder"] = f"from the numbers: {words.plain(words.root_mean_square(scene))}"

    def _set_bound(self) -> None:
        value = self.bound.value
        if value is not None:
            self.session.change(lambda scene: replace(scene, bound=float(value)), remember=False)

    async def _worst(self) -> None:
        with _waiting(self.find):
            scene = self.session.scene
            report = await computed(worst, scene)
        if report is None or scene is not self.session.scene:
            return
        self._show(report)

    def _back(self) -> None:
        """From the worst case to those who are marked."""
        self.changed(None, self.session.scene)

    async def _calibrate(self) -> None:
        with _waiting(self.smallest):
            scene = self.session.scene
            mask = await computed(calibrated, scene)
        if mask is None or scene is not self.session.scene:
            return
        variance = min(max(mask.rounded_up, VARIANCES[0]), VARIANCES[1])
        self.session.change(lambda scene: replace(scene, variance=variance))
        least = "The smallest mask" if mask.smallest else "A mask that does, though a smaller one may"
        self.found.set_content(
            f"<p>{least}: variance <b data-testid='variance'>{variance:.3g}</b>, against {words.escape(mask.against)}. "
            f"Messages then add at most {scene.bound:g} nats ({words.narrows(scene.bound)} of an interval) to what the "
            f"mean tells.</p>"
        )

    async def _suggest(self) -> None:
        scene = self.session.scene
        found = await computed(suggested, scene)
        if found is None or scene is not self.session.scene:
            return
        self.edges.clear()
        with self.edges:
            if not found.edges:
                ui.label((found.reason or "None are needed.").removesuffix(" Raise most.")).classes("small")
                return
            ui.label(
                f"It takes {found.before} corrupt part{'y' if found.before == 1 else 'ies'} to cut the network; with "
                f"{'this edge' if len(found.edges) == 1 else 'these edges'} it takes {found.after}."
            ).classes("small")
            pairs = [tuple(scene.names.index(str(end)) for end in edge) for edge in found.edges]
            for i, j in pairs:
                add = ui.button(f"Add {scene.names[i]} – {scene.names[j]}", on_click=partial(self._join, [(i, j)]))
                add.props("outline dense no-caps icon=add padding='2px 10px'")
            if len(pairs) > 1:
                ui.button("Add all", on_click=lambda: self._join(pairs)).props("flat dense no-caps")

    def _join(self, pairs: list[Any]) -> None:
        def edit(scene: Scene) -> Scene:
            for i, j in pairs:
                scene = scene.joined(i, j)
            return scene

        self.session.change(edit)


class _waiting:
    """A button that turns while something is computed."""

    def __init__(self, button: Any) -> None:
        self.button = button

    def __enter__(self) -> None:
        self.button.props("loading").disable()

    def __exit__(self, *_: object) -> None:
        self.button.props(remove="loading").enable()


def _row(report: Report, scene: Scene, i: int) -> list[str]:
    if i in scene.corrupt and report.coalitions is None:
        return [f"{scene.names[i]} (corrupt)", "-", "-", "-", "-"]
    total, excess, floor = (float(values[i]) for values in (report.leakage, report.excess, report.floor))
    return [scene.names[i], words.narrows(total), words.nats(total), words.nats(floor), words.nats(excess)]


def _legend() -> None:
    steps = "".join(f"<i class='step' style='background: {colour}'></i>" for colour in SCALE)
    ui.html(
        f"<div class='legend'><span>colour: what messages add, {steps} ten times as much a step, from 1e-6 to 1 nats "
        "(0.0001 % to 63 % of an interval)</span><span>number: how much narrower in all</span>"
        "<span><i class='square'></i>corrupt</span><span><i class='ring'></i>disclosed</span>"
        "<span><i class='group'></i>their exact sum is learned</span></div>",
        sanitize=False,
    )
