"""The network: parties on different machines, each with its own data, that drive ``Node`` over authenticated streams.

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
