"""Fixtures that the tests of the runtime share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from runtime.media import InMemory, Medium, OfThePage, OverWebSockets

from sottovoce.runtime import journal
from sottovoce.runtime.keys import identity
from sottovoce.runtime.keys.identity import Identity


@pytest.fixture(autouse=True, scope="session")
def _no_power_cuts() -> Iterator[None]:
    """Journals of this process do not wait for the disk. (Parties that are processes do.)"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "SYNCHRONOUS", "OFF")
        yield


@pytest.fixture(scope="session")
def identities(tmp_path_factory) -> dict[str, Identity]:
    """Parties that know each other, and one that nobody knows."""
    folder = tmp_path_factory.mktemp("identities")
    return {name: identity.create(folder / name, name) for name in ("ann", "bob", "cat", "mallory")}


@pytest.fixture(params=["memory", "encrypted", "open", "tcp"])
def medium(request, identities) -> Medium:
    if request.param == "tcp":
        return OfThePage()
    return InMemory() if request.param == "memory" else OverWebSockets(identities, request.param)
