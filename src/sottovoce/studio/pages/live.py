"""Under construction."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from ..session import Session


class Live:
    """The page."""

    def __init__(self, session: Session, *, live: Any) -> None:
        ui.label("live")
