"""Every view, loaded by its consumer's own code in the consumer's own environment: `make test-consumers`."""
