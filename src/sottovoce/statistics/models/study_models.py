"""The generalised linear model of a study."""

from __future__ import annotations

from typing import cast

from ..analysis import Asking
from .glm import GLM
from .glm_fit import GLMFit


class Models(Asking):
    """What a study is asked for."""

    def glm(
        self,
        formula: str,
        *,
        family: str = "binomial",
        link: str | None = None,
        weights: str | None = None,
        exposure: str | None = None,
        shape: float | None = None,
        dispersion: str | None = None,
        robust: str | None = None,
        ridge: float = 0.0,
    ) -> GLMFit:
        """The generalised linear model that a formula describes, as ``private_glm``.

        Parameters
        ----------
        formula : str
            Such as ``"death ~ age + C(sex) + offset(log(days))"``. A binomial response is a boolean, numbers 0 and 1, a
            category of two levels, whose reference level counts as 0, or proportions of the trials in ``weights``.
        family, link, shape, dispersion, robust, ridge
            As in ``private_glm``.
        weights, exposure : str, optional
            Columns of positive numbers: prior weights, and what the rate is per (with the link log).

        Returns
        -------
        GLMFit

        Raises
        ------
        InvalidInput
            A formula or options that do not fit the schema, responses that the family does not have, by column, and
            columns that the rows of all parties do not tell, by name.

        Examples
        --------
        >>> import sottovoce as sv
        >>> schema = sv.Schema({"dose": {"type": "number", "range": (0, 5)}, "cured": "boolean"})
        >>> tables = [{"dose": [0.0, 1.0, 2.0], "cured": [False, False, True]},
        ...           {"dose": [0.0, 1.0], "cured": [False, True]},
        ...           {"dose": [2.0, 1.0, 2.0], "cured": [True, True, False]}]
        >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).glm("cured ~ dose", family="binomial")
        >>> fit.terms, fit.params.round(4).tolist(), fit.ratio
        (('Intercept', 'dose'), [-1.6392, 1.4381], 'odds ratio')
        """
        options = {"link": link, "weights": weights, "exposure": exposure, "shape": shape, "dispersion": dispersion}
        return cast(GLMFit, self._ask(GLM, formula=formula, family=family, robust=robust, ridge=ridge, **options))
