"""hush_core: the library. Read it in the order in which data travels:

corpus → secrets → weights → accounting → plan → training → auditing → certificate.

It is pure: it knows neither the orchestrator nor the tracker (`tests/test_architecture.py` enforces it).
"""
