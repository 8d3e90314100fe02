"""Views that need no algebra: nothing at all, and the sums over groups of honest nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import Unsupported
from ..adversary import Adversary
from .leaks import Answer, Guarantee, Leaks, leaks
from .posterior import Posterior, blocks, conditioned, diagonal_blocks
from .secrets_and_prior import Secrets

if TYPE_CHECKING:
    from .case import Case


@dataclass(frozen=True, eq=False)
class NothingSeen:
    """What nobody learns."""

    secrets: Secrets

    def leaks(self, variance: float = 0.0) -> Leaks:
        """Whatever the pads."""
        leakage, floor, excess = np.zeros((3, self.secrets.n))
        return Leaks(leakage, floor, excess, np.sqrt(self.secrets.variances.reshape(self.secrets.n, -1)))


@dataclass(frozen=True, eq=False)
class SumsOnly:
    """Uniform pads modulo ``2^bits``: by construction the view is the sum over each honest part (``modular_mask``).

    Masked values are public, and so is their sum: taps are told the answer. They are averaged from ``z(0) = 0``, so the
    first message of ``i`` shows ``m_i``, and nothing depends on it before. The values of part of a component are
    uniform whatever the secrets: a component shows its sum once all of it has spoken, and nothing before. (A coalition
    without taps may then still not be able to resolve it: an upper bound.) The same is left of a run that nobody sees,
    once its answer is published.
    """

    case: Case
    adversary: Adversary

    def __post_init__(self) -> None:
        if self.case.setting.one_moment:
            raise Unsupported("the snapshot is for Gaussian pads; audit the transcript of a run under a ModularMask.")

    @property
    def sees_all(self) -> bool:
        return self.adversary.sees_all(self.case.channels)

    @property
    def answer(self) -> Answer:
        public = self.sees_all or self.case.published
        return Answer(self.case.secrets, self.adversary.corrupt, public=public)

    def spoken(self, answer: Answer) -> list[bool]:
        """Of each part, whether its sum is there."""
        woken = self.case.woken()
        return [self.case.published or bool(woken[group].all()) for group in answer.groups]

    @property
    def guarantee(self) -> Guarantee:
        sure = self.case.setting.iterations is None or not any(self.spoken(self.answer)) or self.sees_all
        return "exact" if sure else "upper bound"

    def leaks(self, variance: float = 0.0) -> Leaks:
        """Whatever the size of the pads."""
        answer, width = self.answer, self.case.secrets.width
        spoken = self.spoken(answer)
        given = answer.given
        left = Posterior(given, given, np.zeros_like(given))
        before = diagonal_blocks(answer.K, width)
        shown, told_by = conditioned(answer.root, answer.sums[np.repeat(spoken, width).astype(bool)])
        seen = Posterior(before, blocks(shown, width), blocks(told_by, width))
        told = self.case.published and not self.adversary.corrupt
        heard = self.case.woken()
        return leaks(answer, answer.honest, seen, left, complete=all(spoken), heard=heard, told=told)
