"""What a run gives away, and to whom: ``audit``; ``exposure`` of a network, ``calibrate`` for a mask.

Who listens is an ``Eavesdropper``, a ``Coalition``, or the ``Worst`` one; what is seen a ``Transcript`` or a
``Snapshot``. What the auditor and the paper stand on is in ``privacy.research``.
"""

from . import research as research
from .adversary import Adversary, Coalition, Eavesdropper, Worst
from .answers.report import Report
from .answers.several_agreements import total
from .answers.statement import statement, write_statement
from .answers.verdict import Verdict
from .audit import audit
from .calibrate import CalibratedMask, calibrate
from .exposure import Exposure, exposure
from .seen import Snapshot, Transcript
from .suggest_edges import Suggestion, suggest_edges

__all__ = [
    "Adversary",
    "CalibratedMask",
    "Coalition",
    "Eavesdropper",
    "Exposure",
    "Report",
    "Snapshot",
    "Suggestion",
    "Transcript",
    "Verdict",
    "Worst",
    "audit",
    "calibrate",
    "exposure",
    "statement",
    "suggest_edges",
    "total",
    "write_statement",
]
