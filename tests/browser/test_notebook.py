"""The studio in a frame, as a notebook shows it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import sottovoce as sv
from browser.acts import scene_at
from sottovoce.studio import notebook


@pytest.fixture
def shown():
    network = sv.Network.from_named_edges([("Ann", "Ben"), ("Ben", "Cat"), ("Cat", "Ann"), ("Cat", "Dan")])
    problem = sv.averaging(network, [3.0, 1.0, 4.0, 1.5])
    shown = sv.studio.show(problem, mask=sv.GaussianMask(1e5), corrupt={"Cat"}, page="learns")
    yield shown
    shown.close()


@pytest.fixture
def notebook_server(shown):
    """A page of another port of this machine that shows what a notebook shows of an object."""

    class Lab(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<html><link rel=icon href=data:,><body>{shown._repr_html_()}</body></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Lab)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()


def test_a_notebook_embeds_the_problem(shown, notebook_server, page):
    page.goto(notebook_server)
    frame = page.frame_locator("iframe")
    frame.locator("[data-verdict]").wait_for()
    assert "Cat is corrupt" in frame.locator("[data-testid=words]").inner_text()
    assert frame.locator('.nv-node[data-party="Dan"]').get_attribute("data-disclosed") == "yes"
    page.goto(shown.address)
    assert scene_at(page).numbers == (3.0, 1.0, 4.0, 1.5)
    again = sv.studio.show(sv.Network.ring(5))
    assert again.address.split("/?")[0].split("/learns")[0] == shown.address.split("/learns")[0]  # one process a kernel
    assert repr(shown).startswith("Embedded(http://localhost:")


def test_the_process_ends_with_its_kernel():
    code = (
        "import sottovoce as sv, sys, time; shown = sv.studio.show(); "
        "from sottovoce.studio.notebook import _running; print(_running[0].pid, flush=True); time.sleep(600)"
    )
    kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert kernel.stdout is not None
    served = int(kernel.stdout.readline())
    os.kill(served, 0)  # it runs
    kernel.send_signal(signal.SIGKILL)
    kernel.wait()
    for _ in range(200):
        try:
            os.kill(served, 0)
        except ProcessLookupError:
            return
        if "State:\tZ" in _status(served):
            return
        time.sleep(0.05)
    raise AssertionError("the studio outlived its kernel")


def _status(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/status") as status:
            return status.read()
    except OSError:
        return "State:\tZ"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"problem": "ring"}, "takes a problem or a network"),
        ({"page": "nowhere"}, "page must be one of"),
        ({"height": 10}, "height must be"),
        ({"mask": 3}, "mask must be"),
        ({"corrupt": {99}}, "there is no node 99|is no node"),
        ({"mask": sv.GaussianMask(1e20)}, "variance of the mask"),
    ],
)
def test_what_cannot_be_shown_gets_a_sentence(arguments, why):
    with pytest.raises(sv.studio.notebook.InvalidInput, match=why):
        sv.studio.show(**arguments)


def test_without_the_extra_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'sottovoce\[studio\]'"):
        sv.studio.show()
