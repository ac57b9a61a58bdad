"""The report of a run: one page of figures and items, made from records and settings alone."""
