"""The network: parties on different machines, each with its own data, that drive ``Node`` over authenticated streams.

Not imported by ``import sottovoce``, because it needs the extra ``network``.
"""

import os
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

# gRPC reads this when it is imported. By default it prints every failed handshake to stderr, past all logging; the
# transport says the same through ``state``.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
