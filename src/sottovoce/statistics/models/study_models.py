"""What a study can be asked about generalised linear models, categories as responses, and parties that differ."""

from __future__ import annotations

from typing import cast

from ..analysis import Asking
from .glm import GLM, GLMFit
from .mixed import Mixed, MixedFit
from .multinomial import Multinomial, MultinomialFit
from .ordinal import Ordinal, OrdinalFit


class Models(Asking):
    """Models of a response by a formula. Columns that are constant, or combinations of others, are left out and named;
    those that the rows do not tell, or that separate levels, are refused by name."""

    def glm(
        self, formula: str, *, family: str = "binomial", link: str | None = None, weights: str | None = None,
        exposure: str | None = None, shape: float | None = None, dispersion: str | None = None,
        robust: str | None = None, ridge: float = 0.0,
    ) -> GLMFit:  # fmt: skip
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

    def multinomial(self, formula: str, *, weights: str | None = None, ridge: float = 0.0) -> MultinomialFit:
        """The multinomial logistic regression of a category with any number of levels on the terms of a formula, equal
        to that of the pooled rows (statsmodels' ``MNLogit``). Every level but the reference has parameters of its own.

        Revealed, of each honest component: its number of rows at each level, its sums of the columns and of their
        squares, and its log-likelihood, score and information at every step, about six.

        Parameters
        ----------
        formula : str
            ``"diet ~ age + C(sex)"``; before ~ a category, whose reference is that of the schema, or a boolean.
        weights : str, optional
            A column of positive numbers.
        ridge : float
            As in ``private_multinomial``.

        Returns
        -------
        MultinomialFit
            With an example.

        Raises
        ------
        InvalidInput
            A level that no row has, or columns that separate levels, by name.
        """
        return cast(MultinomialFit, self._ask(Multinomial, formula=formula, weights=weights, ridge=ridge))

    def ordinal(self, formula: str, *, link: str = "logit") -> OrdinalFit:
        """The regression of a category whose levels have an order, with proportional odds: ``P(y <= j) = F(cut_j -
        x'slopes)``, equal to that of the pooled rows (statsmodels' ``OrderedModel``).

        Revealed, of each honest component: what ``multinomial`` shows.

        Parameters
        ----------
        formula : str
            ``"pain ~ age + C(sex)"``; before ~ a category, whose levels are in the order of the schema.
        link : {"logit", "probit"}
            What ``F`` is: the logistic or the normal distribution function.

        Returns
        -------
        OrdinalFit
            With an example.

        Raises
        ------
        InvalidInput
            A level that no row has, or columns that separate levels, by name.
        """
        return cast(OrdinalFit, self._ask(Ordinal, formula=formula, link=link))

    def mixed(self, formula: str, *, method: str = "reml") -> MixedFit:
        """The linear model in which parties differ, ``y = x'params + u_party + e``: a random intercept by party, equal
        to that of the pooled rows (statsmodels' ``MixedLM`` with the party as group).

        Revealed, of each honest component: its number of rows, how many of its parties have any, its sums of the
        columns and of their squares, and, for about eight ratios of the variances, its ``X'V^-1X``, ``X'V^-1y`` and
        ``y'V^-1y``. From several of these follow number of rows and means of *each* party, if there are few in the
        component, though not whose they are: see the guide. The effect ``u`` of a party is not shown.

        Parameters
        ----------
        formula : str
            ``"recovery ~ age + C(sex)"``.
        method : {"reml", "ml"}
            Restricted maximum likelihood, whose variances are not too small, or maximum likelihood, which compares
            models with different columns.

        Returns
        -------
        MixedFit
            With an example.

        Raises
        ------
        InvalidInput
            Rows at fewer than two parties, or nothing left of the response beside the columns.
        """
        return cast(MixedFit, self._ask(Mixed, formula=formula, method=method))
