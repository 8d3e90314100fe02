"""The mask of a scene as a switch and a slider, which two pages have."""

from __future__ import annotations

import math
from dataclasses import replace

from nicegui import events, ui

from . import words
from .audits import rounding
from .layout import Slider, heading
from .scene import VARIANCES, Scene
from .session import Session

STEP = 0.1  # of the power of ten


class MaskControl:
    """It changes the variance of the session's scene, and follows it where something else does."""

    def __init__(self, session: Session) -> None:
        self.session = session
        heading("Mask", words.MASK)
        self.on = ui.switch("Hide messages behind a mask")
        low, high = (math.log10(bound) for bound in VARIANCES)
        self.power = Slider(min=low, max=high, step=STEP, value=6.0)
        self.power.props('aria-label="Variance of the mask, power of ten"')
        self.told = ui.label().classes("small soft").props('data-testid="accuracy"')
        with self.told:
            ui.tooltip(words.ACCURACY)
        self.held = False  # whether a hand moves it: what the server then said would take it out of the hand
        self.follow(session.scene)
        self.on.on_value_change(self._switched)
        self.power.on("change", self._slid)  # at the end of a slide
        session.listen(lambda _, scene: self.follow(scene))

    def _switched(self, event: events.ValueChangeEventArguments[bool | None]) -> None:
        if event.value != (self.session.scene.variance is not None):  # by a hand, and not to follow the scene
            self._settle(bool(event.value), self.power.value if isinstance(self.power.value, int | float) else 6.0)

    def _slid(self, event: events.GenericEventArguments) -> None:
        """What the event itself says: the slider's own value may come later."""
        low, high = (math.log10(bound) for bound in VARIANCES)
        if isinstance(event.args, int | float) and low <= event.args <= high:
            self.held = True
            self._settle(True, float(event.args))
            self.held = False

    def _settle(self, on: bool, power: float) -> None:
        variance = float(f"{10**power:.4g}") if on else None
        if variance != self.session.scene.variance:
            self.session.change(lambda scene: replace(scene, variance=variance, at=0))

    def follow(self, scene: Scene) -> None:
        """Show what the scene has, also after an undo or a calibration."""
        variance = scene.variance
        self.on.set_value(variance is not None)
        self.power.set_enabled(variance is not None)
        if variance is None:
            self.told.set_text("No mask: messages travel as they are.")
            return
        shown = self.power.value if isinstance(self.power.value, int | float) else math.inf
        if not self.held and abs(math.log10(variance) - shown) > STEP / 4:
            self.power.set_value(round(math.log10(variance), 2))
        sigma = math.sqrt(variance)
        self.told.set_text(
            f"variance {words.plain(variance)}: pads of about ±{words.plain(sigma)}; accuracy left about "
            f"{words.plain(rounding(scene))}"
        )
