"""The flow that the deployments of `prefect.yaml` start; the path of this file is their entrypoint."""

from pipeline.flow.generate import generate

__all__ = ["generate"]
