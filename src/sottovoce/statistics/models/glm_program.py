"""Generalised linear models on private sums: Newton's method (see ``families``) by agreements.

N, events or counts, sizes            integers: zero events are refused here, and sums brought to size 1
columns standardised, mean of y       2 on real numbers, 1 on integers
the model of an intercept alone       with an offset: steps of their own; without, the start is its maximum
D, score, information                 at every step
residuals; sandwich; log-likelihood   1 each, as far as they are asked for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import NotConverged, Undetermined
from ...numerics.symmetric import symmetric, upper
from ...pdmm.masks import GaussianMask
from ...pdmm.modular_mask import ModularMask
from ..agreements import Agreements
from ..likelihood import columns as standard
from ..likelihood import maximise as climbing
from ..likelihood.columns import agreed_columns
from ..likelihood.maximise import REACH, Maximum, maximise, packed
from ..orders import exponents
from ..settled import integers
from . import glm_closing as closing
from .glm_fit import GLMFit
from .glm_model import GLMModel, Known
from .glm_sums import Part


def glm_program(agreements: Agreements, rows: Sequence[Rows], model: GLMModel, mask: GaussianMask) -> GLMFit:
    """A fit as the local parties run it, on the ``rows`` of each."""
    try:
        return _fitted(agreements, rows, model, mask)
    except NotConverged:
        return GLMFit(*agreements.made)


def agreements_of(model: GLMModel) -> int:
    """How many it takes, at most."""
    return 2 + standard.AGREEMENTS + 1 + (1 + model.moved) * climbing.MOST + closing.AGREEMENTS


def numbers_of(model: GLMModel) -> int:
    """How many real numbers of a party travel, at most."""
    k, columns = model.k, len(model.names) + 1
    steps = climbing.MOST * (climbing.numbers(k) + model.moved * climbing.numbers(1))
    return standard.numbers(columns, also=2) + k * (k + 3) // 2 + steps + closing.numbers(k)


def counts_of(model: GLMModel) -> int:
    """How many integers of a party travel, at most."""
    return 6 + 2 + standard.counts(len(model.names) + 1) + integers(2)


def _fitted(agreements: Agreements, rows: Sequence[Rows], model: GLMModel, mask: GaussianMask) -> GLMFit:
    counts = np.array([model.counts(part) for part in rows])
    known = model.read_counts(agreements.total(counts, ModularMask(), of=model.counted))
    if model.weights is not None and (model.binary or model.counting):
        known = _weighed(agreements, rows, model, known)
    parts, mean = _standardised(agreements, rows, model, known, mask)
    null, sizes = _null(agreements, parts, model, known, mask, mean)
    start = _start(agreements, parts, model, known, mask, null)
    top = _top(agreements, parts, start, known, mask)
    return closing.closed(agreements, parts, known, mask, top, null, top.first if sizes is None else sizes)


def _weighed(agreements: Agreements, rows: Sequence[Rows], model: GLMModel, known: Known) -> Known:
    """With weights there may be far more events than rows that have some, or far fewer."""

    def sums(block: Array) -> Array:
        y, w = model.y(block), model.w(block) / known.weight
        return np.column_stack([w * y, w * np.maximum(1 - y, 0.0)])

    own = np.array([np.minimum(np.rint(part.sums(sums)), 2.0**40 / agreements.parties) for part in rows])
    total = agreements.total(own.astype(np.int64), ModularMask(), of_rows=False, of="events and others, weighted")
    events, others = total.tolist()
    size = min(events, others) if model.binary else events
    return replace(known, size=model.brought(size, known.N), common=model.binary and events > others)


def _standardised(
    agreements: Agreements, rows: Sequence[Rows], model: GLMModel, known: Known, mask: GaussianMask
) -> tuple[list[Part], Array]:
    """Parts in units that are the same everywhere, and the weighted mean of responses in them, as each holds it."""
    gaussian, d = model.family.power == 0, len(model.names)
    unit = model.unit[d] if gaussian else known.level
    # Sums of responses are of the size of the information, and not of the number of rows: those of the rarer outcome.
    per = known.N / known.size

    def also(block: Array) -> Array:
        y, w = model.y(block), model.w(block) / known.weight
        return np.column_stack([w, w * (1 - y if known.common else y) / unit * per])

    names = (*model.names, model.response) if gaussian else model.names
    found, means = agreed_columns(
        agreements, rows, known.N, mask, names, model.unit[: len(names)], intercept=model.intercept, also=also
    )
    mean = means[:, 1] / means[:, 0] / per * unit
    mean = 1 - mean if known.common else mean
    columns, centre, level = found[0], 0.0, known.level
    if gaussian:
        if columns.flat[d]:
            raise Undetermined(
                f"{model.response!r} does not vary over the rows of all parties, to the precision of the agreement. If "
                "it does, by little, take a smaller scale, or its difference to a public number."
            )
        centre, level = float(columns.centre[d]), float(columns.deviation[d])
        columns = replace(columns, names=model.names, centre=columns.centre[:d], deviation=columns.deviation[:d])
    if model.ridge:  # where the penalty is larger than a column's information, it sets the unit
        least = 2.0 ** exponents(np.sqrt(model.ridge / known.weight / known.size))
        columns = replace(columns, deviation=np.maximum(columns.deviation, least))
    return [Part(part, model, columns, centre, level, known.weight) for part in rows], (mean - centre) / level


def _null(
    agreements: Agreements, parts: list[Part], model: GLMModel, known: Known, mask: GaussianMask, mean: Array
) -> tuple[Array, Array | None]:
    """The intercept of the model that has nothing else, as each local party holds it; and its objective, where steps
    were needed to find it."""
    eta = model.link.of(mean) - parts[0].shift
    if not model.moved:
        return eta, None
    start = eta - known.offset / parts[0].factor
    top = _top(agreements, [own.alone() for own in parts], start[:, None], known, mask)
    return top.theta[:, 0], top.objective


def _start(
    agreements: Agreements, parts: list[Part], model: GLMModel, known: Known, mask: GaussianMask, null: Array
) -> Array:
    """An intercept alone; where the model has none, what comes nearest to it."""
    if model.intercept:
        return np.column_stack([null, np.zeros((len(parts), model.k - 1))])
    k = model.k
    sums = [own.squares() for own in parts]
    own = np.array([np.append(upper(XX), X) for XX, X in sums]) * agreements.parties / known.N
    agreed = agreements.mean(own, mask, degree=0, of="products of the columns, and their sums")
    start = np.empty((len(parts), k))
    for held, found, eta in zip(agreed, start, null, strict=True):
        found[:] = eta * np.linalg.lstsq(symmetric(held[:-k], k), held[-k:], rcond=1e-6)[0]
    return start


def _top(agreements: Agreements, parts: list[Part], start: Array, known: Known, mask: GaussianMask) -> Maximum:
    model, terms = parts[0].model, parts[0].columns.terms
    reach, P = REACH if model.link.power is None else np.inf, parts[0].penalty / known.size

    def penalised(sums: Array, theta: Array) -> Array:
        """The penalty is public: everybody adds it to what was agreed on."""
        return sums + packed(-float(P @ theta**2) / 2, -P * theta, np.diag(P))

    return maximise(
        agreements, parts, start, terms, mask, known.size, reach=reach, infinite=model.infinite,
        of_sums=[penalised] * len(parts),
    )  # fmt: skip
