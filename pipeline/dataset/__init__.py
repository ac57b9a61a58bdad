"""From the journal to a data set: gates, views, branching, export and push."""
