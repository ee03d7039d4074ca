"""The user's YAML as typed, frozen models; every error names the file and the key, and how to fix it.

>>> config = load_config(Path("job.yaml"))        # doctest: +SKIP

Nothing here prints a value from the file, only names of keys: a value may be a literal secret.
"""

from hush_core.config.changes import Changes
from hush_core.config.job import HushConfig
from hush_core.config.load import load_config, parse_config
from hush_core.config.mechanism import (
    MECHANISMS,
    PERPLEXITY,
    RANKED,
    CorrelatedMechanism,
    DpSgdMechanism,
    DroppingMechanism,
    GroupPrivacyMechanism,
    HushMechanism,
    MechanismConfig,
    RedactionMechanism,
    UserWiseMechanism,
)
from hush_core.config.models import ByteGptModel, HuggingFaceModel, LoraConfig, ModelConfig
from hush_core.config.plan_file import read_plan, write_plan
from hush_core.config.promise import PromiseConfig
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
    Capacities,
    EarlyStopping,
    Execution,
    Method,
    PretrainConfig,
    TrackingConfig,
    TrainConfig,
    UntaggedConfig,
    WeightsConfig,
)
from hush_core.config.sources import Repository, Table

__all__ = [
    "MECHANISMS", "PERPLEXITY", "RANKED", "AuditConfig", "ByteGptModel", "Capacities", "Changes",
    "CodeownersSecret", "ContributorsSecret", "CorrelatedMechanism", "CredentialsSecret", "DpSgdMechanism",
    "DroppingMechanism", "EarlyStopping", "Execution", "FileSecret", "GroupPrivacyMechanism",
    "HuggingFaceModel", "HushConfig", "HushMechanism", "LiteralsSecret", "LoraConfig", "MechanismConfig",
    "Method", "ModelConfig", "PathSecret", "PatternsSecret", "PretrainConfig", "PromiseConfig",
    "RareWordsSecret", "RedactionMechanism", "RemovedSecret", "Repository", "SecretEntry", "Spread", "Table",
    "TrackingConfig", "TrainConfig", "UnitSecret", "UntaggedConfig", "UserWiseMechanism", "WeightsConfig",
    "load_config", "parse_config", "read_plan", "write_plan",
]  # fmt: skip
