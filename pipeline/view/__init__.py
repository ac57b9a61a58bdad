"""What came out of a run, for people: figures, data card and page. Pure functions of records and settings."""
