"""What a study can be asked about times to an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..analysis import Asking
from ..models.cox import CoxAnalysis, CoxFit
from .curves import KaplanMeier, KaplanMeierAnalysis, NelsonAalen, NelsonAalenAnalysis
from .log_rank import LogRank, LogRankAnalysis


class Survival(Asking):
    """Curves and tests of times to an event, on a public grid of times; the class of each answer shows an example."""

    def kaplan_meier(
        self, time: str, event: str, *, by: str | None = None, grid: Sequence[float] | int | None = None
    ) -> KaplanMeier:
        """How many rows are free of an event, by time: the estimate of Kaplan and Meier, exact on the grid.

        Revealed, of each honest component: its events and censorings at each point of the grid, by group.

        Parameters
        ----------
        time : str
            A column of numbers from 0 on: how long a row was observed.
        event : str
            A boolean, or 0 and 1: whether the time ends with the event, or is censored.
        by : str, optional
            A category or a boolean: a curve for each of its levels.
        grid : sequence of float, or int, optional
            Public points in time; a time counts at the first that is not before it, and one beyond the last is
            censored there. Or so many equal steps over the range of the column in the schema. Default: a step for each
            whole number, for a column of integers with at most 2,000 of them, which moves nothing; else 100 steps.
        """
        return cast(KaplanMeier, self._ask(KaplanMeierAnalysis, time=time, event=event, by=by, grid=grid))

    def nelson_aalen(
        self,
        time: str,
        event: str,
        *,
        by: str | None = None,
        grid: Sequence[float] | int | None = None,
        smooth: bool = False,
    ) -> NelsonAalen:
        """The hazard of an event, summed up over time: the estimate of Nelson and Aalen, exact on the grid.

        Revealed, of each honest component: its events and censorings at each point of the grid, by group.

        Parameters
        ----------
        time, event, by, grid
            As for ``kaplan_meier``.
        smooth : bool
            Count events at one point as one after the other (Fleming and Harrington), as lifelines does unless told
            otherwise: for times that only the grid ties.
        """
        options = {"time": time, "event": event, "by": by, "grid": grid, "smooth": smooth}
        return cast(NelsonAalen, self._ask(NelsonAalenAnalysis, **options))

    def log_rank(
        self,
        time: str,
        event: str,
        *,
        by: str,
        strata: str | None = None,
        weighting: str = "logrank",
        rho: float | None = None,
        gamma: float | None = None,
        grid: Sequence[float] | int | None = None,
    ) -> LogRank:
        """Whether groups differ in their times to an event: the log-rank test of two or more, exact on the grid.

        Revealed, of each honest component: its events and censorings at each point of the grid, by group and stratum.

        Parameters
        ----------
        time, event, grid
            As for ``kaplan_meier``.
        by : str
            A category or a boolean: the groups.
        strata : str, optional
            A category or a boolean: groups are compared within each of its levels.
        weighting : {"logrank", "wilcoxon", "tarone-ware", "peto", "fleming-harrington"}
            How much an event counts among ``n`` at risk: 1, ``n`` (Gehan and Breslow), ``sqrt(n)``, Peto's and Peto's
            estimate of survival, or ``S^rho (1 - S)^gamma`` just before it.
        rho, gamma : float, optional
            Of Fleming and Harrington, from 0 to 10; 1 and 0 unless told.
        """
        options = {"strata": strata, "weighting": weighting, "rho": rho, "gamma": gamma, "grid": grid}
        return cast(LogRank, self._ask(LogRankAnalysis, time=time, event=event, by=by, **options))

    def cox(
        self,
        formula: str,
        *,
        ties: str = "efron",
        baseline: str = "party",
        grid: Sequence[float] | int | None = None,
        min_departures: int | None = None,
    ) -> CoxFit:
        """Cox's proportional hazards: how columns change the hazard of an event.

        Every party keeps its rows in memory, sorted by time. Revealed, of each honest component, at every step of
        Newton's method: its log-likelihood, score and information; with one baseline for all parties, its sums over
        each risk set, and before its events and censorings at each point of the grid.

        Parameters
        ----------
        formula : str
            ``"days, death ~ age + C(sex)"``: a time and an event, as for ``kaplan_meier``, and what explains them.
        ties : {"efron", "breslow"}
            What is made of events at the same time.
        baseline : {"party", "grid"}
            Whether every party has a baseline of its own, a stratified model, or all have one, on a public grid.
        grid : sequence of float, or int, optional
            Of one baseline for all; as for ``kaplan_meier``.
        min_departures : int, optional
            A grid is refused where sums over fewer rows could be told apart: those who leave between two points with
            events, and with Efron's ties those with and without the event at one. 5 unless told.

        Raises
        ------
        InvalidInput
            A formula without a time and an event, no events, columns whose hazard ratios the rows do not tell, or a
            grid that would show single rows.

        Examples
        --------
        >>> import sottovoce as sv
        >>> columns = {"days": {"type": "integer", "range": (0, 9)}, "death": "boolean", "dose": "number"}
        >>> first = {"days": [2, 5, 7, 1], "death": [True, True, False, True], "dose": [0.1, 0.7, 0.5, 0.6]}
        >>> second = {"days": [3, 9, 4, 4], "death": [True, False, True, True], "dose": [0.2, 0.4, 0.9, 0.3]}
        >>> study = sv.Study(sv.Network.complete(2), [first, second], schema=sv.Schema(columns))
        >>> fit = study.cox("days, death ~ dose")
        >>> fit.terms, fit.events, fit.params.round(3).tolist()
        (('dose',), 6, [-0.617])
        """
        options = {"ties": ties, "baseline": baseline, "grid": grid, "min_departures": min_departures}
        return cast(CoxFit, self._ask(CoxAnalysis, formula=formula, **options))
