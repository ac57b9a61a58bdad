"""What a text states as a value: the amounts and dates that it allows."""
