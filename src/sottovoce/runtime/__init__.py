"""The network: parties on different machines, each with its own data, that drive ``Node`` over authenticated streams.

    plan/        before a run: what everybody agrees to, audited
    keys/        who a party is, and what two neighbours share
    protocol/    what parties say to each other, without sockets or clocks
    transport/   how it travels
    traces/      what they recorded, played again and audited

The rest is one party as a process: ``serve`` from start to end, ``agent`` its event loop, ``journal`` what it must not
forget. ``cluster`` starts all of them on one machine.

Not imported by ``import sottovoce``, because it needs the extra ``network``.
"""

from importlib.util import find_spec

from ..errors import MissingExtra

_NEEDED = {
    "grpc": "grpcio",
    "google": "protobuf",
    "cryptography": "cryptography",
    "prometheus_client": "prometheus-client",
}
for _module, _package in _NEEDED.items():
    if find_spec(_module) is None:
        raise MissingExtra("the network runtime", _package, "network")
