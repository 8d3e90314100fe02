"""The mask of a scene as a switch and a slider, which two pages have."""

from __future__ import annotations

import math
from dataclasses import replace

from nicegui import ui

from . import words
from .layout import Slider, heading
from .scene import VARIANCES, Scene
from .session import Session

STEP = 0.1  # of the power of ten
EPS = 2.0**-52  # of float64


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
        self.follow(session.scene)
        self.on.on_value_change(self._settle)
        self.power.on("change", self._settle)  # at the end of a slide
        session.listen(lambda _, scene: self.follow(scene))

    def _settle(self) -> None:
        variance = self.session.scene.variance
        if not self.on.value:
            variance = None
        elif not self._shows(variance):
            variance = float(f"{10**self.power.value:.4g}")
        if variance != self.session.scene.variance:
            self.session.change(lambda scene: replace(scene, variance=variance, at=0))

    def _shows(self, variance: float | None) -> bool:
        """Whether the slider stands at this variance already: to set it again would take it out of a hand."""
        return variance is not None and abs(math.log10(variance) - self.power.value) < STEP / 4

    def follow(self, scene: Scene) -> None:
        """Show what the scene has, also after an undo or a calibration."""
        variance = scene.variance
        self.on.set_value(variance is not None)
        self.power.set_enabled(variance is not None)
        if variance is None:
            self.told.set_text("No mask: messages travel as they are.")
            return
        if not self._shows(variance):
            self.power.set_value(round(math.log10(variance), 2))
        sigma = math.sqrt(variance)
        self.told.set_text(f"variance {variance:.3g}: pads of about ±{sigma:.3g}; accuracy left {EPS * sigma:.1e}")
