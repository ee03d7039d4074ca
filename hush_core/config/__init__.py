"""The user's YAML as typed, frozen models; every mistake names the file and the key, and how to mend it.

>>> config = load_config(Path("examples/demo.yaml"))        # doctest: +SKIP

Nothing here prints a value from the file beyond the key's name: a literal secret may be written in it.
"""

from hush_core.config.job import Changes, HushConfig
from hush_core.config.load import load_config, parse_config
from hush_core.config.plan_file import read_plan, write_plan
from hush_core.config.secrets import (
    CodeownersSecret,
    ContributorsSecret,
    CredentialsSecret,
    FileSecret,
    LiteralsSecret,
    PathSecret,
    PatternsSecret,
    RareWordsSecret,
    RemovedSecret,
    SecretEntry,
    Spread,
    UnitSecret,
)
from hush_core.config.settings import (
    AuditConfig,
    ByteGptModel,
    Capacities,
    EarlyStopping,
    Execution,
    HuggingFaceModel,
    LoraConfig,
    Method,
    ModelConfig,
    PretrainConfig,
    PromiseConfig,
    TrackingConfig,
    TrainConfig,
    UntaggedConfig,
    WeightsConfig,
)
from hush_core.config.sources import Repository, Table

__all__ = [
    "AuditConfig", "ByteGptModel", "Capacities", "Changes", "CodeownersSecret", "ContributorsSecret",
    "CredentialsSecret", "EarlyStopping", "Execution", "FileSecret", "HuggingFaceModel", "HushConfig",
    "LiteralsSecret", "LoraConfig", "Method", "ModelConfig", "PathSecret", "PatternsSecret",
    "PretrainConfig",
    "PromiseConfig", "RareWordsSecret", "RemovedSecret", "Repository", "SecretEntry", "Spread", "Table",
    "TrackingConfig", "TrainConfig", "UnitSecret", "UntaggedConfig", "WeightsConfig", "load_config", "parse_config",
    "read_plan", "write_plan",
]  # fmt: skip
