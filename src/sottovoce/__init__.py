"""sottovoce: private decentralised optimisation.

Parties that will not share their data agree on the exact optimum of a joint convex problem by talking to their graph
neighbours only. The method is stochastic PDMM with subspace perturbation.

>>> import sottovoce as sv
>>> network = sv.Network.random_geometric(10, seed=1)
>>> problem = sv.averaging(network, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
>>> result = sv.solve(problem, schedule=sv.Asynchronous(), mask=sv.GaussianMask(variance=1e6), seed=0)
>>> result.status.value, [round(float(x), 6) for x in result.x[:3]]
('converged', [3.9, 3.9, 3.9])

The names in layers:

``sv.*``
    for everybody: networks, problems, ``solve``, and what goes into it; ``private_mean`` and its like.
``sv.Schema``, ``sv.Column``
    what the columns of a table mean, agreed on beforehand.
``sv.Policy``
    what a party lets be computed of its rows, and a ledger of what was.
``sv.data``
    a party's table checked before anything is sent.
``sv.costs``, ``sv.schedules``, ``sv.masks``, ``sv.recorders``
    the same costs, schedules, masks and recorders by kind, with the bases for those of one's own: ``sv.costs.Cost``,
    ``sv.masks.Mask``, ``sv.recorders.Recorder``.
``sv.statistics``
    what the private statistics return.
``sv.privacy``
    what a run gives away.
``sv.baselines``, ``sv.compare``
    what else one could use: other methods on the same problem, and all of them in one table.
``sv.sklearn``
    private models as scikit-learn's estimators; needs the extra ``sklearn``, and is loaded when first used.
``sv.paper``
    the paper's experiments.
``sv.studio``
    the browser, in a notebook; needs the extra ``studio``, and is loaded when first used.
``sottovoce.runtime``
    between machines; needs the extra ``network`` and an import of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import costs as costs
    from . import data as data
    from . import paper as paper
    from . import privacy as privacy
    from . import statistics as statistics
    from .baselines import compare as compare
    from .costs import (
        AbsoluteDeviation,
        Averaging,
        Ball,
        Box,
        Cost,
        Custom,
        ElasticNet,
        FromCvxpy,
        FromGradient,
        Hinge,
        Huber,
        Lasso,
        LeastSquares,
        Logistic,
        NonNegative,
        Quadratic,
        Simplex,
    )
    from .data.formula import Formula
    from .data.schema import Column, Schema
    from .network import Network
    from .pdmm import masks as masks
    from .pdmm import recorders as recorders
    from .pdmm import schedules as schedules
    from .pdmm.common_problems import averaging, least_squares, logistic
    from .pdmm.local_noise import LocalNoise
    from .pdmm.masks import GaussianMask, UniformMask
    from .pdmm.modular_mask import ModularMask
    from .pdmm.node import Message, Node, nodes_of
    from .pdmm.problem import Problem
    from .pdmm.recorders import MeanSquaredError, Messages, Residual, Transcript, Variance
    from .pdmm.result import Result, State, Status
    from .pdmm.schedules import (
        Asynchronous,
        Delayed,
        EdgeBernoulli,
        EdgeReversal,
        NodeBernoulli,
        Permutations,
        PoissonClocks,
        Schedule,
        Synchronous,
        Trace,
    )
    from .pdmm.solve import iterate, solve
    from .pdmm.transcript import MessageTable
    from .statistics import (
        private_covariance,
        private_cox,
        private_glm,
        private_histogram,
        private_lasso,
        private_linear,
        private_mean,
        private_meta_analysis,
        private_multinomial,
        private_pca,
        private_ridge,
        private_variance,
    )
    from .statistics.policy import Policy
    from .statistics.study import Study
    from .sweeps import Sweep, sweep

__version__ = "0.1.0"

_MODULES = {
    **{name: name for name in ("baselines", "costs", "data", "errors", "network", "paper", "pdmm", "privacy")},
    **{name: name for name in ("sklearn", "statistics", "studio", "sums", "sweeps")},
    **{name: f"pdmm.{name}" for name in ("masks", "recorders", "schedules")},
}
_FOUND_IN = {
    "baselines": ("compare",),
    "costs": (
        "AbsoluteDeviation",
        "Averaging",
        "Ball",
        "Box",
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
        "Simplex",
    ),
    "data.formula": ("Formula",),
    "data.schema": ("Column", "Schema"),
    "network": ("Network",),
    "pdmm.common_problems": ("averaging", "least_squares", "logistic"),
    "pdmm.local_noise": ("LocalNoise",),
    "pdmm.masks": ("GaussianMask", "UniformMask"),
    "pdmm.modular_mask": ("ModularMask",),
    "pdmm.node": ("Message", "Node", "nodes_of"),
    "pdmm.problem": ("Problem",),
    "pdmm.recorders": ("MeanSquaredError", "Messages", "Residual", "Transcript", "Variance"),
    "pdmm.result": ("Result", "State", "Status"),
    "pdmm.schedules": (
        "Asynchronous",
        "Delayed",
        "EdgeBernoulli",
        "EdgeReversal",
        "NodeBernoulli",
        "Permutations",
        "PoissonClocks",
        "Schedule",
        "Synchronous",
        "Trace",
    ),
    "pdmm.solve": ("iterate", "solve"),
    "pdmm.transcript": ("MessageTable",),
    "statistics": (
        "private_covariance",
        "private_cox",
        "private_glm",
        "private_histogram",
        "private_lasso",
        "private_linear",
        "private_mean",
        "private_meta_analysis",
        "private_multinomial",
        "private_pca",
        "private_ridge",
        "private_variance",
    ),
    "statistics.policy": ("Policy",),
    "statistics.study": ("Study",),
    "sweeps": ("Sweep", "sweep"),
}


def __getattr__(name: str) -> Any:
    """A room or a public name, loaded when it is first used: a party that starts does not wait for what only a study
    needs."""
    if name in _MODULES:
        found = import_module(f"{__name__}.{_MODULES[name]}")
    elif module := next((module for module, names in _FOUND_IN.items() if name in names), None):
        found = getattr(import_module(f"{__name__}.{module}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *__all__})


__all__ = [
    "AbsoluteDeviation",
    "Asynchronous",
    "Averaging",
    "Ball",
    "Box",
    "Column",
    "Cost",
    "Custom",
    "Delayed",
    "EdgeBernoulli",
    "EdgeReversal",
    "ElasticNet",
    "Formula",
    "FromCvxpy",
    "FromGradient",
    "GaussianMask",
    "Hinge",
    "Huber",
    "Lasso",
    "LeastSquares",
    "LocalNoise",
    "Logistic",
    "MeanSquaredError",
    "Message",
    "MessageTable",
    "Messages",
    "ModularMask",
    "Network",
    "Node",
    "NodeBernoulli",
    "NonNegative",
    "Permutations",
    "PoissonClocks",
    "Policy",
    "Problem",
    "Quadratic",
    "Residual",
    "Result",
    "Schedule",
    "Schema",
    "Simplex",
    "State",
    "Status",
    "Study",
    "Sweep",
    "Synchronous",
    "Trace",
    "Transcript",
    "UniformMask",
    "Variance",
    "averaging",
    "iterate",
    "least_squares",
    "logistic",
    "nodes_of",
    "private_covariance",
    "private_cox",
    "private_glm",
    "private_histogram",
    "private_lasso",
    "private_linear",
    "private_mean",
    "private_meta_analysis",
    "private_multinomial",
    "private_pca",
    "private_ridge",
    "private_variance",
    "solve",
    "sweep",
]
