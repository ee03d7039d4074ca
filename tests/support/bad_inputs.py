"""A good config of each sort, and a folder with all that it names: what tests break, one thing at a time."""

import copy
import json
import os
import struct
import subprocess

import yaml

CANARY = "canary-4711"
"""Stands for a value that may be secret: no message may hold it."""
GOOD = {
    "version": 1,
    "repos": [{"path": "repository"}],
    "levels": {"high": 1e-3},
    "public": ["third_party/**"],
    "secrets": [
        {"id": "alpha", "kind": "path", "globs": ["trading/**"], "level": "high"},
        {"id": "owners", "kind": "codeowners", "teams": ["@acme/risk"], "level": "high"},
        {"id": "people", "kind": "contributors", "emails": ["*@example.com"], "level": "high"},
        {"id": "creds", "kind": "credentials", "level": "high"},
        {"id": "names", "kind": "literals", "file": "names.txt", "level": "high", "bits": 20},
        {"id": "ids", "kind": "patterns", "file": "patterns.txt", "level": "high", "bits": 20},
        {"id": "words", "kind": "rare_words", "document_frequency": [1, 2], "level": "high", "bits": 20},
    ],
    "chunk_bytes": 128,
    "model": {"kind": "byte_gpt", "layers": 1, "width": 32, "heads": 2},
    "pretrain": {"steps": 1, "batch": 2},
    "train": {"rounds": 10, "batch": 4},
}
TABLES = {
    "version": 1,
    "tables": [{"path": "rows.csv", "unit": "who"}],
    "secrets": [{"id": "people", "kind": "unit", "level": 1e-3}],
    "train": {"rounds": 10, "batch": 4},
}


def at(base=GOOD, /, **changes):
    """`base` with dotted keys replaced (`__` for a dot; an entry of secrets by its id); None takes one away."""
    data = copy.deepcopy(base)
    for dotted, value in changes.items():
        place, *keys = [data, *dotted.split("__")]
        for key in keys[:-1]:
            if isinstance(place, list):
                place = place[int(key)] if key.isdigit() else next(e for e in place if e["id"] == key)
            else:
                place = place.setdefault(key, {})
        if value is None:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
    return data


def git(path, *arguments):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", path, "-c", "user.name=x", "-c", "user.email=x@example.com", *arguments]
    subprocess.run(command, check=True, env=environment, timeout=600, capture_output=True)


def safetensors(*, cut=0):
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(16 - cut)


def files_of(tmp_path_factory):
    """A repository, tables, files of secrets and model folders: each good one beside its broken kin."""
    import polars as pl

    root = tmp_path_factory.mktemp("bad")
    files = {
        "repository/trading/a.py": "LIMIT = 3\n" * 20, "repository/third_party/b.py": "x = 1\n" * 20,
        "repository/CODEOWNERS": "* @acme/all\n/trading/ @acme/risk\n",
        "names.txt": "zephyr\n", "short.txt": f"{CANARY}\nab\n", "blank.txt": "\n\n",
        "patterns.txt": "id: [a-z]{4}-[0-9]+\n",
        "broken.txt": f"{CANARY}(\n", "groups.txt": "(a)(b)\n", "nothing.txt": "a*\n",
        "around.txt": f"(?={CANARY})b\n",
        "rows.csv": "text,who\nhello there,ada\nanother text,bob\n", "ragged.csv": f"text,who\n{CANARY},b,c\n",
        "talk.jsonl": '{"talk": [{"role": "user", "content": "hello"}], "who": "ada"}\n',
        "bad.jinja": f"{{% {CANARY} %}}",
        "bad.jsonl": f"{CANARY}\n", "bad.parquet": CANARY, "empty/.keep": "",
    }  # fmt: skip
    model = {
        "config.json": '{"model_type": "gpt2"}',
        "tokenizer.json": "{}",
        "model.safetensors": safetensors(),
    }
    index = json.dumps({"weight_map": {"w": "model-00002.safetensors"}})
    models = {
        "model": model, "pickled": {**model, "model.safetensors": None, "pytorch_model.bin": b"x"},
        "unsaid": {**model, "config.json": None}, "mute": {**model, "tokenizer.json": None},
        "cut": {**model, "model.safetensors": safetensors(cut=3)},
        "pointer": {**model, "model.safetensors": b"version https://git-lfs.github.com/spec/v1\n"},
        "parts": {**model, "model.safetensors.index.json": index},
    }  # fmt: skip
    files |= {
        f"{m}/{name}": content for m, parts in models.items() for name, content in parts.items() if content
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (root / "binary.txt").write_bytes(b"\xff\xfe\x00" + CANARY.encode())
    (root / "loop").symlink_to("loop")
    pl.DataFrame({"text": [1, 2], "who": ["a", "b"]}).write_parquet(root / "numbers.parquet")
    git(root / "repository", "init", "-q", "-b", "main")
    git(root / "repository", "add", ".")
    git(root / "repository", "commit", "-q", "-m", "one")
    (root / "repository/trading/a.py").write_text("LIMIT = 4\n" * 20)
    git(root / "repository", "commit", "-q", "-a", "-m", "two")
    git(root, "clone", "-q", "--depth", "1", f"file://{root}/repository", "shallow")
    return root


def write(folder, data, name="job.yaml"):
    path = folder / name
    if isinstance(data, dict):
        data = yaml.safe_dump(data, sort_keys=False, allow_unicode=False)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path
