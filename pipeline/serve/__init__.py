"""The HTTP servers: the index for training, and the embedded model over OpenAI's wire."""
