"""The studio in a notebook: a frame that shows the pages of a process of its own, which ends with the kernel."""

from __future__ import annotations

import atexit
import select
import subprocess
import sys
from collections.abc import Hashable, Iterable
from dataclasses import replace
from html import escape
from importlib.util import find_spec

from ..errors import InvalidInput, MissingExtra, SottovoceError
from ..network import Network
from ..pdmm.masks import GaussianMask
from ..pdmm.problem import Problem
from ..privacy.adversary import node_numbers
from .link import to_link
from .making import first_scene, names_of, on_network, scene_of
from .scene import Scene

PAGES = {"playground": "/", "learns": "/learns", "compare": "/compare", "paper": "/paper"}
BEGINS = 60.0  # seconds that the process may take to begin
SAYS = "sottovoce studio: "

_running: list[subprocess.Popen[str]] = []  # one process a kernel
_address = ""


class Embedded:
    """A frame in a notebook, made by ``show``.

    Attributes
    ----------
    address : str
        The page that it shows, for a window of its own.
    height : int
        In pixels.
    """

    def __init__(self, address: str, height: int) -> None:
        self.address, self.height = address, height

    def __repr__(self) -> str:
        return f"Embedded({self.address.split('?')[0]})"

    def _repr_html_(self) -> str:
        address = escape(self.address, quote=True)
        return (
            f'<iframe src="{address}" title="sottovoce studio" width="100%" height="{self.height}" '
            'style="border: 1px solid #d0d5dc; border-radius: 6px" allow="clipboard-write"></iframe>'
        )

    def close(self) -> None:
        """End the process behind all frames of this kernel; ``show`` starts another."""
        _end()


def show(
    problem: Problem | Network | None = None,
    *,
    mask: GaussianMask | None = None,
    corrupt: Iterable[Hashable] = (),
    page: str = "playground",
    height: int = 760,
) -> Embedded:
    """The studio in a notebook, with a problem in it.

    The pages are served on this machine alone, by a process that ends with the kernel.

    Parameters
    ----------
    problem : Problem or Network, optional
        The mean of one number per party, as ``sv.averaging`` makes it; or a network, with numbers drawn for it.
        Default: the paper's network.
    mask : GaussianMask, optional
        Behind which it begins. Default: one of variance 1e6.
    corrupt : iterable, optional
        Who is marked corrupt, by name or number.
    page : {"playground", "learns", "compare", "paper"}
        The page to begin with.
    height : int
        Of the frame, in pixels.

    Returns
    -------
    Embedded
        A notebook shows it; ``.address`` is for a window of its own.

    Raises
    ------
    InvalidInput
        A problem other than the mean of one number per party, or one of more than 200.
    MissingExtra
        Where NiceGUI is not installed.

    Examples
    --------
    In a notebook::

        problem = sv.averaging(sv.Network.random_geometric(12, seed=2), ages)
        sv.studio.show(problem, corrupt={3}, page="learns")
    """
    if find_spec("nicegui") is None:
        raise MissingExtra("the studio", "nicegui", "studio")
    if page not in PAGES:
        raise InvalidInput(f"page must be one of {', '.join(PAGES)}; got {page!r}.")
    if isinstance(height, bool) or not isinstance(height, int) or not 200 <= height <= 4000:
        raise InvalidInput(f"height must be an integer from 200 to 4000, in pixels; got {height!r}.")
    scene = scene_to_show(problem, mask, corrupt)
    return Embedded(f"{_begun()}{PAGES[page]}?s={to_link(scene)}", height)


def scene_to_show(problem: Problem | Network | None, mask: GaussianMask | None, corrupt: Iterable[Hashable]) -> Scene:
    """What the first page shows."""
    if mask is not None and not isinstance(mask, GaussianMask):
        raise InvalidInput(f"mask must be sv.GaussianMask(variance), or None; got {mask!r}.")
    if isinstance(problem, Problem):
        network, scene = problem.network, scene_of(problem)
    elif isinstance(problem, Network):
        network, scene = problem, on_network(first_scene(), problem, names_of(problem))
    elif problem is None:
        scene = first_scene()
        network = scene.network
    else:
        raise InvalidInput(f"show takes a problem or a network; got {problem!r:.80}.")
    marked = frozenset(node_numbers(network, corrupt, "corrupt"))
    variance = scene.variance if mask is None else float(mask.variance)
    return replace(scene, corrupt=marked, variance=variance)


def _begun() -> str:
    """The address of this kernel's process, which is started where there is none."""
    global _address
    if _running and _running[0].poll() is None:
        return _address
    _running.clear()
    command = [sys.executable, "-m", "sottovoce", "studio", "--no-browser", "--port", "0", "--framed"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    _running.append(process)
    ready = select.select([process.stdout], [], [], BEGINS)[0]
    line = process.stdout.readline() if ready else ""
    if not line.startswith(SAYS):
        _end()
        raise SottovoceError("the studio did not begin; run sottovoce studio in a terminal to see why.")
    port = line.strip().rstrip("/").rpartition(":")[2]
    _address = f"http://localhost:{port}"  # by the name that notebooks have: browsers then take both for one site
    return _address


@atexit.register
def _end() -> None:
    """Close its standard input, at which it ends; or end it, where it hangs."""
    while _running:
        process = _running.pop()
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
