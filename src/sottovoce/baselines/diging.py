"""DIGing: gradient tracking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..costs.base import Array
from ..pdmm.problem import Problem
from .base import Family
from .gradient_method import Gradient, GradientMethod, curvature
from .metropolis import extremes

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True)
class DIGing(GradientMethod):
    """DIGing (Nedic, Olshevsky, Shi 2017): ``x <- W x - al y`` where ``y <- W y + g(x) - g(x_before)`` tracks the mean
    gradient, with Metropolis weights. For any smooth cost; a message holds ``x_i`` and ``y_i``.

    Where all nodes have the curvature ``L``, an eigenvalue ``w`` of ``W`` moves by the roots of
    ``t^2 - (2w - al L) t + w^2 - al L``. So it converges if and only if ``al < (1 + lambda_min)^2 / (2 L)``, fastest at
    ``al = (1 - lambda_2) / (2 L)`` if disagreement is what lasts. ``"auto"`` is the latter, or half of the former where
    that is shorter, with the largest curvature of all. The bounds that are proven for other costs are smaller by orders
    of magnitude, as they hold for all costs and graphs; a run that diverges says so.

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
    >>> outcome = baselines.DIGing().run([3, 1, 4, 1], sv.Network.ring(4))
    >>> outcome.converged, [round(float(x), 6) for x in outcome.x[:, 0]]
    (True, [2.25, 2.25, 2.25, 2.25])
    >>> outcome.traffic.bytes // outcome.traffic.messages
    16
    """

    name: ClassVar[str] = "DIGing"
    family: ClassVar[Family] = "without privacy"
    reference: ClassVar[str] = "Nedic, Olshevsky, Shi 2017"
    needs: ClassVar[str] = "gradients, and one step size for all"
    breaks: ClassVar[str] = "nobody need collude: every message is a function of data"
    survives: ClassVar[str] = "nobody"
    vectors: ClassVar[int] = 2

    def suggested(self, problem: Problem) -> float:
        least, second = extremes(problem.network)
        return min((1.0 + least) ** 2 / 4.0, (1.0 - second) / 2.0) / curvature(problem, self)

    def iterates(self, W: sparse.csr_array[Any], gradient: Gradient, x: Array, step: float) -> Iterator[Array]:
        slope = gradient(x)
        y = slope
        while True:
            yield x
            x = W @ x - step * y
            slope_before, slope = slope, gradient(x)
            y = W @ y + slope - slope_before
