"""A reviewer's decision on a version, signed with the key of the home.

MLflow lets anyone who reaches it set a tag or move the alias; only who can read the key can make this signature.
It does not tell the last decision from an earlier one: whoever kept the tags of an approval can put them back
after a rejection of the same version.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping

from mlflow.entities.model_registry import ModelVersion

from hush_core.errors import VerificationError
from tasks.runtime.environment import home
from tasks.runtime.registry import DIGEST, STATUS

SIGNATURE = "review_signature"
BY, AT, WHY = "reviewed_by", "reviewed_at", "review_reason"
_SIGNED = (STATUS, BY, AT, WHY, DIGEST)
APPROVED = "approved"


def signature(name: str, version: str, tags: Mapping[str, str]) -> str:
    """Of the decision that stands in `tags`, on this version with this certificate."""
    return home().sign("decision", json.dumps([name, str(version), *(tags.get(key) for key in _SIGNED)]))


def check_approval(entry: ModelVersion) -> str:
    """Who approved a version and when, in words.

    Raises:
        VerificationError: nobody did with the key of this home: the alias or a tag was set by another way, or the
            review was of an older hush or on another machine.
    """
    uri, tags = f"models:/{entry.name}/{entry.version}", entry.tags
    if tags.get(STATUS) != APPROVED:
        raise VerificationError([f"{uri}: is {tags.get(STATUS, 'without a status')}, and nobody approved it"])
    right = signature(entry.name, entry.version, tags)
    if not hmac.compare_digest(tags.get(SIGNATURE, ""), right):
        raise VerificationError(
            [
                f"{uri}: says that it was approved, and no review with the key of this home did that "
                f"({home().keys}): review it with hush review"
            ]
        )
    return f"approved by {tags[BY]} at {tags[AT]}, signed with the key of this home"
