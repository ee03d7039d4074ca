"""What the processes of a data-parallel run are given: one value, in files of a folder that is theirs alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import pyarrow as pa

from hush_core.config import LoraConfig, TrainConfig
from hush_core.corpus.prompted import ends_of, text_with
from hush_core.corpus.records import ItemText, Records, texts_of_item
from hush_core.plan import ProtectionPlan
from hush_core.values import Large, read, written

_JOB = "job.json"
_ROWS = 1 << 16
_ENDS = pa.list_(pa.uint32())
_SCHEMA = pa.schema([("texts", pa.large_list(pa.large_binary())), ("completions", pa.large_list(_ENDS))])
Items = Annotated[Sequence[ItemText], Large]


@dataclass(frozen=True)
class OtherTexts:
    """The texts of a run that no edge of the graph names.

    Attributes:
        public: PUBLIC text that the learning curve is measured on every `evaluate_every` rounds.
        untagged: `untagged_batch` of it is mixed into each update, after the release (post-processing: the plan,
            its noise and the ledger know nothing of it). `optimizer: preconditioned` takes the scale of gradients
            from it, before the first round.
        validation: is not trained on. Early stopping and `keep: best` look at it, or at public text if there is no
            such text, and at nothing else.
    """

    public: Items = ()
    untagged: Items = ()
    validation: Items = ()


@dataclass(frozen=True)
class Job:
    """A private run on a model in a folder. A field that is added here reaches each of its processes.

    Attributes:
        plan, texts, settings, work_dir, others, witness: as in `fit_private`, which `fit_job` calls.
        model_dir: a folder that `save_model` wrote.
        lora: adapters to put in and train; None trains every parameter. seed: of their random half.
        out_dir: where the model is saved; whole once the run has ended. base: named in its adapters.
    """

    plan: ProtectionPlan
    texts: Items
    model_dir: Path
    settings: TrainConfig
    lora: LoraConfig | None
    work_dir: Path
    out_dir: Path
    others: OtherTexts = OtherTexts()
    base: str = ""
    seed: int = 0
    witness: Path | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if isinstance(path := getattr(self, field.name), Path):
                object.__setattr__(self, field.name, path.resolve())

    def write(self, folder: Path) -> None:
        (folder / _JOB).write_bytes(written(self, _Files(folder)))

    @classmethod
    def read(cls, folder: Path) -> tuple[Job, list[Path]]:
        """The job, and the files that it was read from, which may be deleted then."""
        files = _Files(folder)
        return read(cls, (folder / _JOB).read_bytes(), files), files.used


class Texts(Sequence[ItemText]):
    """The items of an Arrow file, read where they lie: the processes share its pages."""

    def __init__(self, path: Path) -> None:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        self._rows, self._completions = table["texts"], table["completions"]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> ItemText:
        return _item(self._rows[index], self._completions[index])

    def __iter__(self) -> Iterator[ItemText]:
        return map(_item, self._rows, self._completions)


def write_texts(path: Path, texts: Sequence[ItemText]) -> None:
    """The records of each item, and what is learned of each."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        for start in range(0, len(texts), _ROWS):
            some = [texts_of_item(texts[i]) for i in range(start, min(start + _ROWS, len(texts)))]
            learned = [[ends_of(text) for text in records] for records in some]
            columns = [
                pa.array(column, kind) for column, kind in zip((some, learned), _SCHEMA.types, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))


def _item(texts: pa.Scalar, completions: pa.Scalar) -> ItemText:
    records = tuple(map(text_with, texts.as_py(), completions.as_py()))
    return records[0] if len(records) == 1 else Records(records)


class _Files:
    """The large parts of a job as numbered files of its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.used = folder, list[Path]()

    def put(self, part: Any) -> str:
        path = self._folder / f"part{len(self.used)}"
        self.used.append(path)
        if isinstance(part, np.ndarray):
            with path.open("wb") as file:
                np.save(file, part, allow_pickle=False)
        elif isinstance(part, pl.DataFrame):
            part.write_parquet(path)
        else:
            write_texts(path, part)
        return path.name

    def get(self, name: str, kind: Any) -> Any:
        self.used.append(path := self._folder / name)
        return {np.ndarray: np.load, pl.DataFrame: pl.read_parquet}.get(kind, Texts)(path)
