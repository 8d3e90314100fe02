"""Where data of others are that are not in this repository."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def outside(request) -> Path:
    """The folder of ``--outside``, with ``nist`` and ``mip`` in it; without one the test is skipped."""
    folder = request.config.getoption("--outside")
    if folder is None:
        pytest.skip("no folder of data from outside: pytest --outside FOLDER, or SOTTOVOCE_OUTSIDE")
    if not Path(folder).is_dir():
        pytest.fail(f"--outside: there is no folder {folder}.")
    return Path(folder)
