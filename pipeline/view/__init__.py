"""Pages in a browser that show every item of a run: what `digsite view` serves."""
