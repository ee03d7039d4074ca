"""What is trained: a byte GPT made here, or a language model of transformers, whole or with adapters."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, Tag, model_validator

from hush_core.config.section import Section, kind_or


class ByteGptModel(Section):
    """A GPT-2 over bytes, created here. No tokenizer is learned from protected data. One example is one
    sequence."""

    kind: Literal["byte_gpt"] = "byte_gpt"
    layers: Annotated[int, Field(ge=1, le=1024)] = 4
    """Transformer blocks."""
    width: Annotated[int, Field(ge=8, le=65536)] = 256
    """Size of the hidden state, a multiple of `heads`. A model that does not fit in memory (16 bytes a
    parameter) is refused."""
    heads: Annotated[int, Field(ge=1, le=1024)] = 4
    """Attention heads."""

    @model_validator(mode="after")
    def _even_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError("model.width must be a multiple of model.heads")
        return self

    def parameters(self, chunk_bytes: int, frozen: Sequence[str] = ()) -> int:
        """How many numbers are trained: 12·width² a block, its biases and scales, and the embeddings; less what
        `train.freeze` names."""
        matrices = 0 if "matrices" in frozen else 12 * self.width**2
        embedding = 0 if "embedding" in frozen else 259 + chunk_bytes + 1
        return self.layers * (matrices + 13 * self.width) + (embedding + 2) * self.width


class LoraConfig(Section):
    """Low-rank adapters in place of full fine-tuning (Hu et al. 2021); all other parameters are frozen."""

    rank: Annotated[int, Field(ge=1, le=65536)] = 8
    """Rank of each adapter."""
    alpha: Annotated[float, Field(ge=1e-6, le=1e6)] = 16
    """The adapter's output is scaled by alpha / rank."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] | Literal["all-linear"] | None = None
    """Layers that get an adapter; otherwise the usual attention projections, or all linear layers where none
    are known."""
    use_dora: bool = False
    """DoRA: the length of each weight row is trained apart from its direction."""


class HuggingFaceModel(Section):
    """A causal or masked language model of yours, with its tokenizer, both made without the protected data."""

    kind: Literal["huggingface"]
    name: Annotated[str, Field(min_length=1)]
    """A folder, relative to this file, with safetensors weights, config and tokenizer; or a hub name. No
    model code runs and no pickle is read."""
    revision: str | None = None
    """Commit, tag or branch of a hub name. A branch may move between runs."""
    objective: Literal["causal", "masked"] | None = None
    """Otherwise what the model's own config says."""
    context: Annotated[int, Field(ge=2, le=1 << 24)] | None = None
    """Most tokens of an example; the rest is cut off and counted. Otherwise what the model can read."""
    lora: LoraConfig | None = None
    """Train low-rank adapters in place of all parameters. The registered model has them merged."""


ModelConfig = Annotated[
    Annotated[ByteGptModel, Tag("byte_gpt")] | Annotated[HuggingFaceModel, Tag("huggingface")],
    kind_or("byte_gpt"),
]
