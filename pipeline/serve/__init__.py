"""The HTTP servers: the index for training, and the demo model over the OpenAI API."""
