"""Every page: it opens at its own address, in light and dark, at both widths, without an error and without a request to
anybody else; and no visitor sees another's. Pictures of all are left in ``out/studio``, to be looked at."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

from browser.acts import party, scene_at, until, visit
from browser.conftest import watch
from sottovoce.studio.layout import PAGES
from sottovoce.studio.link import to_link
from sottovoce.studio.making import first_scene, generated

SHOWN = replace(first_scene(), corrupt=frozenset({2, 5}), at=25)
# One party between two corrupt ones, and two groups whose sums are learned.
CUT = replace(generated("ring", 12, seed=3), corrupt=frozenset({0, 2, 6}))
READY = {
    "/": ".nv-awake",
    "/learns": "[data-verdict]",
    "/compare": "main",
    "/paper": ".plot svg path",
    "/live": "header",
}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens_and_is_pictured(page, studio, shots, path):
    """In light and in dark, at both widths; opened dark, and turned to light by its button."""
    page.goto(f"{studio}{path}?s={to_link(CUT if path == '/learns' else SHOWN)}&look=dark")
    page.wait_for_selector(READY[path], state="attached")
    name = path.strip("/") or "playground"
    for look in ("dark", "light"):
        while f"look={look}" not in page.url:
            page.get_by_role("button", name="Look:").click()
            page.wait_for_timeout(150)
        for width, height in ((1280, 800), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(400)  # for curves to be drawn
            page.screenshot(path=shots / f"{name}-{look}-{width}.png")
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width  # nothing hangs over the edge
        assert ("body--dark" in page.get_attribute("body", "class")) == (look == "dark")
    assert page.get_attribute("[aria-current=page]", "href").startswith(path)


def test_links_lead_from_page_to_page_with_the_scene(page, studio):
    visit(page, studio, "/learns", SHOWN)
    party(page, "Ada").click()
    scene = until(page, lambda scene: 0 in scene.corrupt, "Ada corrupt")
    page.get_by_role("link", name="Playground").click()
    page.wait_for_selector("[data-testid=place]")
    assert scene_at(page) == scene
    assert party(page, "Ada").get_attribute("data-corrupt") == "yes"


def test_dark_mode_is_switched_and_stays_in_the_link(page, studio):
    visit(page, studio, "/learns", SHOWN)
    switch = page.get_by_role("button", name="Look:")
    for look in ("light", "dark"):
        switch.click()
        page.wait_for_function("look => location.search.includes(`look=${look}`)", arg=look)
    assert "body--dark" in page.get_attribute("body", "class")
    page.reload()
    page.wait_for_selector("[data-verdict]")
    assert "body--dark" in page.get_attribute("body", "class")


def test_a_damaged_link_gets_a_sentence_and_the_first_scene(page, studio):
    page.goto(f"{studio}/learns?s=nonsense&look=bogus")
    page.get_by_text("This link is damaged").wait_for()
    page.wait_for_selector("[data-verdict]")
    assert page.locator(".nv-node").count() == first_scene().n


def test_no_visitor_sees_what_another_does(browser, studio):
    wrong: list[str] = []
    visitors = [browser.new_context() for _ in range(2)]
    ada, bob = (visitor.new_page() for visitor in visitors)
    for page in (ada, bob):
        watch(page, wrong)
        visit(page, studio, "/learns", first_scene())
        page.wait_for_selector("[data-verdict]")
    before = bob.inner_text("[data-testid=words]")
    party(ada, "Cy").click()
    until(ada, lambda scene: scene.corrupt == {2}, "Cy corrupt")
    ada.wait_for_function("() => document.querySelector('[data-testid=words]').innerText.includes('Cy is corrupt')")
    bob.wait_for_timeout(500)
    assert bob.inner_text("[data-testid=words]") == before
    assert party(bob, "Cy").get_attribute("data-corrupt") == "no"
    late = visitors[1].new_page()
    late.goto(f"{studio}/learns")
    late.wait_for_selector("[data-verdict]")
    assert late.locator('[data-corrupt="yes"]').count() == 0
    for visitor in visitors:
        visitor.close()
    assert wrong == []


def test_foreign_pages_reach_nothing(browser, studio):
    """A page of another origin, in the same browser, can neither read the studio nor open its socket."""
    visitor = browser.new_context()
    page = visitor.new_page()
    page.route("http://evil.example/", lambda route: route.fulfill(body="<html></html>", content_type="text/html"))
    page.goto("http://evil.example/")
    told = page.evaluate(
        """async studio => {
            const read = await fetch(studio + '/learns').then(() => 'read', () => 'refused');
            const socket = await new Promise(resolve => {
                const path = '/_nicegui_ws/socket.io/?EIO=4&transport=websocket';
                const opened = new WebSocket(studio.replace('http', 'ws') + path);
                opened.onopen = () => resolve('open');
                opened.onerror = () => resolve('refused');
            });
            return [read, socket];
        }""",
        studio,
    )
    assert told == ["refused", "refused"]
    visitor.close()


def test_rebound_names_reach_nothing(studio):
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"{studio}/learns", headers=headers), timeout=10)
        assert refused.value.code == 403
    with urllib.request.urlopen(f"{studio}/learns", timeout=10) as answer:
        assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]


def test_it_listens_on_this_machine_alone(studio):
    port = int(studio.rsplit(":", 1)[1])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {"127.0.0.1"}
    for address in others or {"127.0.0.2"}:
        with socket.socket() as trying:
            trying.settimeout(1)
            assert trying.connect_ex((address, port)) != 0


def test_the_page_holds_no_file_of_the_machine(studio):
    for path in ("/etc/passwd", "/../../etc/passwd", "/_nicegui/../../../etc/passwd", "/static/..%2f..%2fetc/passwd"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(studio + path, timeout=10)
        assert refused.value.code in (403, 404)
