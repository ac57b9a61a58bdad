"""Language models: one client for every endpoint, with retries, limits, cache and ledger."""
