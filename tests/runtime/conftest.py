"""Fixtures that the tests of the runtime share."""

from __future__ import annotations

import pytest
from runtime.media import InMemory, Medium, OverGrpc

from sottovoce.runtime import identity
from sottovoce.runtime.identity import Identity


@pytest.fixture(scope="session")
def identities(tmp_path_factory) -> dict[str, Identity]:
    """Parties that know each other, and one that nobody knows."""
    folder = tmp_path_factory.mktemp("identities")
    return {name: identity.create(folder / name, name) for name in ("ann", "bob", "cat", "mallory")}


@pytest.fixture(params=["memory", "grpc encrypted", "grpc open"])
def medium(request, identities) -> Medium:
    return InMemory() if request.param == "memory" else OverGrpc(identities, request.param.split()[1])
