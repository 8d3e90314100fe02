"""EXTRA: gradient descent that is exact with a constant step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from ..costs.base import Array
from ..pdmm.problem import Problem
from .base import Family
from .gradient_method import Gradient, GradientMethod, curvature
from .metropolis import extremes

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True)
class EXTRA(GradientMethod):
    """EXTRA (Shi, Ling, Wu, Yin 2015): ``x2 = (I + W) x1 - (I + W)/2 x0 - al (g(x1) - g(x0))``, from
    ``x1 = W x0 - al g(x0)``, with Metropolis weights. For any smooth cost; an oracle for what gradients alone can do.

    They prove convergence for ``al < 2 lambda_min((I + W)/2) / L``, for convex costs whose gradients have the Lipschitz
    constant ``L``. Where all nodes have the curvature ``L``, an eigenvalue ``w = 1 - e`` of ``W`` moves by the roots of
    ``t^2 - (1 + w - al L) t + (1 + w)/2 - al L``, and disagreement ends fastest at ``al L = sqrt(2e) - e`` for the
    second eigenvalue. ``"auto"`` is that, or half of what is proven where that is shorter.

    Parameters
    ----------
    step : float or "auto"
        The step size ``al``.
    tol : float
        The run ends where no answer is further from the exact one, relative to the largest answer or 1.
    max_rounds : int
        The most rounds.

    Raises
    ------
    InvalidInput
        Where a parameter is not a positive number.
    Unsupported
        When played, for costs without a gradient.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.EXTRA().run([3, 1, 4, 1], sv.Network.ring(4))
    >>> outcome.converged, [round(float(x), 6) for x in outcome.x[:, 0]]
    (True, [2.25, 2.25, 2.25, 2.25])
    >>> baselines.EXTRA(step=10.0).run([3, 1, 4, 1], sv.Network.ring(4)).notes
    ('diverged: the step is too long',)
    """

    name: ClassVar[str] = "EXTRA"
    family: ClassVar[Family] = "without privacy"
    reference: ClassVar[str] = "Shi, Ling, Wu, Yin 2015"
    needs: ClassVar[str] = "gradients, and one step size for all"
    breaks: ClassVar[str] = "nobody need collude: every message is a function of data"
    survives: ClassVar[str] = "nobody"
    vectors: ClassVar[int] = 1

    def suggested(self, problem: Problem) -> float:
        least, second = extremes(problem.network)
        gap = 1.0 - second
        return min((1.0 + least) / 2.0, sqrt(2.0 * gap) - gap) / curvature(problem, self)

    def iterates(self, W: sparse.csr_array[Any], gradient: Gradient, x: Array, step: float) -> Iterator[Array]:
        # x(0) is known to all, and x(1) needs no message: it is what the first round sends.
        mixed, slope = x + W @ x, gradient(x)
        x = W @ x - step * slope
        while True:
            yield x
            mixed_before, slope_before = mixed, slope
            mixed, slope = x + W @ x, gradient(x)
            x = mixed - 0.5 * mixed_before - step * (slope - slope_before)
