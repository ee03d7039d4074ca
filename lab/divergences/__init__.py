"""Beside the tight bound: certificates by any f-divergence, and leakage in bits. No job uses them."""

from lab.divergences.bound import f_divergence, posterior_by_divergence
from lab.divergences.divergence import Divergence
from lab.divergences.leakage import leakage_bits

__all__ = ["Divergence", "f_divergence", "leakage_bits", "posterior_by_divergence"]
