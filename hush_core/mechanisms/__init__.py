"""Mechanisms: ways to say what a private round draws, and to plan its noise. Training and ledger do not depend on
them; docs/mechanisms.md has each one's promise and proof.

Reading order:

- items: what is drawn, by the graph alone; unit_pools
- layout: the weights; selection: which text fills an item
- planning: the noise; unit_privacy: that for (ε, δ) of every secret, and by the usual lemma
"""

from hush_core.mechanisms.items import POOLS, Items, drawn_items, items_of, rates_of_texts
from hush_core.mechanisms.layout import Layout, lay_out
from hush_core.mechanisms.planning import noise_of_plan, plan_of, refuse_unless_sampled
from hush_core.mechanisms.selection import filling, item_texts, scores
from hush_core.mechanisms.unit_privacy import (
    implied_posterior,
    noise_by_lemma,
    noise_for_unit_privacy,
    noise_of,
    one_item,
    refuted,
    with_implied_targets,
)

__all__ = [
    "POOLS", "Items", "Layout", "drawn_items", "filling", "implied_posterior", "item_texts", "items_of",
    "lay_out", "noise_by_lemma", "noise_for_unit_privacy", "noise_of", "noise_of_plan", "one_item", "plan_of",
    "rates_of_texts", "refuse_unless_sampled", "refuted", "scores", "with_implied_targets",
]  # fmt: skip
