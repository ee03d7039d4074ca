"""The laboratory: the evidence for hush, which no job needs. docs/architecture.md says what stands in each room."""
