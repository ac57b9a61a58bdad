"""Upload of a finished data set to the Hugging Face Hub.

Only the files of the manifest are sent, unchanged since the export; other files in the folder are not. Everything is
one commit, so nobody loads the shards of one run with the card of another. The same commit deletes shards of earlier
pushes and any other file in the folders of views, since readers load every file that they find there.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import HubError, UsageError
from pipeline.exports.data_set import MANIFEST, read_manifest, verify_file
from pipeline.exports.shards import File, describe_file
from pipeline.types import Data, by_demo

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd

logger = logging.getLogger(__name__)
REPO = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_LASTING: Mapping[int, str] = {
    401: "the Hub knows no valid token: hf auth login, or HF_TOKEN",
    403: "the token may not write there",
    404: "there is no such organisation or repository, or the token may not see it",
}
"""Permanent errors, by HTTP status: it does not help to try again."""


class UploadPlan(Data):
    """The files that a push would send."""

    repo: str
    private: bool
    folder: Path
    files: tuple[File, ...]
    unsent: tuple[str, ...]
    """Paths of the other files in the folder."""
    missing: int
    """Seeds of the run whose pairs could not be exported."""
    rows: dict[str, dict[str, int]]
    """Number of rows by view and split."""


def upload_plan(folder: Path, models: str, repo: str, *, private: bool) -> UploadPlan:
    """Check the data set in `folder` against its manifest, and return what would be sent.

    Args:
        models: the models that made the data set, joined by " + ".

    Raises:
        UsageError: if `repo` is no valid name, if `folder` holds no finished data set, if a file was changed or is a
            link, or if the demo model took part, whose rows are not for training.
    """
    if not REPO.fullmatch(repo):
        raise UsageError(f"--repo takes ORG/NAME, in letters, digits and - _ . only, not '{repo}'")
    if by_demo(models):
        raise UsageError(
            "the demo model had a part in this run, and its rows are not for training; "
            "generate with a real model (--model openai:NAME) and push that run"
        )
    manifest = read_manifest(folder)
    if not manifest.shards:
        raise UsageError("the data set has no row to push: no pair was accepted; 'digsite inspect' says why")
    files: list[File] = [*manifest.files, *manifest.shards, describe_file(folder / MANIFEST, MANIFEST)]
    for file in files:
        verify_file(folder, file)
    names = {file.path for file in files}
    present = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )
    return UploadPlan(
        repo=repo,
        private=private,
        folder=folder,
        files=tuple(files),
        unsent=tuple(path for path in present if path not in names),
        missing=manifest.missing,
        rows=manifest.rows(),
    )


def push(plan: UploadPlan, message: str, tag: str = "", *, endpoint: str | None = None) -> str:
    """Upload the data set and return the URL of the commit.

    The commit gets the tag, which an earlier commit of the same version then loses.

    A missing repository is created; an existing one keeps its visibility. The token is that of `hf auth login` or of
    HF_TOKEN. Raises HubError with the Hub's message.
    """
    # Start-up time: most commands never push.
    from httpx2 import HTTPError
    from huggingface_hub import CommitOperationDelete, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(endpoint=endpoint, library_name="digsite")
    try:
        api.create_repo(plan.repo, repo_type="dataset", private=plan.private, exist_ok=True)
        present = api.list_repo_files(plan.repo, repo_type="dataset")
        stale = _find_stale(plan, present)
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            *(_add_file(plan.folder, file) for file in plan.files),
            *map(CommitOperationDelete, stale),
        ]
        commit = api.create_commit(plan.repo, operations, commit_message=message, repo_type="dataset")
        if tag:
            if tag in {ref.name for ref in api.list_repo_refs(plan.repo, repo_type="dataset").tags}:
                api.delete_tag(plan.repo, tag=tag, repo_type="dataset")
            api.create_tag(plan.repo, tag=tag, revision=commit.oid, repo_type="dataset")
    except (HfHubHTTPError, HTTPError, OSError, ValueError, RuntimeError) as error:
        status = int(getattr(getattr(error, "response", None), "status_code", 0))
        cause = _LASTING.get(status) or " ".join(str(error).split())[:300] or type(error).__name__
        raise HubError(f"nothing was pushed to {plan.repo}: {cause}", lasting=status in _LASTING) from error
    if stale:
        logger.warning("removed from %s, whose earlier commits keep them: %s", plan.repo, ", ".join(stale))
    return str(commit.commit_url)


def _find_stale(plan: UploadPlan, present: Iterable[str]) -> list[str]:
    names = {file.path for file in plan.files}
    return [p for p in present if p not in names and (p.endswith(".parquet") or p.partition("/")[0] in plan.rows)]


def _add_file(folder: Path, file: File) -> "CommitOperationAdd":
    """Add a file to the commit. It is checked again: it may have changed while the user was asked to confirm."""
    from huggingface_hub import CommitOperationAdd

    path = folder / file.path
    # Shards are streamed. Other files are small and are read once, so that what is sent is what was checked.
    operation = CommitOperationAdd(file.path, path if file.path.endswith(".parquet") else path.read_bytes())
    if operation.upload_info.sha256.hex() != file.sha256:
        raise OSError(f"{path} was changed meanwhile; write the data set anew with digsite export RUN")
    return operation
