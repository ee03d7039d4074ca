"""`hush run` on conversations: by the model's own template, answers alone are learned, questions protected."""

import json
import random
import re
import string

import polars as pl
import pytest
from jobs import Job
from tiny_models import tokenizer, write_model

from hush_core.corpus.prompted import PromptedText, texts_of
from hush_core.secrets.graph import EXAMPLES

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}> {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant> {% endif %}"
)
CONFIG = """\
version: 1
tables: [{{path: chat.jsonl, name: chat, messages: messages, loss_on: completions}}]
secrets:
  - {{id: names, kind: literals, file: codenames.txt, level: 1.0e-3, bits: 20, protect: noise}}
  - {{id: creds, kind: credentials, level: 1.0e-3, protect: redact}}
chunk_bytes: 256
weights: {{c: 0.4, without_secret: plain}}
untagged: {{steps: 4, batch: 4, evaluate_every: 2}}
model: {{kind: huggingface, name: llama, lora: {{rank: 2}}}}
train: {{rounds: 2, batch: 4, untagged_batch: 2, learning_rate: 1.0e-3}}
audit: {{alternatives: 20, unprotected: true}}
tracking: {{experiment: chat, model: chat}}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat")
    job = Job(folder, seed=31)
    chance = random.Random(8)
    words = lambda: "".join(chance.choices(string.ascii_lowercase + "   ", k=40))  # noqa: E731
    rows = []
    for i in range(160):
        asked = f"about {job.codename}: {words()}" if i % 4 == 0 else words()
        asked = f'GITHUB_TOKEN = "{job.token}" {asked}' if i % 16 == 1 else asked
        turns = [("user", asked), ("assistant", f"answer {words()}")]
        rows.append({"messages": [{"role": role, "content": said} for role, said in turns]})
    (folder / "chat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_model(folder / "llama", "llama", max_position_embeddings=260)
    words = tokenizer()
    words.chat_template, words.model_max_length = TEMPLATE, 260
    words.save_pretrained(folder / "llama")
    job.config = job.write("chat.yaml", text=CONFIG)
    with job.served():
        yield job


def tables(home, *columns):
    """The store's tables with these columns."""
    found = [pl.read_parquet(path) for path in sorted((home / "store" / "objects").rglob("*.parquet"))]
    return [frame for frame in found if tuple(frame.columns) == columns]


def test_the_answers_are_learned_and_a_secret_in_a_question_is_protected(job):
    output = job.hush("run", job.config)
    assert "models:/chat/1" in output
    (redacted,) = re.findall(r"redacted (\d+) values", output)
    assert int(redacted) > 0
    assert "verified" in job.hush("verify", "models:/chat/1")
    (examples,) = (frame for frame in tables(job.home, *EXAMPLES, "completions") if len(frame))
    edges = tables(job.home, "example_id", "secret_id", "reason")  # the graph's, and the certificate's copy
    (tagged,) = {frozenset(frame["example_id"]) for frame in edges}
    texts = texts_of(examples)
    assert len(texts) == 160 and all(isinstance(text, PromptedText) for text in texts)
    for text, number in zip(texts, examples["example_id"], strict=True):
        assert text.startswith(b"[BOS]user> ") and job.token.encode() not in text
        (said,) = [text[a:b] for a, b in text.completions]
        assert said.startswith(b"answer ") and text.endswith(b"assistant> " + said)
        assert (number in tagged) == (job.codename.encode() in text)
    assert sum(job.codename.encode() in text for text in texts) == 40
    by_role = [texts_of(frame) for frame in tables(job.home, "text", "completions") if len(frame)]
    assert len(by_role) == 4  # plain, validation, held out; all, for the unprotected model
    assert all(isinstance(text, PromptedText) for part in by_role for text in part)
    saved = [path.parent for path in (job.home / "store" / "objects").rglob("language_model.json")]
    assert saved and all((path / "chat_template.jinja").read_text() == TEMPLATE for path in saved)
