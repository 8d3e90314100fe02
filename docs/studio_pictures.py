"""The pictures of docs/guides/studio.md, taken of the pages themselves by the browser that the tests use: ``python
docs/studio_pictures.py``. Needs Chromium and the extras of ``dev``."""

import sys
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browser.conftest import CHROMIUM, QUIET, Served
from playwright.sync_api import sync_playwright

from sottovoce.studio.link import to_link
from sottovoce.studio.scene import first_scene

SIZE = {"width": 1280, "height": 800}
SEVERAL = replace(first_scene(), at=25)
CORRUPT = first_scene().cut(1, 5).cut(1, 0).toggled(6).toggled(3).toggled(4)


def main() -> None:
    served = Served()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport=SIZE, color_scheme="light")

        def picture(name: str, path: str, ready: str, wait: int = 800) -> None:
            page.goto(served.address + path)
            page.wait_for_selector(ready, state="attached")
            page.wait_for_timeout(wait)
            page.screenshot(path=HERE / "images" / f"studio-{name}.png")

        picture("playground", f"/?s={to_link(SEVERAL)}", ".nv-awake")
        picture("learns", f"/learns?s={to_link(CORRUPT)}", "[data-verdict]")
        picture("paper", "/paper", ".plot svg path", 2000)
        browser.close()
    served.end()


if __name__ == "__main__":
    main()
