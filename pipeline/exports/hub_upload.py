"""A finished data set to the Hugging Face Hub: what would be sent, and sending it in one commit.

Sent is what the manifest names, as it was exported, and nothing else that may lie in the folder. One commit, so that
nobody ever loads the shards of one run with the card of another. Shards that an earlier push left there and that this
one does not have go in the same commit, as does anything else among them: readers take all files that are there.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import HubError, UsageError
from pipeline.exports.data_set import MANIFEST, read, unchanged
from pipeline.exports.shards import File, described
from pipeline.types import Data, by_demo

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd

REPO = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_LASTING: Mapping[int, str] = {
    401: "the Hub knows no valid token: hf auth login, or HF_TOKEN",
    403: "the token may not write there",
    404: "there is no such organisation or repository, or the token may not see it",
}
"""What no waiting mends, by the status of the Hub's answer."""


class UploadPlan(Data):
    """What a push would send."""

    repo: str
    private: bool
    folder: Path
    files: tuple[File, ...]
    unsent: tuple[str, ...]
    """What else lies in the folder, by path."""
    missing: int
    """Seeds of the run whose pairs could not be exported."""
    rows: dict[str, dict[str, int]]
    """By view and split."""


def upload_plan(folder: Path, models: str, repo: str, *, private: bool) -> UploadPlan:
    """The data set in `folder` that these models made, joined by " + ", checked against its manifest.

    Raises UsageError for a name that is none, a folder without a finished data set, files that are not as they were
    exported or are links, and everything that the demo model had a part in: such rows teach nothing.
    """
    if not REPO.fullmatch(repo):
        raise UsageError(f"--repo takes ORG/NAME, in letters, digits and - _ . only, not '{repo}'")
    if by_demo(models):
        raise UsageError(
            "the demo model had a part in this run, and its rows are not for training; "
            "generate with a real model (--model openai:NAME) and push that run"
        )
    manifest = read(folder)
    if not manifest.shards:
        raise UsageError("the data set has no row to push: no pair was accepted")
    files: list[File] = [*manifest.files, *manifest.shards, described(folder / MANIFEST, MANIFEST)]
    for file in files:
        unchanged(folder, file)
    names = {file.path for file in files}
    here = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )
    return UploadPlan(
        repo=repo,
        private=private,
        folder=folder,
        files=tuple(files),
        unsent=tuple(path for path in here if path not in names),
        missing=manifest.missing,
        rows=manifest.rows(),
    )


def push(sent: UploadPlan, message: str, *, endpoint: str | None = None) -> str:
    """Send it; the address of the commit. The repository is made, private or not, if it is not there, and an existing
    one keeps its visibility. The token is the one that `hf auth login` keeps, or that of HF_TOKEN.

    Raises HubError with the Hub's own words.
    """
    from httpx2 import HTTPError
    from huggingface_hub import CommitOperationDelete, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(endpoint=endpoint, library_name="digsite")
    try:
        api.create_repo(sent.repo, repo_type="dataset", private=sent.private, exist_ok=True)
        there = api.list_repo_files(sent.repo, repo_type="dataset")
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            *(_addition(sent.folder, file) for file in sent.files),
            *map(CommitOperationDelete, _stale(sent, there)),
        ]
        done = api.create_commit(sent.repo, operations, commit_message=message, repo_type="dataset")
    except (HfHubHTTPError, HTTPError, OSError, ValueError, RuntimeError) as error:
        status = int(getattr(getattr(error, "response", None), "status_code", 0))
        told = _LASTING.get(status) or " ".join(str(error).split())[:300] or type(error).__name__
        raise HubError(f"nothing was pushed to {sent.repo}: {told}", lasting=status in _LASTING) from error
    return str(done.commit_url)


def _stale(sent: UploadPlan, there: Iterable[str]) -> list[str]:
    """What must go from the repository, or readers would take it for rows of this data set."""
    names = {file.path for file in sent.files}
    return [p for p in there if p not in names and (p.endswith(".parquet") or p.partition("/")[0] in sent.rows)]


def _addition(folder: Path, file: File) -> "CommitOperationAdd":
    """The file as it was checked: it may have been changed since, while somebody was asked."""
    from huggingface_hub import CommitOperationAdd

    path = folder / file.path
    # Shards are streamed; the others, which the Hub's client would read again when it sends them, are small.
    made = CommitOperationAdd(file.path, path if file.path.endswith(".parquet") else path.read_bytes())
    if made.upload_info.sha256.hex() != file.sha256:
        raise OSError(f"{path} was changed meanwhile; write the data set anew with digsite export RUN")
    return made
