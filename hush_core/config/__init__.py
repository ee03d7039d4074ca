"""The user's YAML as typed, frozen models; every mistake names the file and the key, and how to mend it.

>>> config = load_config(Path("examples/demo.yaml"))        # doctest: +SKIP

Nothing here prints a value from the file beyond the key's name: a literal secret may be written in it.
"""

from hush_core.config.job import Changes, HushConfig
from hush_core.config.load import load_config, parse_config
from hush_core.config.secrets import (
    CodeownersSecret,
    ContributorsSecret,
    CredentialsSecret,
    LiteralsSecret,
    PathSecret,
    RemovedSecret,
    SecretEntry,
)
from hush_core.config.settings import (
    AuditConfig,
    Capacities,
    Method,
    ModelConfig,
    PretrainConfig,
    TrackingConfig,
    TrainConfig,
    WeightsConfig,
)
from hush_core.config.sources import Repository

__all__ = [
    "AuditConfig", "Capacities", "Changes", "CodeownersSecret", "ContributorsSecret", "CredentialsSecret",
    "HushConfig", "LiteralsSecret", "Method", "ModelConfig", "PathSecret", "PretrainConfig", "RemovedSecret",
    "Repository", "SecretEntry", "TrackingConfig", "TrainConfig", "WeightsConfig", "load_config", "parse_config",
]  # fmt: skip
