"""One secret in the words of differential privacy: (ε, δ), the trade-off curve, the second route."""
