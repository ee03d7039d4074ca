"""What was found, for a reviewer: a SARIF log, tables, and what changed since the last report."""
