"""A finished data set to the Hugging Face Hub: what would be sent, and sending it in one commit.

One commit, so that nobody ever loads the shards of one run with the card of another. Shards that an earlier push left
there and that this one does not have go in the same commit: `load_dataset` reads every file that fits the pattern.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from pipeline.config import RunConfig
from pipeline.corpus.loading import checksum
from pipeline.errors import HubError, UsageError
from pipeline.export import Manifest
from pipeline.types import Data

REPO = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)


class Parcel(Data):
    """What a push would send."""

    repo: str
    private: bool
    folder: Path
    files: dict[str, int]
    """Bytes, by path in the data set."""
    rows: dict[str, dict[str, int]]
    """By view and split."""


def parcel(folder: Path, config: RunConfig, repo: str, *, private: bool) -> Parcel:
    """The data set in `folder`, checked against its manifest.

    Raises UsageError for a name that is none, a folder without a finished data set, files that are not as they were
    exported, and everything that the embedded model had a part in: its figures are of the loop, and such rows teach
    nothing.
    """
    if not REPO.fullmatch(repo):
        raise UsageError(f"--repo takes ORG/NAME, in letters, digits and - _ . only, not '{repo}'")
    if "embedded" in config.models.names().split(" + "):
        raise UsageError(
            "the embedded model had a part in this run: its rows show that the loop works and are not for others; "
            "make one with a real model (--model openai:NAME) and push that"
        )
    try:
        manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    except (FileNotFoundError, ValidationError) as error:
        raise UsageError(f"{folder} holds no finished data set; write it with digsite export") from error
    for shard in manifest.shards:
        path = folder / shard.path
        if not path.is_file() or checksum(path) != shard.sha256:
            raise UsageError(f"{path} is not as it was exported; write the data set anew with digsite export")
    if not manifest.shards:
        raise UsageError("the data set has no row to push: no pair was accepted")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    return Parcel(repo=repo, private=private, folder=folder, files=files, rows=manifest.rows())


def push(sent: Parcel, message: str, *, endpoint: str | None = None) -> str:
    """Send it; the address of the commit. The repository is made, private or not, if it is not there, and an existing
    one keeps its visibility. The token is the one that `hf auth login` keeps, or that of HF_TOKEN.

    Raises HubError with the Hub's own words.
    """
    from httpx2 import HTTPError
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(endpoint=endpoint, library_name="digsite")
    try:
        api.create_repo(sent.repo, repo_type="dataset", private=sent.private, exist_ok=True)
        there = api.list_repo_files(sent.repo, repo_type="dataset")
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            *(CommitOperationAdd(path, sent.folder / path) for path in sent.files),
            *(CommitOperationDelete(path) for path in there if path.endswith(".parquet") and path not in sent.files),
        ]
        done = api.create_commit(sent.repo, operations, commit_message=message, repo_type="dataset")
    except (HfHubHTTPError, HTTPError, OSError, ValueError, RuntimeError) as error:
        raise HubError(f"nothing was pushed to {sent.repo}: {_told(error)}") from error
    return str(done.commit_url)


def _told(error: Exception) -> str:
    """One line without what follows the address."""
    response: object = getattr(error, "response", None)
    status: Mapping[int, str] = {
        401: "the Hub knows no valid token: hf auth login, or HF_TOKEN",
        403: "the token may not write there",
        404: "there is no such organisation or repository, or the token may not see it",
    }
    known = status.get(getattr(response, "status_code", 0))
    return known or " ".join(str(error).split())[:300] or type(error).__name__
