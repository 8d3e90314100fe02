"""Under construction."""

from __future__ import annotations

from nicegui import ui

from ..session import Session


class Compare:
    """The page."""

    def __init__(self, session: Session) -> None:
        ui.label("compare")
