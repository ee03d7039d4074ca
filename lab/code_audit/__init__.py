"""The audit of the code: a step is replayed on neighbouring batches, and what leaves it is compared.

Reading order: check → parts → scripted → recording → reference → the checks → audit.
"""

from hush_core.auditing.code.audit import audit_step
from hush_core.auditing.code.check import Check, code_report
from hush_core.auditing.code.parts import REAL, StepParts

__all__ = ["REAL", "Check", "StepParts", "audit_step", "code_report"]
