"""Real pages in a real Chromium, driven by Playwright. Where one of the two is missing the tests are skipped, and the
end of the run says so loudly (tests/conftest.py)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SHOTS = Path(__file__).parents[2] / "out" / "studio"  # where pictures of pages are left
HERE = ("http://127.0.0.1:", "http://localhost:", "ws://127.0.0.1:", "ws://localhost:", "data:", "blob:")
SAYS = "sottovoce studio: "


class Served:
    """A studio that runs as a process of its own, until it is ended."""

    def __init__(self, *arguments: str, **how: Any) -> None:
        command = [sys.executable, "-m", "sottovoce", "studio", "--no-browser", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(SAYS), line
        self.address = "/".join(line.removeprefix(SAYS).split()[0].split("/")[:3])

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(20)


@pytest.fixture(scope="session")
def studio() -> Iterator[str]:
    """The address of a studio."""
    pytest.importorskip("nicegui")
    served = Served()
    yield served.address
    served.end()


@pytest.fixture(scope="module")  # not longer: as long as Playwright runs, no other test may have a loop of asyncio
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with playwright.sync_playwright() as started:
        yield started.chromium


@pytest.fixture(scope="session")
def profile() -> Iterator[str]:
    """The folder in which a browser keeps scripts as it has compiled them: one without compiles all of them again for
    every page, which is a third of the work of a page."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.fixture(scope="module")
def context(chromium: Any, profile: str) -> Iterator[Any]:
    """A visitor, who keeps what it has loaded from page to page."""
    size = {"width": 1280, "height": 800}
    context = chromium.launch_persistent_context(
        profile, executable_path=CHROMIUM, args=QUIET, viewport=size, accept_downloads=True, reduced_motion="reduce"
    )
    context.set_default_timeout(20_000)
    yield context
    context.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Where strangers meet: every context of it is another visitor."""
    browser = chromium.launch(executable_path=CHROMIUM, args=QUIET)
    yield browser
    browser.close()


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    """A page on which nothing goes wrong: no error on the console, no request to another host."""
    page = context.new_page()
    wrong: list[str] = []
    watch(page, wrong)
    yield page
    page.close()
    assert wrong == []


def watch(page: Any, wrong: list[str]) -> None:
    """Note whatever should not happen on a page."""
    page.on("console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("request", lambda asked: None if asked.url.startswith(HERE) else wrong.append(f"request: {asked.url}"))
    page.on("websocket", lambda socket: None if socket.url.startswith(HERE) else wrong.append(f"socket: {socket.url}"))


@pytest.fixture
def shots() -> Path:
    """Where pictures of pages are left, to be looked at."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    return SHOTS
