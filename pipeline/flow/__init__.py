"""`digsite generate` as a Prefect flow: the flow, the server that a command starts for it, and the console script."""
