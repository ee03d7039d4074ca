"""`hush demo`: a real repository with planted credentials, and whether each was found."""
