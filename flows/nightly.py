"""The flows that the deployments of `prefect.yaml` start; the path of this file is their entrypoint."""

from pipeline.flow.nightly import grow, publish

__all__ = ["grow", "publish"]
