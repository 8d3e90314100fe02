"""Private models with the faces of scikit-learn's estimators: ``fit(X, y, groups=...)``, where ``groups`` says which
party a row belongs to.

    parties      which rows are whose, on which network
    estimator    what all of them take
    linear       least squares, ridge, lasso
    likelihood   logistic and Poisson regression
    components   principal components

All rows are in one process: a simulation of what the parties would do, for pipelines, cross-validation, and comparisons
with scikit-learn's own. Between machines the same models are asked for in a plan. Needs the extra ``sklearn``.

>>> from sottovoce.sklearn import PrivateRidge
>>> PrivateRidge(alpha=2.0).get_params()["alpha"]
2.0
"""

from importlib.util import find_spec

from ..errors import MissingExtra

if find_spec("sklearn") is None:
    raise MissingExtra("sottovoce.sklearn", "scikit-learn", "sklearn")

from .components import PrivatePCA
from .likelihood import PrivateLogisticRegression, PrivatePoissonRegressor
from .linear import PrivateLasso, PrivateLinearRegression, PrivateRidge

__all__ = [
    "PrivateLasso",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePCA",
    "PrivatePoissonRegressor",
    "PrivateRidge",
]
