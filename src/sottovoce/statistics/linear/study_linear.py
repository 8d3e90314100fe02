"""The linear models of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..analysis import Asking
from .linear_fit import LinearFit
from .linear_model import LinearModel
from .penalised import LassoModel, RidgeModel
from .penalty_path import LassoPath, RidgePath
from .principal_components import ComponentsModel, PrincipalComponents


class Linear(Asking):
    """Linear models and principal components."""

    def linear(self, formula: str, *, weights: str | None = None, robust: str | None = None) -> LinearFit:
        """Ordinary or weighted least squares, with tests, as ``private_linear``.

        Parameters
        ----------
        formula : str
            Such as ``"recovery ~ age + C(arm)"``; an offset is subtracted from the response.
        weights : str, optional
            A column of positive numbers, proportional to the inverse variance of a row's error.
        robust : {"HC0", "HC1", "HC2", "HC3"}, optional
            As for ``private_linear``.

        Examples
        --------
        >>> import sottovoce as sv
        >>> tables = [{"x": [0.0, 1.0], "y": [1.0, 3.0]}, {"x": [2.0], "y": [5.0]}, {"x": [3.0], "y": [8.0]}]
        >>> study = sv.Study(sv.Network.ring(3), tables, schema={"x": "number", "y": "number"})
        >>> study.linear("y ~ x", robust="HC1").bse.round(4).tolist()
        [0.2298, 0.1637]
        """
        return cast(LinearFit, self._ask(LinearModel, formula=formula, weights=weights, robust=robust))

    def ridge(
        self,
        formula: str,
        *,
        penalties: float | Sequence[float] | None = None,
        folds: int | None = None,
        standardize: bool | None = None,
        fold_seed: int | None = None,
    ) -> RidgePath:
        """Ridge regression for many penalties, with the best one by exact cross-validation, as ``private_ridge``.

        Parameters
        ----------
        formula : str
            Such as ``"recovery ~ age + C(arm)"``.
        penalties, folds, standardize, fold_seed
            As for ``private_ridge``: 25 penalties, 5 folds and standardised columns unless told.
        """
        options = {"penalties": penalties, "folds": folds, "standardize": standardize, "fold_seed": fold_seed}
        return cast(RidgePath, self._ask(RidgeModel, formula=formula, **options))

    def lasso(
        self,
        formula: str,
        *,
        penalties: float | Sequence[float] | None = None,
        folds: int | None = None,
        l1_ratio: float | None = None,
        standardize: bool | None = None,
        fold_seed: int | None = None,
    ) -> LassoPath:
        """The lasso, or with ``l1_ratio`` below 1 an elastic net, for many penalties, with the best one by exact
        cross-validation, as ``private_lasso``.

        Parameters
        ----------
        formula : str
            Such as ``"recovery ~ age + C(arm)"``.
        penalties, folds, l1_ratio, standardize, fold_seed
            As for ``private_lasso``: 50 penalties, 5 folds and standardised columns unless told.
        """
        options = {"penalties": penalties, "folds": folds, "standardize": standardize, "fold_seed": fold_seed}
        return cast(LassoPath, self._ask(LassoModel, formula=formula, l1_ratio=l1_ratio, **options))

    def pca(
        self, columns: Sequence[str], *, standardize: bool | None = None, components: int | None = None
    ) -> PrincipalComponents:
        """Principal components of columns, as ``private_pca``.

        Parameters
        ----------
        columns : sequence of str
            Numbers, booleans or dates.
        standardize, components
            As for ``private_pca``: all components of the covariance unless told.
        """
        chosen = columns if isinstance(columns, str) else tuple(columns)
        options = {"standardize": standardize, "components": components}
        return cast(PrincipalComponents, self._ask(ComponentsModel, columns=chosen, **options))
