"""What leaves a step besides the noisy sum: nothing. Two neighbours are replayed under noise that drowns the sum.

Where the release is the same float32 number with and without an example, all else that left must be the same to
the bit: weights, buffers, optimiser, attributes of the module, what it logged, printed or returned, every file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from hush_core.training.language_model import LanguageModel
from lab.code_audit.check import Check
from lab.code_audit.parts import StepParts
from lab.code_audit.recording import Left, Setup
from lab.code_audit.scripted import DROWNING, ConstantNoise


def replay_checks(setup: Setup) -> list[Check]:
    """A batch and the same less one example, twice, and one example against none."""
    ids = list(range(len(setup.sequences)))
    batches = [ids, ids[1:], ids[:-1], [0], []]
    runs = [setup.run([batch, []], ConstantNoise(DROWNING)) for batch in batches]
    pairs = [(runs[0], runs[1]), (runs[0], runs[2]), (runs[3], runs[4])]
    released = sum(not _same_releases(a, b) for a, b in pairs)
    differing = sorted(set().union(*(_differences(a, b) for a, b in pairs)))
    return [
        Check(
            "release",
            not released,
            f"{len(pairs) - released} of {len(pairs)} neighbours release the same where noise drowns the sum",
        ),
        Check(
            "nothing else leaves",
            not differing,
            f"{len(runs[0].other)} other things are the same to the bit"
            if not differing
            else "differs with an example: " + ", ".join(differing[:5]),
        ),
    ]


def _same_releases(one: Left, other: Left) -> bool:
    return len(one.releases) == len(other.releases) and all(
        torch.equal(a, b) for a, b in zip(one.releases, other.releases, strict=True)
    )


def _differences(one: Left, other: Left) -> set[str]:
    return {
        name for name in one.other.keys() | other.other.keys() if one.other.get(name) != other.other.get(name)
    }


def start_check(parts: StepParts, texts: Sequence[bytes]) -> Check:
    """The tokenizer and the first weights are the same whichever text is left out."""
    whole = _start_digest(parts.start(list(texts)))
    differing: set[str] = set()
    for place in (0, len(texts) - 1):
        less = _start_digest(parts.start([text for i, text in enumerate(texts) if i != place]))
        differing |= {name for name in whole if whole[name] != less.get(name)}
    return Check(
        "start",
        not differing,
        "tokenizer and first weights do not depend on the texts"
        if not differing
        else "made of protected text: " + ", ".join(sorted(differing)),
    )


def _start_digest(model: LanguageModel) -> dict[str, str]:
    weights = hashlib.sha256()
    for name, value in sorted(model.network.state_dict().items()):
        weights.update(name.encode())
        weights.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    vocabulary = repr(sorted(model.tokenizer.get_vocab().items()))
    return {
        "tokenizer": hashlib.sha256(vocabulary.encode()).hexdigest(),
        "weights and buffers": weights.hexdigest(),
        "context": str(model.context),
    }
