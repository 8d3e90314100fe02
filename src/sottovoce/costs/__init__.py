"""Convex costs, one family a file."""

from .absolute_deviation import AbsoluteDeviation
from .ball import Ball
from .base import Cost, QuadraticForm
from .box import Box, NonNegative
from .constrained import Constrained
from .custom import Custom
from .elastic_net import ElasticNet, Lasso
from .from_cvxpy import FromCvxpy
from .from_gradient import FromGradient
from .hinge import Hinge
from .huber import Huber
from .logistic import Logistic
from .quadratic import Averaging, LeastSquares, Quadratic
from .simplex import Simplex

__all__ = [
    "AbsoluteDeviation",
    "Averaging",
    "Ball",
    "Box",
    "Constrained",
    "Cost",
    "Custom",
    "ElasticNet",
    "FromCvxpy",
    "FromGradient",
    "Hinge",
    "Huber",
    "Lasso",
    "LeastSquares",
    "Logistic",
    "NonNegative",
    "Quadratic",
    "QuadraticForm",
    "Simplex",
]
