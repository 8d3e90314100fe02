"""Generalised linear models on exact sums: Newton's method (see ``family``) by agreements.

counts, products of columns       1: what stays of the columns, their units, and the first step (``glm_start``)
deviance, score, information      at every point; with offsets those of the model of an intercept alone ride along
scores of rows; perfect fit       1, as far as robust errors or an estimated dispersion ask for it (``glm_closing``)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.rows import Rows
from ..agreements import Agreements
from ..likelihood.maximise import MOST, REACH, Maximum, maximise
from . import glm_closing as closing
from .glm_fit import GLMFit
from .glm_model import GLMModel
from .glm_start import known, numbers_of
from .glm_sums import Layout, Part, Reading

NULL = "Intercept without columns"


def glm_program(agreements: Agreements, rows: Sequence[Rows], model: GLMModel) -> GLMFit:
    """A fit as the local parties run it, on the ``rows`` of each."""
    found = known(agreements, rows, model)
    parts, reading = [Part(part, found) for part in rows], Reading(found)
    return closing.closed(agreements, parts, reading, _top(agreements, parts, reading))


def _top(agreements: Agreements, parts: Sequence[Part], reading: Reading) -> Maximum:
    found, model = reading.known, reading.known.model
    start, ahead = found.start()
    names, named = found.columns.terms, np.eye(len(start) + model.moved)
    named[: len(start), : len(start)] = found.columns.unmixed.T
    if model.moved:  # the model of an intercept alone is climbed beside
        start, names = np.append(start, found.start_of_null), (*names, NULL)
    return maximise(
        agreements, parts, start, names, reading, size=reading.layout.size, infinite=model.infinite, ahead=ahead,
        reach=REACH if model.link.power is None else np.inf, rows=found.N if model.family.estimated else None,
        before=None if ahead is None else reading.before, named=named,
        digits=reading.digits(agreements),
    )  # fmt: skip


def agreements_of(model: GLMModel) -> int:
    """How many it takes, at most."""
    return 1 + MOST + closing.needed(model)


def numbers_sent(model: GLMModel) -> int:
    """How many integers of a party travel, at most."""
    climb = MOST * Layout(model.k, not model.canonical, model.moved).size
    return numbers_of(model) + climb + closing.numbers(model)
