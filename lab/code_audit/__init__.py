"""The audit of the code: a step is replayed on neighbouring batches, and what leaves it is compared.

Reading order: check → parts → scripted → recording → reference → the checks → audit.
"""

from lab.code_audit.audit import audit_step
from lab.code_audit.check import Check, code_report
from lab.code_audit.parts import REAL, StepParts

__all__ = ["REAL", "Check", "StepParts", "audit_step", "code_report"]
