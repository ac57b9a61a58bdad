"""What a run was and did, as figures: the table of its seeds, comparison of runs, money and forecasts."""
