"""`python -m pipeline.cli`: the command line without Prefect."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
