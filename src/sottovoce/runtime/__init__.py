"""The network: parties on different machines, each with its own data, that drive ``Node`` over authenticated streams.

    plan/        before a run: what everybody agrees to, audited
    keys/        who a party is, and what two neighbours share
    protocol/    what parties say to each other, without sockets or clocks
    transport/   how it travels
    traces/      what they recorded, played again and audited

The rest is one party: ``process`` from start to end, ``agent`` its event loop, ``journal`` what it must not forget.
``cluster`` starts all of them on one machine.

Not imported by ``import sottovoce``, because it needs the extra ``network``. Public names are loaded when first used: a
party that starts does not wait for what only a plan needs.

>>> from sottovoce import runtime
>>> runtime.Transport.__name__
'Transport'
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra

if TYPE_CHECKING:
    from .cluster import Cluster
    from .plan.node_file import NodeConfig, read_node_file
    from .plan.plan import Plan, read_plan, write_plan
    from .process import run_party, serve
    from .transport.transport import Connection, Greeting, Handler, Lost, Transport

_NEEDED = {
    "cryptography": "cryptography",
    "prometheus_client": "prometheus-client",
    "websockets": "websockets",
}
for _module, _package in _NEEDED.items():
    if find_spec(_module) is None:
        raise MissingExtra("the network runtime", _package, "network")

_FOUND_IN = {
    "cluster": ("Cluster",),
    "plan.node_file": ("NodeConfig", "read_node_file"),
    "plan.plan": ("Plan", "read_plan", "write_plan"),
    "process": ("run_party", "serve"),
    "transport.transport": ("Connection", "Greeting", "Handler", "Lost", "Transport"),
}


def __getattr__(name: str) -> Any:
    """A public name, from where it is."""
    for module, names in _FOUND_IN.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Cluster",
    "Connection",
    "Greeting",
    "Handler",
    "Lost",
    "NodeConfig",
    "Plan",
    "Transport",
    "read_node_file",
    "read_plan",
    "run_party",
    "serve",
    "write_plan",
]
