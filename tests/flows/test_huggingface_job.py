"""`hush run` on models that a user brings: a Llama with adapters, and a BERT with all parameters.

Folders with small random weights stand for pre-trained ones; everything else is the real job.
"""

import os
import re
import signal
from contextlib import contextmanager

import pytest
import torch
from jobs import CONFIG, Job
from machines import second_machine
from tiny_models import write_model
from waiting import until

pytestmark = pytest.mark.slow

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

    mlflow.set_tracking_uri(f"sqlite:///{job.home / 'mlflow.db'}")
    return mlflow.transformers.load_model(uri)


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


ROUNDS = 60


@pytest.fixture(scope="module")
def machine():
    """A second machine for the job of two processes, where this process may make one."""
    with second_machine() as made:
        yield made


@contextmanager
def trained_on(machine, job, **given):
    """Commands inside train here and there."""
    before = job.server
    job.server = {**before, **(machine.environment if machine else {}), **given}
    try:
        yield
    finally:
        job.server = before


def bert(job):
    return job.write("bert.yaml", text=BERT, rounds=ROUNDS)


def counted(job):
    """Rounds in the ledger of each run of this home."""
    ledgers = (job.home / "store" / "work").glob("*/releases.jsonl")
    return [len(file.read_bytes().splitlines()) - 1 for file in ledgers]


def released(job):
    return sum(counted(job))


def ended(child, status):
    output, _ = child.communicate(timeout=600)
    assert child.returncode == status, output[-4000:]
    assert "Traceback" not in output
    return " ".join(output.split())


def test_on_two_machines_it_is_stopped_and_then_one_loses_its_process(job, machine):
    """No release is lost; the next test goes on from here."""
    if machine is None:
        pytest.skip("needs root and ip netns")
    begun = released(job)

    @contextmanager
    def running(rounds, **given):
        """The command, and the process there, from this round on."""
        with trained_on(machine, job, **given):
            child = job.start("run", bert(job))
        try:
            until(lambda: child.poll() is not None or machine.processes(), "the process there")
            there = min(machine.processes())  # what it may begin for a moment has a later number
            until(lambda: child.poll() is not None or released(job) >= rounds, "rounds", pause=0.02)
            yield child, there
        finally:
            child.kill()

    with running(begun + 2) as (child, there):
        child.send_signal(signal.SIGINT)
        assert "hush: interrupted" in ended(child, 130)
    kept = released(job)
    assert begun + 2 <= kept < begun + ROUNDS and not machine.processes()
    assert list(job.home.rglob("work/*/checkpoint.pt"))

    hosts = f"here; sh -c '\"$@\" || exit 255' as-ssh {' '.join(machine.command)}"  # a process of its own
    with running(kept + 1, HUSH_HOSTS=hosts) as (child, there):
        os.kill(there, signal.SIGKILL)
        said = ended(child, 1)
    assert re.search(
        "hush: `sh .*` ended with status 255 while rank 1 ran: .*; start again: training continues", said
    )
    assert kept + 1 <= released(job) < begun + ROUNDS and not machine.processes()


def test_a_bert_in_two_processes_and_bf16(job, machine):
    """On two machines where there can be; it goes on where the run of the last test was killed."""
    with trained_on(machine, job):
        output = job.hush("run", bert(job))
    assert counted(job).count(ROUNDS) == 1
    flat = " ".join(output.split())
    assert "models:/bert/1" in output and "bits per masked token on held-out text" in flat
    assert f"{ROUNDS} of {ROUNDS} rounds released" in flat
    job.hush("verify", "models:/bert/1")
    pipeline = loaded(job, "models:/bert/1")
    assert len(pipeline("def [MASK]")) == 5
    leaked = [
        p for p in (job.home / "store" / "work").rglob("*") if p.is_file() and b"ghp_" in p.read_bytes()
    ]
    assert not leaked, "the processes left protected text in their work folder"


def test_adapters_of_a_layer_that_is_not_there_are_refused_by_their_key(job):
    text = LLAMA.replace("rank: 2", "rank: 2, targets: [nothing]")
    output = job.hush("run", job.write("bad.yaml", text=text), status=2)
    assert "model.lora.targets" in output and "Traceback" not in output


def test_other_ways_of_working_do_not_begin_a_run_again(job):
    """More processes, smaller micro-batches: the same run, whose releases are spent already."""
    text = BERT.replace("processes: 2", "processes: 1, micro_batch: 3")
    output = job.hush("run", job.write("bert-again.yaml", text=text, rounds=ROUNDS))
    assert "reused" in output and "models:/bert/1" in output
