"""flows: what a user starts, one file a flow, named after the wish."""
