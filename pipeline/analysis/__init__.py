"""What the records of a run say: the table of its seeds, figures, comparison, forecast and traces."""
