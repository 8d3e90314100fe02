"""The words of the page on a live run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..words import escape, listed
from .answers import Cell
from .drawing import COLOURS, INK, SIGNS
from .moment import ELSEWHERE, STATES, UP, Moment, Seen

if TYPE_CHECKING:
    from ..live_run import LiveRun

TOLD = 60  # events that are shown
RESIDUAL = "How far its messages are from settled, in units of scale; it must come below the tolerance."
WAKES = "How often it has computed in this agreement, and attempts to agree that it is enough."
MESSAGES = "Over all its connections, since its process was started"


def headline(live: LiveRun) -> str:
    """Where the run is, in one sentence."""
    now = live.now
    if now.finished:
        return "Finished: every party has its answer."
    running = any(seen.state == UP for seen in now.parties.values())
    where = live.agreement(now.stage) if running else ""
    return f"{now.counted()}{f', {where}' if where else ''}"


def traffic(now: Moment) -> str:
    """How much was said, and how fast as long as anything is."""
    sent = sum(seen.told.sent for seen in now.parties.values())
    rate = sum(rate for rate in now.rates.values() if rate is not None)
    return f"{sent:,} messages" if now.finished else f"{sent:,} messages so far, {rate:,.0f} a second"


def question_words(live: LiveRun) -> str:
    """What the parties agree on."""
    question = live.config.question
    if question.asked is not None and question.asked.formula:
        return f"{question.kind.replace('_', ' ')}: {question.asked.formula}"
    if question.statistic is None:
        return question.kind.replace("_", " ")
    return f"{question.kind.replace('_', ' ')} of {listed(list(question.statistic.columns))}"


def details(seen: Seen, live: LiveRun) -> list[tuple[Cell, Cell]]:
    """All that is known of one party."""
    told = seen.told
    rows: list[tuple[Cell, Cell]] = [("state", (seen.state, STATES[seen.state]))]
    if seen.said:
        rows.append(("its last sentence", seen.said))
    if seen.state == UP and not seen.here and live.controlled:
        rows.append(("process", ("not started here", "Only processes that were started here are ended from here.")))
    if seen.state == UP:
        rows.append(("agreement", live.agreement(told.stage).removeprefix("in ")))
        rows.append((("residual", RESIDUAL), "not known yet" if told.residual is None else f"{told.residual:.1e}"))
        rows.append((("wakes, attempts", WAKES), f"{told.wakes:,}, {told.epoch:,}"))
    if told.sent or told.received:
        rows.append((("messages", MESSAGES), f"{told.sent:,} sent, {told.received:,} received"))
    if seen.state == UP:
        if reached := [name for name, state in told.neighbours.items() if state == "up"]:
            rows.append(("reaches", listed(reached)))
        rows += [(f"does not reach {name}", state) for name, state in told.neighbours.items() if state != "up"]
        if told.waits_for:
            rows.append(("waits for", f"{listed(list(told.waits_for))} to accept attempt {told.epoch}"))
        rows += [("says", said) for said in told.sentences]
    return rows


def event_list(events: Iterable[tuple[float, str]]) -> str:
    """The newest first, as HTML."""
    lines = [f"<li><b>{seconds:.1f} s</b> {escape(text)}</li>" for seconds, text in reversed(list(events))]
    return f"<ul class='events'>{''.join(lines[:TOLD])}</ul>"


def legend() -> str:
    """What colours, signs and lines mean, as HTML."""
    words = {state: state for state in STATES} | {UP: "up: the agreement it is in"}
    spots = "".join(
        f"<span title='{escape(STATES[state])}'><i class='spot' style='background: {COLOURS[state]}; color: {INK}'>"
        f"{'2' if state == UP else SIGNS[state]}</i>{escape(text)}</span>"
        for state, text in words.items()
        if state != ELSEWHERE
    )
    edges = "<span>line: messages a second, both ways; dashed: down, or without values</span>"
    return f"<div class='legend'>{spots}{edges}</div>"
