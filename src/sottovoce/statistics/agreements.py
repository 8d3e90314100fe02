"""One private agreement after another: what every statistic is made of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..errors import BadlyHidden, InvalidInput, NotConverged
from ..masks import GaussianMask
from ..modular import ModularMask, check_seed
from ..network import Network
from ..problem import Problem, averaging
from ..schedules import Schedule
from ..solve import Result, Status, solve

Integers = npt.NDArray[np.int64]

DEFAULT_MASK = GaussianMask(variance=1e8)
# The excess is at most 4 (size/sigma)^2 [L_h^+]_ii n/(n-1) nats (THEORY 4): about 4e-4 on a small graph at this ratio.
HIDDEN = 100


class Agreements:
    """The runs of one statistic. Every run has pads of its own, with a seed too: a pad used twice is no pad."""

    def __init__(
        self,
        network: Network,
        schedule: Schedule | None,
        seed: int | None,
        tol: float,
        max_iter: int | None,
        progress: bool | None,
    ) -> None:
        self.network, self.tol = network, tol
        self.seed = None if seed is None else check_seed(seed)
        self.options: dict[str, Any] = {"schedule": schedule, "tol": tol, "max_iter": max_iter, "progress": progress}
        self.problems: list[Problem] = []
        self.masks: list[GaussianMask | ModularMask] = []
        self.runs: list[Result] = []

    @property
    def made(self) -> tuple[Status, tuple[Result, ...], tuple[Problem, ...], tuple[GaussianMask | ModularMask, ...]]:
        """The common fields of a ``Statistic``."""
        return self.runs[-1].status, tuple(self.runs), tuple(self.problems), tuple(self.masks)

    def mean(self, contributions: Array, mask: GaussianMask) -> Array:
        """The mean over the parties of ``(n, p)`` real numbers: row ``i`` is what party ``i`` holds at the end. It is
        right to about ``3 tol`` times the largest of them, or to ``resolution(mask)`` where that is larger."""
        size = np.abs(contributions).max(axis=1, initial=0.0)
        if HIDDEN * size.max() > mask.sigma:
            warnings.warn(
                f"party {size.argmax()} contributes numbers up to {size.max():.3g}, not small against the mask's sigma "
                f"= {mask.sigma:.3g}, so they are hidden badly. Give scale=, public numbers that bring the data "
                "to size 1, or a larger mask.",
                BadlyHidden,
                stacklevel=4,
            )
        # A public number rides along: against it the residual is measured where the contributions are smaller than
        # what rounding resolves to tol (the residuals of a perfect fit), and could not converge against themselves.
        floor = resolution(mask) / (3 * self.tol) if self.tol else 1.0
        return self._agree(np.column_stack([contributions, np.full(len(contributions), floor)]), mask)[:, :-1]

    def total(self, counts: Integers, mask: ModularMask) -> Integers:
        """The exact sum over the parties of ``(n, p)`` counts."""
        means = self._agree(counts.astype(np.float64), mask)
        return np.asarray(np.rint(self.network.n * means[0]), dtype=np.int64)

    def _agree(self, contributions: Array, mask: GaussianMask | ModularMask) -> Array:
        k = len(self.runs)
        seed = (
            None if self.seed is None else int(np.random.SeedSequence([self.seed, k]).generate_state(1, np.uint64)[0])
        )
        problem = averaging(self.network, contributions)
        # One network and one curvature: the step that was tuned for the first run serves them all.
        run = solve(problem, mask=mask, seed=seed, c=self.runs[0].c if self.runs else "auto", **self.options)
        self.problems.append(problem)
        self.masks.append(mask)
        self.runs.append(run)
        if run.status is not Status.CONVERGED:
            raise NotConverged(f"run {k + 1} ended as {run.status.value}.")
        return np.asarray(run.x)


def resolution(mask: GaussianMask) -> float:
    """What rounding leaves open in an agreed number: pads and data are rounded to ``mask.grid``, and a path of 1,000
    nodes, a bad case, loses another factor of 3. 3e-10 for the default mask."""
    return 12 * mask.grid


def check_mask(mask: GaussianMask | ModularMask, family: type[GaussianMask] | type[ModularMask]) -> None:
    """Gaussian pads are for real numbers, modular ones for counts; without a mask nothing is private."""
    if not isinstance(mask, family):
        example = "sv.GaussianMask(variance=1e8)" if family is GaussianMask else "sv.ModularMask()"
        raise InvalidInput(
            f"mask must be a {family.__name__} here, such as {example}; got {mask!r}. "
            "GaussianMask hides real numbers, ModularMask integers; for a run that hides nothing use sv.solve."
        )
