"""How a question is answered: the methods of the auditor, tried in order; the first that applies gives the view.

The fastest exact method comes first. A method that is asked for what it cannot do refuses, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...costs.base import Array
from ...errors import Unsupported
from ...pdmm.modular_mask import ModularMask
from ..adversary import Adversary, Nodes
from ..encrypted.own_edges import Between
from .by_construction import NothingSeen, SumsOnly
from .closed_form import OpenView
from .correlated_pads import CorrelatedPads
from .elimination import Elimination, first_sweep
from .leaks import Viewed
from .snapshot_view import SnapshotView

if TYPE_CHECKING:
    from .case import Case

UNKNOWNS = 1_200  # secrets and pads up to which the elimination takes seconds
OWN_EDGES = 6_000, 400  # secrets and pads, and nodes, up to which ranks over encrypted channels do
SWEEP = 1_000  # rounds in which every node must have woken
MORE = "closed form of open channels, which show more"


@dataclass(frozen=True, eq=False)
class Question:
    """What does this adversary learn, of all nodes or of the chosen ones?"""

    case: Case
    adversary: Adversary
    nodes: Nodes | None = None

    @property
    def corrupt(self) -> frozenset[int]:
        return self.adversary.corrupt

    @property
    def sees_all(self) -> bool:
        return self.adversary.sees_all(self.case.channels)

    @property
    def deaf(self) -> bool:
        """Whether nothing reaches the adversary."""
        return not self.corrupt and not self.sees_all

    @property
    def public(self) -> bool:
        """Whether an eavesdropper is told the answer."""
        return self.case.published and not self.corrupt

    @cached_property
    def factor(self) -> Array | None:
        """Of pads that are not independent; no columns where there are none; None where they are."""
        mask, problem = self.case.mask, self.case.secrets.problem
        if self.case.variance == 0:
            return np.zeros((int(problem.rows[-1]), 0))
        return mask.factor(problem) if isinstance(mask, CorrelatedPads) else None

    @property
    def closed(self) -> bool:
        """Whether the closed form holds: open channels that are tapped, and independent pads or none."""
        return self.sees_all and (self.factor is None or not self.factor.shape[1])

    @property
    def unknowns(self) -> int:
        """Numbers of secrets and pads."""
        problem = self.case.secrets.problem
        return int(problem.rows[-1]) + int(problem.columns[-1])

    @property
    def own_edges(self) -> bool:
        """Whether a coalition sees its own edges, and what they show is decided modulo a prime, with independent pads
        or none. (With others what open channels show is eliminated besides.)"""
        return not self.sees_all and (self.factor is None or not self.factor.shape[1])

    @property
    def in_a_subspace(self) -> bool:
        """Whether the pads cannot point everywhere."""
        return self.factor is not None and 0 < self.factor.shape[1] < int(self.case.secrets.problem.rows[-1])


class Method(Protocol):
    """One way to find what an adversary sees."""

    def applies(self, asked: Question) -> bool:
        """Whether this method is the one for the question, if none before it is."""
        ...

    def view(self, asked: Question) -> Viewed:
        """What is seen; refused, with the reason, where the method was asked for and cannot do it."""
        ...


class ByConstruction:
    """Uniform pads modulo ``2^bits`` show the sums over the honest parts."""

    def applies(self, asked: Question) -> bool:
        return isinstance(asked.case.mask, ModularMask) and asked.case.pads == "fresh" and asked.nodes is None

    def view(self, asked: Question) -> Viewed:
        sums = SumsOnly(asked.case, asked.adversary)
        return Viewed(sums, "by construction: masked values are uniform given the sums", sums.guarantee)


class Deaf:
    """Nothing reaches the adversary, but for a result that is published."""

    def applies(self, asked: Question) -> bool:
        return asked.deaf

    def view(self, asked: Question) -> Viewed:
        if asked.public:
            sums = SumsOnly(asked.case, asked.adversary)
            return Viewed(sums, "the published result, and nothing else, is seen", "exact")
        return Viewed(NothingSeen(asked.case.secrets), "nothing is seen", "exact")


class AtOneMoment:
    """The paper's snapshot."""

    def applies(self, asked: Question) -> bool:
        return asked.case.setting.one_moment

    def view(self, asked: Question) -> Viewed:
        case, iteration = asked.case, asked.case.setting.iterations
        assert iteration is not None
        if asked.factor is not None:
            raise Unsupported("the snapshot is implemented for independent Gaussian pads.")
        play = case.play(asked.corrupt)
        snapshot = SnapshotView(case.secrets, case.setting.schedule, iteration=iteration, **play)
        return Viewed(snapshot, "linear-Gaussian", "exact")


