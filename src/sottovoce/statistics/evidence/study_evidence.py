"""What a study can be asked about evidence: of strata, of studies, of a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..analysis import Asking
from .mantel_haenszel import MantelHaenszel, MantelHaenszelAnalysis
from .meta_analysis import MetaAnalysis, MetaAnalysisAnalysis
from .scores import Calibration, CalibrationAnalysis, Roc, RocAnalysis


class Evidence(Asking):
    """Stratified tables, meta-analysis, and how good a score is; the class of each answer shows an example."""

    def mantel_haenszel(self, exposure: str, outcome: str) -> MantelHaenszel:
        """One odds ratio and one risk ratio of all parties, each of which is a stratum of its own, and the test of
        Cochran, Mantel and Haenszel.

        Parameters
        ----------
        exposure, outcome : str
            Booleans, or categories of two levels, of which the reference stands for no.
        """
        return cast(MantelHaenszel, self._ask(MantelHaenszelAnalysis, exposure=exposure, outcome=outcome))

    def meta_analysis(
        self,
        effect: str,
        *,
        column: str | None = None,
        by: str | None = None,
        levels: Sequence[str] | None = None,
        exposure: str | None = None,
        outcome: str | None = None,
        continuity: float = 0.5,
    ) -> MetaAnalysis:
        """What each party estimates from its own rows, combined by inverse variances: fixed effect, and random effects
        after DerSimonian and Laird, without anybody showing its own estimate. A party whose rows give none is left out.

        Parameters
        ----------
        effect : {"mean", "mean_difference", "log_odds_ratio", "log_risk_ratio", "risk_difference"}
            What each party estimates.
        column : str
            Of a mean or a difference of means: the number.
        by : str
            Of a difference of means: a category or a boolean that groups rows.
        levels : sequence of str, optional
            Which two of its levels; the difference is that of the first less the second.
        exposure, outcome : str
            Of ratios and differences of risks: as for ``mantel_haenszel``.
        continuity : float
            What is added to the four cells of a party's table that has an empty one; 0 leaves that party out.

        Examples
        --------
        >>> import sottovoce as sv
        >>> schema = {"age": {"type": "number", "range": (0, 120)}}
        >>> tables = [{"age": [61.0, 58.0, 50.0]}, {"age": [40.0, 44.0]}, {"age": [39.0]}]
        >>> found = sv.Study(sv.Network.ring(3), tables, schema=schema).meta_analysis("mean", column="age")
        >>> found.studies, round(found.fixed, 6), round(found.i2, 6)
        (2, 45.879699, 0.928069)
        """
        options = {"column": column, "by": by, "levels": None if levels is None else tuple(levels)}
        risks = {"exposure": exposure, "outcome": outcome, "continuity": continuity}
        return cast(MetaAnalysis, self._ask(MetaAnalysisAnalysis, effect=effect, **options, **risks))

    def roc(self, outcome: str, score: str, *, bins: int = 100) -> Roc:
        """How well a score tells rows with an outcome from those without: the curve and the area under it, of the score
        rounded to bins, exactly.

        Parameters
        ----------
        outcome : str
            A boolean, or a category of two levels, of which the reference stands for no.
        score : str
            A number with a range in the schema: a probability that was predicted, or any other score.
        bins : int
            How many the range is divided into.
        """
        return cast(Roc, self._ask(RocAnalysis, outcome=outcome, score=score, bins=bins))

    def calibration(self, outcome: str, score: str, *, bins: int = 10, fitted: bool = True) -> Calibration:
        """Whether predicted probabilities are true: shares against predictions in bins, the test of Hosmer and
        Lemeshow, and the Brier score.

        Parameters
        ----------
        outcome : str
            As for ``roc``.
        score : str
            A number with a range within 0 and 1 in the schema.
        bins : int
            How many 0 to 1 is divided into.
        fitted : bool
            Whether the score was made from these rows: the test has two degrees of freedom less then.
        """
        options = {"bins": bins, "fitted": fitted}
        return cast(Calibration, self._ask(CalibrationAnalysis, outcome=outcome, score=score, **options))
