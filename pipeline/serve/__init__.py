"""Servers: the index for training, and the embedded model over OpenAI's wire."""