class ClosedForm:
    """Open channels that are tapped, and independent pads."""

    def applies(self, asked: Question) -> bool:
        return asked.case.method == "closed form" or (asked.closed and asked.case.method != "elimination")

    def view(self, asked: Question) -> Viewed:
        if not asked.closed:
            raise Unsupported("the closed form is for open channels that are tapped, and independent pads.")
        case, woken = asked.case, asked.case.woken()
        # Where the coalition knows every x, c cancels.
        c = 1.0 if asked.corrupt and woken.all() else case.setting.c
        view = OpenView(case.secrets, asked.corrupt, woken, c, asked.public, case.setting.overlay)
        return Viewed(view, "closed form", "exact")


class Published:
    """For eavesdroppers that are told the answer there is no other method."""

    def applies(self, asked: Question) -> bool:
        return asked.public

    def view(self, asked: Question) -> Viewed:
        raise Unsupported("answer='public' is for independent pads, by the closed form.")


class OpenBound:
    """More unknowns than can be eliminated: what open channels would show is a bound."""

    def applies(self, asked: Question) -> bool:
        if asked.own_edges:
            return asked.unknowns > OWN_EDGES[0] or asked.case.secrets.n > OWN_EDGES[1]
        return asked.unknowns > UNKNOWNS

    def view(self, asked: Question) -> Viewed:
        case, secrets = asked.case, asked.case.secrets
        most = f"{OWN_EDGES[0]:,} of {OWN_EDGES[1]:,} parties" if asked.own_edges else f"{UNKNOWNS:,}"
        told = f"{asked.unknowns:,} secrets and pads of {secrets.n:,} parties are too many to eliminate; at most {most}"
        correlated = isinstance(case.mask, CorrelatedPads) and case.variance > 0
        if correlated or case.method == "elimination":
            raise Unsupported(f"{told}.")
        c = 1.0 if asked.corrupt else case.setting.c
        everybody, overlay = np.ones(secrets.n, dtype=bool), case.setting.overlay
        view = OpenView(secrets, asked.corrupt, everybody, c, overlay=overlay)
        return Viewed(view, f"{MORE} ({told})", "upper bound")


class OwnEdges:
    """Encrypted channels: a coalition sees its own edges."""

    def applies(self, asked: Question) -> bool:
        return not asked.sees_all and not asked.in_a_subspace

    def view(self, asked: Question) -> Viewed:
        case, setting = asked.case, asked.case.setting
        seen = case.encrypted(asked.corrupt, asked.factor).view(setting.iterations)
        if isinstance(seen.view, Between) and case.runs > 1 and setting.random:  # each run has a sequence of its own
            return Viewed(seen.view.high, MORE, "upper bound")
        return seen


class ByElimination:
    """The general method. Over encrypted channels a coalition sees less."""

    def applies(self, asked: Question) -> bool:
        return True

    def view(self, asked: Question) -> Viewed:
        case, setting, play = asked.case, asked.case.setting, asked.case.play(asked.corrupt)
        view = Elimination(case.secrets, setting.schedule, sees_all=True, pads=asked.factor, **play)
        if setting.iterations is not None:
            view.play(setting.iterations)
        else:
            first_sweep(view, SWEEP * setting.schedule.round(setting.problem.network))
        return Viewed(view, "linear-Gaussian elimination", "exact" if asked.sees_all else "upper bound")


METHODS: tuple[Method, ...] = (
    ByConstruction(),
    Deaf(),
    AtOneMoment(),
    ClosedForm(),
    Published(),
    OpenBound(),
    OwnEdges(),
    ByElimination(),
)


def view_of(asked: Question) -> Viewed:
    """What the adversary sees, by the first method that applies."""
    return next(method for method in METHODS if method.applies(asked)).view(asked)
