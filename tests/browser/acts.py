"""What tests do with a page: open a scene, read back the scene that its address tells, and point at parties."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from sottovoce.studio.link import from_link, to_link
from sottovoce.studio.scene import Scene


def visit(page: Any, studio: str, path: str, scene: Scene, look: str = "") -> None:
    """Open a page with a scene, and wait until its parties are drawn."""
    page.goto(f"{studio}{path}?s={to_link(scene)}{look}")
    page.wait_for_function("n => document.querySelectorAll('.nv-node').length === n", arg=scene.n)


def scene_at(page: Any) -> Scene:
    """The scene of the page's address: what a link restores."""
    return from_link(parse_qs(urlsplit(page.url).query)["s"][0])


def until(page: Any, holds: Any, what: str) -> Scene:
    """Wait until the scene in the address is as wanted."""
    for _ in range(200):
        if "s=" in page.url and holds(scene := scene_at(page)):
            return scene
        page.wait_for_timeout(50)
    raise AssertionError(f"the scene did not come: {what}")


def party(page: Any, name: str) -> Any:
    """Where a party is drawn."""
    return page.locator(f'.nv-node[data-party="{name}"]')


def middle(page: Any, name: str) -> tuple[float, float]:
    """The middle of its mark, on the screen."""
    box = party(page, name).locator("circle, rect").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def nudge(page: Any, label: str, key: str, times: int = 1) -> None:
    """Move a slider by the keys."""
    page.locator(f'.q-slider[aria-label^="{label}"] .q-slider__track-container').first.focus()
    for _ in range(times):
        page.keyboard.press(key)
