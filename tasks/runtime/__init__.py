"""What every step runs in: the store, caching, environment, tracking, registry, embedded server."""
