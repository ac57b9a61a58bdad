"""vLLM behind `make serve-llm`, in an environment of its own."""
