"""What a study can be asked about categories as responses, and about parties that differ."""

from __future__ import annotations

from typing import cast

from ..analysis import Asking
from .mixed import Mixed
from .mixed_fit import MixedFit
from .multinomial import Multinomial
from .multinomial_fit import MultinomialFit
from .ordinal import Ordinal
from .ordinal_fit import OrdinalFit


class Categories(Asking):
    """Models of categories, and the linear model in which parties differ."""

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
            Half of it times the squares of the slopes is subtracted from the log-likelihood, in units of the data.

        Returns
        -------
        MultinomialFit

        Raises
        ------
        InvalidInput
            A level that no row has, columns that are constant or dependent, or that separate levels, by name.

        Examples
        --------
        >>> import numpy as np, sottovoce as sv
        >>> levels = ["bus", "car", "train"]
        >>> schema = {"km": {"type": "number", "range": (0, 50)}, "way": {"type": "category", "levels": levels}}
        >>> rng = np.random.default_rng(0)
        >>> tables = [{"km": rng.uniform(0, 50, n), "way": rng.choice(levels, n)} for n in (50, 30, 80)]
        >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).multinomial("way ~ km")
        >>> fit.levels, fit.terms[-1], int(fit.counts.sum())
        (('bus', 'car', 'train'), 'train: km', 160)
        """
        return cast(MultinomialFit, self._ask(Multinomial, formula=formula, weights=weights, ridge=ridge))

    def ordinal(self, formula: str, *, link: str = "logit") -> OrdinalFit:
        """The regression of a category whose levels have an order, with proportional odds: ``P(y <= j) = F(cut_j -
        x'slopes)``, equal to that of the pooled rows (statsmodels' ``OrderedModel``).

        Revealed, of each honest component: its number of rows at each level, its sums of the columns and of their
        squares, and its log-likelihood, score and information at every step, about six.

        Parameters
        ----------
        formula : str
            ``"pain ~ age + C(sex)"``; before ~ a category, whose levels are in the order of the schema.
        link : {"logit", "probit"}
            What ``F`` is: the logistic or the normal distribution function.

        Returns
        -------
        OrdinalFit

        Raises
        ------
        InvalidInput
            A level that no row has, columns that are constant or dependent, or that separate levels, by name.

        Examples
        --------
        >>> import numpy as np, sottovoce as sv
        >>> levels = ["none", "some", "much"]
        >>> schema = {"dose": {"type": "number", "range": (0, 9)}, "pain": {"type": "category", "levels": levels}}
        >>> rng = np.random.default_rng(0)
        >>> tables = [{"dose": rng.uniform(0, 9, n), "pain": rng.choice(levels, n)} for n in (50, 30, 80)]
        >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).ordinal("pain ~ dose", link="probit")
        >>> fit.terms, fit.predict({"dose": [3.0]}).shape
        (('dose', 'none/some', 'some/much'), (1, 3))
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

        Raises
        ------
        InvalidInput
            Rows at fewer than two parties, columns that are constant or dependent, by name.

        Examples
        --------
        >>> import numpy as np, sottovoce as sv
        >>> schema = {"dose": {"type": "number", "range": (0, 9)}, "gain": {"type": "number", "range": (-20, 20)}}
        >>> rng = np.random.default_rng(0)
        >>> doses = [rng.uniform(0, 9, n) for n in (50, 30, 80)]
        >>> tables = [{"dose": dose, "gain": dose - 3 * k + rng.normal(size=len(dose))} for k, dose in enumerate(doses)]
        >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).mixed("gain ~ dose")
        >>> fit.groups, fit.tau2 > fit.scale
        (3, True)
        """
        return cast(MixedFit, self._ask(Mixed, formula=formula, method=method))
