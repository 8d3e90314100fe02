"""What every statistic carries: how its runs ended, what they agreed on, and its values once they converged."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import NotConverged, Unsupported
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.problem import Problem, averaging
from ..pdmm.result import Result, Status

if TYPE_CHECKING:
    from ..privacy.report import Report
    from .agreements import Agreements


@dataclass(frozen=True, eq=False, repr=False)
class Statistic:
    """``problems[k]`` was solved under ``masks[k]`` and came to ``runs[k]``: each is an averaging problem, so an audit
    of it says what it reveals. Where ``status`` is not ``CONVERGED``, asking for a value raises ``NotConverged``.

    At a party of a network ``runs`` are what it saw of them, and ``problems``, which hold everybody's contributions,
    are empty.
    """

    status: Status
    parties: int
    runs: tuple[Result, ...]
    problems: tuple[Problem, ...]
    masks: tuple[GaussianMask | ModularMask, ...]

    @classmethod
    def unfinished(cls, agreements: Agreements) -> Self:
        """The statistic without its values."""
        statistic = object.__new__(cls)
        for field, value in zip(fields(Statistic), agreements.made, strict=True):
            object.__setattr__(statistic, field.name, value)
        return statistic

    if not TYPE_CHECKING:  # a type checker must still know a misspelt name

        def __getattr__(self, name: str) -> Any:
            """Called for what was never set."""
            if name not in (field.name for field in fields(self)) or "status" not in vars(self):
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            run = self.runs[-1]
            raise NotConverged(
                f"{name} is not known: run {len(self.runs)} ended as {run.status.value} after {run.iterations} "
                f"iterations, with residual {run.residual:.1e}. Raise max_iter, or tol."
            )

    def audit(self, **arguments: Any) -> tuple[Report, ...]:
        """What each agreement gave away: one report per run, with the arguments of ``privacy.audit`` besides ``mask``.

        The secrets are what a party contributes; over one honest component their sum is all that is disclosed. Without
        ``prior`` each agreement takes its own from what was contributed. ``audit_total`` adds the reports up.
        """
        from ..privacy.audit import audit

        if not self.problems:
            raise Unsupported(
                "a party of a network holds no contributions but its own, so it cannot audit a run. What leaks depends "
                "on the network and the mask: use privacy.audit(sv.averaging(network, np.zeros(n)), mask=...)."
            )
        pairs = zip(self.problems, self.masks, strict=True)
        return tuple(audit(_secrets_of(problem, mask), mask=mask, **arguments) for problem, mask in pairs)

    def audit_total(self, **arguments: Any) -> Report:
        """What all agreements together gave away, at most: ``privacy.total`` of this statistic alone."""
        from ..privacy.total import total

        return total(self, **arguments)

    @property
    def _values(self) -> dict[str, Any]:
        common = {field.name for field in fields(Statistic)}
        return {name: value for name, value in vars(self).items() if name not in common}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; the status alone where the runs did not converge."""
        return {"status": self.status.value, **{name: plain(value) for name, value in self._values.items()}}

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self._values.items())
        return f"{type(self).__name__}({self.status.value}{values})"


def _secrets_of(problem: Problem, mask: GaussianMask | ModularMask) -> Problem:
    """What was agreed on, without the public number that rides along behind Gaussian pads (``Agreements.mean``)."""
    form = problem.quadratic
    assert form is not None
    return averaging(problem.network, -form.q[:, :-1] / 2) if isinstance(mask, GaussianMask) else problem


def plain(value: Any) -> Any:
    """For JSON, which knows neither arrays nor NaN."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
