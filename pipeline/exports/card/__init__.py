"""The data card, with the words that it explains."""
