"""What a machine and its models can do, and how to get what they lack."""
