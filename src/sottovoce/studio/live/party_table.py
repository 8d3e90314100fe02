"""The parties as a table: a row each, of which only what changes is sent, with a button to kill it or to start it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from .drawing import COLOURS, INK, sign
from .moment import ENDED, FINISHED, STATES, UP, Moment, Seen
from .sentences import RESIDUAL

KILL = "kill -9: the process ends at once, in the middle of whatever it does"
START = "A new process, which goes on from the journal of the one before, if there was one"
COLUMNS = {
    "party": "Click for more.",
    "": "What has become of it; point at it for more.",
    "agreement": "The agreement that it is in. A statistic takes several, one after the other.",
    "residual": RESIDUAL,
    "msg/s": "Messages a second that it sends, to all neighbours together.",
}

Act = Callable[[str], Any]


class PartyTable:
    """``choose``, ``kill`` and ``start`` are called with the name of a party; the last two may be None, and are not
    offered then."""

    def __init__(self, names: Sequence[str], choose: Act, kill: Act | None, start: Act | None) -> None:
        self.choose, self.kill, self.start = choose, kill, start
        self.rows: dict[str, _Row] = {}
        with ui.element("table").classes("facts parties").props('data-testid="parties"'):
            with ui.element("thead"), ui.element("tr"):
                for name, tip in COLUMNS.items():
                    with ui.element("th").props(f'title="{tip}" scope=col'):
                        ui.label(name)
                ui.element("th")
            with ui.element("tbody"):
                for name in names:
                    self.rows[name] = _Row(self, name)

    def show(self, now: Moment) -> None:
        """The parties at this moment."""
        for name, row in self.rows.items():
            sends = [rate for (sender, _), rate in now.rates.items() if sender == name and rate is not None]
            row.show(now.parties[name], sum(sends) if sends else None)


class _Row:
    def __init__(self, table: PartyTable, name: str) -> None:
        self.table, self.name = table, name
        self.shown: dict[str, str] = {}  # what was sent of each cell
        with ui.element("tr").props(f'data-party="{name}"') as self.row:
            with ui.element("th").classes("left"):
                button = ui.button(name, on_click=lambda: table.choose(name))
                button.props("flat dense no-caps padding='0'").classes("party-name")
            self.state = ui.html("", sanitize=False, tag="td").classes("left")
            self.cells = {of: ui.html("", sanitize=False, tag="td") for of in ("agreement", "residual", "rate")}
            with ui.element("td"):
                self.button = ui.button(on_click=self.act).props("outline dense no-caps size=sm padding='0 8px'")
                with self.button:
                    self.tip = ui.tooltip("")
        self.button.set_visibility(False)

    def show(self, seen: Seen, rate: float | None) -> None:
        told, up = seen.told, seen.state == UP
        texts = {
            "agreement": str(told.stage + 1) if up and told.stage >= 0 else "",
            "residual": f"{told.residual:.0e}" if up and told.residual is not None else "",
            "rate": f"{rate:.0f}" if up and rate is not None else "",
            "sign": sign(seen),
            "state": seen.state,
            "offer": self.offer(seen),
        }
        changed = {of for of, text in texts.items() if self.shown.get(of, "") != text}
        self.shown = texts
        for of in changed & self.cells.keys():
            self.cells[of].set_content(texts[of])
        if changed & {"sign", "state"}:
            spot = f"<i class='spot' style='background: {COLOURS[seen.state]}; color: {INK}'>{sign(seen)}</i>"
            self.state.set_content(f"{spot}{seen.state}")
            self.state.props(f'title="{STATES[seen.state]}"')
            self.row.props(f'data-state="{seen.state}"')
        if "offer" in changed:
            offer = texts["offer"]
            self.button.set_text(offer)
            self.button.props(f'aria-label="{offer} {self.name}"')
            self.tip.set_text(KILL if offer == "Kill" else START)
            self.button.set_visibility(bool(offer))

    def offer(self, seen: Seen) -> str:
        """What the button says; nothing where there is nothing to do, or not from here."""
        if self.table.kill is None or seen.state == FINISHED:
            return ""
        return "Kill" if seen.here else "Start" if seen.state in ENDED else ""

    async def act(self) -> None:
        act = self.table.kill if self.shown.get("offer") == "Kill" else self.table.start
        if act is not None:
            await act(self.name)
