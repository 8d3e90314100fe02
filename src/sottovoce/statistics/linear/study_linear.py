"""The linear models of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..analysis import Asking
from .components_model import ComponentsModel
from .linear_fit import LinearFit
from .linear_model import LinearModel
from .penalty_models import LassoModel, RidgeModel
from .penalty_path import LassoPath, RidgePath
from .principal_components import PrincipalComponents


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
            Errors that stay right where the variance differs from row to row.

        Returns
        -------
        LinearFit

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
        penalties : float or sequence of float, optional
            Default: 25 from large to small. With one there is nothing to choose, and no cross-validation.
        folds : int, optional
            Default: 5.
        standardize : bool, optional
            Whether columns are penalised in units of their deviations (default), or as they are.
        fold_seed : int, optional
            Public; another one gives other folds. Default: 0.

        Returns
        -------
        RidgePath

        Examples
        --------
        >>> import sottovoce as sv
        >>> tables = [{"x": [0.0, 1.0], "y": [1.0, 3.0]}, {"x": [2.0], "y": [5.0]}, {"x": [3.0], "y": [8.0]}]
        >>> study = sv.Study(sv.Network.ring(3), tables, schema={"x": "number", "y": "number"})
        >>> study.ridge("y ~ x", penalties=1.0).params.round(4).tolist()
        [1.49, 1.84]
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
        formula, folds, standardize, fold_seed
            As for ``ridge``.
        penalties : float or sequence of float, optional
            Default: 50, from the least one that leaves no column in.
        l1_ratio : float, optional
            The share of the penalty on absolute values, the rest being on squares. Default: 1.

        Returns
        -------
        LassoPath

        Examples
        --------
        >>> import sottovoce as sv
        >>> tables = [{"x": [0.0, 1.0], "y": [1.0, 3.0]}, {"x": [2.0], "y": [5.0]}, {"x": [3.0], "y": [8.0]}]
        >>> study = sv.Study(sv.Network.ring(3), tables, schema={"x": "number", "y": "number"})
        >>> study.lasso("y ~ x", penalties=0.1).selected
        ('x',)
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
        standardize : bool, optional
            Whether columns are brought to one variance first: components of the correlations. Default: no.
        components : int, optional
            How many. Default: all.

        Returns
        -------
        PrincipalComponents

        Examples
        --------
        >>> import sottovoce as sv
        >>> tables = [{"x": [0.0, 1.0], "y": [1.0, 3.0]}, {"x": [2.0], "y": [5.0]}, {"x": [3.0], "y": [8.0]}]
        >>> study = sv.Study(sv.Network.ring(3), tables, schema={"x": "number", "y": "number"})
        >>> study.pca(["x", "y"], components=1).explained_variance_ratio.round(4).tolist()
        [0.9985]
        """
        options = {"standardize": standardize, "components": components}
        return cast(
            PrincipalComponents,
            self._ask(ComponentsModel, columns=columns if isinstance(columns, str) else tuple(columns), **options),
        )
