"""What a study can be asked about categories as responses, and about parties that differ."""

from __future__ import annotations

from typing import cast

from ..asking import Asking
from .multinomial import Multinomial
from .multinomial_fit import MultinomialFit


class Categories(Asking):
    """Models of categories, and the linear model in which parties differ."""

    def multinomial(self, formula: str) -> MultinomialFit:
        """The multinomial logistic regression of a category with any number of levels on the terms of a formula, equal
        to that of the pooled rows (statsmodels' ``MNLogit``). Every level but the reference has parameters of its own.

        Revealed, of each honest component: its number of rows at each level, its sums of the columns and of their
        squares, and its log-likelihood, score and information at every step, about six.

        Parameters
        ----------
        formula : str
            ``"diet ~ age + C(sex)"``; before ~ a category, whose reference is that of the schema, or a boolean.

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
        >>> fit.levels, fit.terms[-1], fit.counts.sum()
        (('bus', 'car', 'train'), 'train: km', 160)
        """
        return cast(MultinomialFit, self._ask(Multinomial, formula=formula))
