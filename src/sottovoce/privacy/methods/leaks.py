"""From posteriors to leakage: what a view gives away, what the answer gives away anyway, and the difference.

* ``leakage`` is ``I(S_i; view)``.
* ``floor`` is ``I(S_i; answer)``: what the exact answer tells a coalition, whatever the mask. It knows its own secrets
  and, from the answer and its own edges, ``sum Q_j s_j`` over each connected group of honest nodes (theory: The floor).
  An eavesdropper without corrupt nodes is not told the answer: its floor is 0, unless the answer is published.
* ``excess`` is ``I(S_i; view | answer)``, what the protocol adds. On a whole transcript ``leakage = floor + excess``; a
  prefix or a snapshot does not hold the answer yet, and leakage may be less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ...costs.base import Array
from ..adversary import Nodes, honest_components
from .behind_noise import BehindNoise
from .posterior import Posterior, blocks, conditioned, diagonal_blocks, too_far_apart
from .secrets_and_prior import Secrets, entries

Guarantee = Literal["exact", "between", "upper bound", "none"]

MEET = 1e-9  # relative difference below which two bounds are one number


@dataclass(frozen=True, eq=False)
class Leaks:
    """Per node, in nats; ``nan`` for corrupt nodes and for those not asked for, ``inf`` for disclosed ones.

    ``std`` is the posterior standard deviation of each entry, ``(n, width)``. Where the view is known between two
    bounds these are the upper ends, and ``least`` has the lower ones.
    """

    leakage: Array
    floor: Array
    excess: Array
    std: Array
    least: Leaks | None = None

    @property
    def tight(self) -> bool:
        """Whether the two bounds meet."""
        assert self.least is not None
        pairs = ((self.leakage, self.least.leakage), (self.excess, self.least.excess))
        return all(np.allclose(low, high, rtol=MEET, atol=0, equal_nan=True) for high, low in pairs)


class View(Protocol):
    """What an adversary sees, whatever the method that found it."""

    def leaks(self, variance: float) -> Leaks:
        """What it gives away, for pads of this variance (divided by the number of runs)."""
        ...


class Viewed(NamedTuple):
    """A view, the method that found it in words, and what its numbers are."""

    view: View
    method: str
    guarantee: Guarantee


@dataclass(frozen=True, eq=False)
class Answer:
    """What a coalition knows of a run that only gives the exact optimum."""

    secrets: Secrets
    corrupt: frozenset[int]
    public: bool = False  # whether the answer is known without a corrupt node

    @cached_property
    def honest(self) -> Nodes:
        return np.setdiff1d(np.arange(self.secrets.n), list(self.corrupt))

    @cached_property
    def groups(self) -> list[Nodes]:
        """The groups of honest nodes whose sums are disclosed; none for an eavesdropper."""
        told = bool(self.corrupt) or self.public
        return honest_components(self.secrets.problem.network, self.corrupt) if told else []

    @cached_property
    def sums(self) -> Array:
        """``sum Q_j s_j`` over each group, as rows over the entries of the honest secrets."""
        w, Q = self.secrets.width, self.secrets.Q.reshape(self.secrets.n, self.secrets.width, self.secrets.width)
        sums = np.zeros((len(self.groups), w, len(self.honest), w))
        for total, group in zip(sums, self.groups, strict=True):
            total[:, np.searchsorted(self.honest, group)] = Q[group].transpose(1, 0, 2)
        return sums.reshape(-1, len(self.honest) * w)

    @cached_property
    def K(self) -> Array:
        """``Cov(S_honest | S_corrupt)``: a prior may couple them."""
        if self.secrets.K.ndim == 1:
            return np.diag(self.secrets.K[self.honest])
        return np.asarray(self.root @ self.root.T)

    @cached_property
    def root(self) -> Array:
        """``root root' = Cov(S_honest | S_corrupt)``."""
        prior, w = self.secrets.K, self.secrets.width
        if prior.ndim == 1:
            return np.diag(np.sqrt(prior[self.honest]))
        known = w * len(self.corrupt)
        order = np.concatenate([entries(sorted(self.corrupt), w), entries(self.honest, w)])
        return np.asarray(linalg.cholesky(prior[np.ix_(order, order)], lower=True)[known:, known:])

    @cached_property
    def root_given(self) -> Array:
        """``root_given root_given' = Cov(S_honest | answer)``."""
        return conditioned(self.root, self.sums)[0]

    @property
    def given(self) -> Array:
        """The blocks of ``Cov(S_honest | answer)``, one for every honest node."""
        w = self.secrets.width
        return blocks(self.root_given, w) if self.groups else diagonal_blocks(self.K, w)

    @property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Of all nodes, the honest ones all of whose neighbours are corrupt: their sum is themselves."""
        alone = np.zeros(self.secrets.n, dtype=bool)
        alone[[group[0] for group in self.groups if len(group) == 1]] = True
        return alone


def leaks(
    answer: Answer,
    nodes: Nodes,
    seen: Posterior,
    left: Posterior,
    *,
    complete: bool,
    heard: npt.NDArray[np.bool_],
    told: bool = False,
) -> Leaks:
    """Three informations per node, from the posterior given the view, and from that given the view and the answer.

    ``complete`` says that the view holds the answer, ``heard`` whose messages it holds, and ``told`` that the answer
    is known besides.
    """
    n, w = answer.secrets.n, answer.secrets.width
    K = answer.secrets.K
    prior = K[nodes][:, None, None] if K.ndim == 1 else diagonal_blocks(K, w)[nodes]
    held = np.array(complete and bool(answer.corrupt))
    noise = None if answer.secrets.noise is None else answer.secrets.noise[nodes]
    found = informations(prior, seen, left, answer.alone[nodes], heard[nodes], held, answer.secrets.copies, told, noise)
    every = Leaks(np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan), np.full((n, w), np.nan))
    for name in ("leakage", "floor", "excess", "std"):
        getattr(every, name)[nodes] = getattr(found, name)
    return every


def informations(
    prior: Array,
    seen: Posterior,
    left: Posterior,
    alone: npt.NDArray[np.bool_],
    heard: npt.NDArray[np.bool_],
    held: npt.NDArray[np.bool_],
    copies: int,
    told: bool = False,
    noise: BehindNoise | None = None,
) -> Leaks:
    """The same for nodes of one coalition, or of many stacked; ``held`` says of which coalitions the answer is part of
    the view, ``told`` that it is published. With ``noise`` the posteriors are of noisy numbers, the informations of the
    secrets."""

    def of_secret(posterior: Posterior) -> Posterior:
        return posterior if noise is None else noise.secret(posterior)

    # Of a node alone the answer leaves nothing, up to rounding: what follows must not look at it.
    instead = prior if noise is None else np.zeros_like(prior)
    left = Posterior(
        *(np.where(alone[..., None, None], instead, part) for part in (left.before, left.after, left.gained))
    )
    if noise is not None:  # its noisy number is known, and that is all
        seen = replace(seen, after=np.where((alone & heard)[..., None, None], 0.0, seen.after))
        alone = np.zeros_like(alone)
    floor = np.where(alone, np.inf, copies * of_secret(Posterior(prior, left.before, prior - left.before)).nats())
    own = Posterior(prior, seen.before, prior - seen.before)  # what the coalition's own secrets tell
    leakage = np.where(alone & heard, np.inf, copies * (of_secret(own).nats() + of_secret(seen).nats()))
    excess = np.where(alone, np.inf, copies * of_secret(left).nats())
    if told:  # I(S_i; view, answer), by the chain rule; no less than I(S_i; view)
        leakage = np.fmax(leakage, floor + excess)
    # Where the view holds the answer, one of the three is redundant: replace the one that rounding hurts most.
    small, held = excess < 1, held | told
    leakage = np.where(held & small, floor + excess, leakage)
    rest = np.where(np.isinf(leakage), np.inf, leakage - np.where(np.isinf(floor), 0.0, floor))
    excess = np.where(held & ~small, rest, excess)
    if np.isnan([leakage, floor, excess]).any():  # no verdict may take it for nothing
        raise too_far_apart()
    after = of_secret(left if told else seen).after
    std = np.sqrt(np.maximum(np.diagonal(after, axis1=-2, axis2=-1), 0))
    return Leaks(leakage, floor, excess, np.where(np.isinf(leakage)[..., None], 0.0, std))
