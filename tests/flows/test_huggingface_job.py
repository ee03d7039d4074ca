"""`hush run` on models that a user brings: a Llama with adapters, and a BERT with all parameters.

Folders with small random weights stand for pre-trained ones; everything else is the real job.
"""

import re

import pytest
import torch
from jobs import CONFIG, Job
from tiny_models import write_model

LLAMA = (
    CONFIG.replace(
        "{{layers: 1, width: 32, heads: 2}}", "{{kind: huggingface, name: llama, lora: {{rank: 2}}}}"
    )
    .replace(
        "\ntrain: {{",
        "\ntrain: {{learning_rate: [1.0e-4, 1.0e-3, 1.0e-2], evaluate_every: 2, schedule: cosine, ",
    )
    .replace("unprotected: true", "unprotected: false")
    .replace("job, model: job", "job, model: llama")
)
BERT = (
    CONFIG.replace("{{layers: 1, width: 32, heads: 2}}", "{{kind: huggingface, name: bert}}")
    .replace("\ntrain: {{", "\ntrain: {{precision: bf16, processes: 2, evaluate_every: 1, ")
    .replace("unprotected: true", "unprotected: false")
    .replace("job, model: job", "job, model: bert")
)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("job"), seed=12)
    for name in ("llama", "bert"):
        write_model(job.folder / name, name)
    with job.served():
        yield job


def loaded(job, uri):
    """What a reviewer gets who loads the version with MLflow alone, in a process that hush is not part of."""
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{job.home / 'mlflow.db'}")
    try:
        return mlflow.transformers.load_model(uri)
    finally:
        mlflow.set_tracking_uri(before)


def certified(job):
    """Folders of merged models in the store that have their adapters beside them."""
    notes = (job.home / "store" / "objects").rglob("language_model.json")
    return [n.parent for n in notes if '"merged": true' in n.read_text() and (n.parent / "adapter").is_dir()]


def test_a_llama_with_adapters_and_a_rehearsed_rate(job):

    output = job.hush("run", job.write("llama.yaml", text=LLAMA))
    flat = " ".join(output.split())
    assert "models:/llama/1" in output and "llama, LoRA rank 2" in flat
    assert "best of 3 on public text" in flat and "bits per byte on held-out text" in flat
    assert re.search(r"learning rate \S+, best of 3 in rehearsal", flat)
    job.hush("verify", "models:/llama/1")
    pipeline = loaded(job, "models:/llama/1")
    said = pipeline("def step", max_new_tokens=4, do_sample=False)
    assert said[0]["generated_text"].startswith("def step")
    assert not any("lora" in name for name, _ in pipeline.model.named_parameters())
    (saved,) = certified(job)
    same_as_base_plus_adapter(job.folder / "llama", saved, pipeline.model)
    assert str(job.folder) not in (saved / "adapter" / "adapter_config.json").read_text()


def same_as_base_plus_adapter(base, saved, merged):
    """The round trip: base + saved adapter compute what the merged, registered model computes."""
    import peft
    from transformers import AutoModelForCausalLM

    adapted = peft.PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base), saved / "adapter", local_files_only=True
    )
    plain = AutoModelForCausalLM.from_pretrained(base)
    ids = torch.arange(3, 23).unsqueeze(0)
    with torch.no_grad():
        want, got, start = (m(input_ids=ids).logits for m in (adapted, merged.float(), plain))
    assert float((want - start).abs().max()) > 1e-3, "the adapter changes nothing: the comparison is blind"
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


def test_a_bert_in_two_processes_and_bf16(job):
    output = job.hush("run", job.write("bert.yaml", text=BERT))
    flat = " ".join(output.split())
    assert "models:/bert/1" in output and "bits per masked token on held-out text" in flat
    assert "4 of 4 rounds released" in flat
    job.hush("verify", "models:/bert/1")
    pipeline = loaded(job, "models:/bert/1")
    assert len(pipeline("def [MASK]")) == 5
    leaked = [
        p for p in (job.home / "store" / "work").rglob("*") if p.is_file() and b"ghp_" in p.read_bytes()
    ]
    assert not leaked, "the processes left protected text in their work folder"


def test_mistakes_name_the_key_and_the_mend(job):
    cases = {
        "name: llama, ": ("name: ./nowhere, ", "model.name"),
        "kind: huggingface, ": ("kind: keras, ", "byte_gpt or huggingface"),
        "rank: 2": ("rank: 2, targets: [nothing]", "model.lora.targets"),
        'public: ["third_party/**"]': ("public: []", "public"),
    }
    for good, (bad, said) in cases.items():
        assert good in LLAMA.replace("{{", "{").replace("}}", "}")
        text = LLAMA.replace(good.replace("{", "{{").replace("}", "}}"), bad)
        output = job.hush("run", job.write("bad.yaml", text=text), status=2)
        assert said in output and "Traceback" not in output, bad


def test_other_ways_of_working_do_not_begin_a_run_again(job):
    """More processes, smaller micro-batches: the same run, whose releases are spent already."""
    text = BERT.replace("processes: 2", "processes: 1, micro_batch: 3")
    output = job.hush("run", job.write("bert-again.yaml", text=text))
    assert "reused" in output and "models:/bert/1" in output
