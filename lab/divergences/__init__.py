"""Beside the tight bound: certificates by any f-divergence, and leakage in bits. No flow uses them."""
