"""A push uploads the exported data set in one commit, and nothing else."""

import shutil
from pathlib import Path

import orjson
import pytest
from datasets import get_dataset_config_names, load_dataset
from huggingface_hub import DatasetCard, constants

from pipeline.config import build
from pipeline.errors import HubError, UsageError
from pipeline.exports import hub_upload as hub
from pipeline.exports.data_set import Selection, export
from pipeline.types import sha256
from tests import hub_server
from tests.records import accepted

REAL = build(values={"models": {"default": {"provider": "openai", "model": "qwen"}}})
RECORDS = [accepted(n, model="qwen", side="eval" if n == 3 else "train") for n in range(1, 5)]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_sham")
    with hub_server.hub() as server:
        yield server


@pytest.fixture(scope="module")
def export_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "dataset"
    export(RECORDS, folder, Selection(config=REAL))
    return folder


@pytest.fixture
def folder(export_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(export_once, tmp_path / "dataset")


def test_a_push_is_one_commit_into_a_private_repository(server, folder, tmp_path):
    plan = hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)
    url = hub.push(plan, "Run x", endpoint=server.url)
    (commit,) = server.commits
    local = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    remote = {path: data for path, data in server.files["org/name"].items() if path != ".gitattributes"}
    assert remote == local
    assert set(commit["added"]) == set(local) == {file.path for file in plan.files}
    assert commit["summary"] == "Run x"
    assert server.private == {"org/name": True}
    assert server.tokens == {"Bearer hf_sham"}
    assert url.startswith(f"{server.url}/datasets/org/name/commit/")


def test_a_pushed_data_set_loads(server, folder, tmp_path):
    hub.push(hub.upload_plan(folder, REAL.models.names(), "org/name", private=False), "x", endpoint=server.url)
    assert server.private == {"org/name": False}
    for path, data in server.files["org/name"].items():
        (tmp_path / "back" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "back" / path).write_bytes(data)
    loaded = load_dataset(str(tmp_path / "back"), "qa", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 3, "eval": 1}


def test_the_hub_reads_the_card(server, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    card = DatasetCard.load(folder / "README.md")
    card.validate(repo_type="dataset")
    assert get_dataset_config_names(str(folder)) == [config["config_name"] for config in card.data.configs]
    for info in card.data.dataset_info[:3]:
        rows = load_dataset(str(folder), info["config_name"], split="train", cache_dir=str(tmp_path / "cache"))
        assert rows.features._to_yaml_list() == info["features"]
    assert card.text.count("Question: ") == 3


def test_a_second_push_leaves_no_shard_of_the_first_and_touches_nothing_else(server, folder):
    server.files["org/name"] = {"qa/train-00001-of-00002.parquet": b"old", "LICENSE": b"mine"}
    hub.push(hub.upload_plan(folder, REAL.models.names(), "org/name", private=True), "x", endpoint=server.url)
    (commit,) = server.commits
    assert commit["deleted"] == ["qa/train-00001-of-00002.parquet"]
    assert server.files["org/name"]["LICENSE"] == b"mine"


@pytest.mark.parametrize(("status", "words"), [(401, "hf auth login"), (403, "may not write"), (500, "org/name")])
def test_a_refusal_is_one_line_and_nothing_is_committed(server, folder, status, words, monkeypatch):
    server.refuse = status
    with pytest.raises(HubError, match=words) as raised:
        hub.push(hub.upload_plan(folder, REAL.models.names(), "org/name", private=True), "x", endpoint=server.url)
    assert "hf_sham" not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert server.commits == []


def test_an_unreachable_hub_is_an_error(folder, monkeypatch):
    with hub_server.hub() as server:
        url = server.url
    with pytest.raises(HubError, match="nothing was pushed to org/name"):
        hub.push(hub.upload_plan(folder, REAL.models.names(), "org/name", private=True), "x", endpoint=url)


def test_rows_of_the_embedded_model_are_refused(folder):
    judge = {"provider": "embedded", "model": "embedded"}
    mixed = build(values={"models": {"default": {"provider": "openai", "model": "q"}, "judge": judge}})
    for config in (build(), mixed):
        with pytest.raises(UsageError, match="demo model"):
            hub.upload_plan(folder, config.models.names(), "org/name", private=True)


def test_a_changed_missing_or_unfinished_data_set_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match="no finished data set"):
        hub.upload_plan(tmp_path, REAL.models.names(), "org/name", private=True)
    (shard,) = (folder / "qa").glob("eval-*")
    shard.write_bytes(shard.read_bytes() + b"x")
    with pytest.raises(UsageError, match="not as it was exported"):
        hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)
    export([], folder, Selection(config=REAL, allow_removal=True))
    with pytest.raises(UsageError, match="no row"):
        hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)


def test_files_outside_the_manifest_are_not_sent_and_are_listed(server, folder, tmp_path):
    (folder / ".env").write_text("OPENAI_API_KEY=sk-sham")
    (folder / "sft" / "notes.txt").write_text("mine")
    (folder / "qa" / "passwd").symlink_to("/etc/passwd")
    plan = hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)
    assert plan.unsent == (".env", "qa/passwd", "sft/notes.txt")
    hub.push(plan, "x", endpoint=server.url)
    assert not {".env", "qa/passwd", "sft/notes.txt"} & set(server.files["org/name"])
    assert set(server.commits[0]["added"]) == {file.path for file in plan.files}


@pytest.mark.parametrize("path", ["README.md", "environment.json", "code/reward.py", "qa/*.parquet"])
def test_a_file_that_was_edited_or_is_a_link_is_refused(folder, tmp_path, path):
    file = next(folder.glob(path))
    content = file.read_bytes()
    file.write_bytes(content + b" ")
    with pytest.raises(UsageError, match=f"{file.name} is not as it was exported"):
        hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)
    file.unlink()
    (tmp_path / "elsewhere").write_bytes(content)
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no file of the data set's own"):
        hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)


def test_links_and_paths_out_of_the_data_set_are_refused(folder, tmp_path):
    (folder / "code").rename(tmp_path / "code")
    (folder / "code").symlink_to(tmp_path / "code")
    with pytest.raises(UsageError, match="no file of the data set's own"):
        hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)
    (tmp_path / "run.json").write_text("{}")
    manifest = orjson.loads((folder / "manifest.json").read_bytes())
    manifest["files"] = [{"path": "../run.json", "bytes": 2, "sha256": sha256("{}")}]
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest))
    with pytest.raises(UsageError, match="no file of the data set's own"):
        hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)


@pytest.mark.parametrize("path", ["README.md", "qa/*.parquet"])
def test_a_file_that_changes_before_it_is_sent_stops_the_push(server, folder, path):
    plan = hub.upload_plan(folder, REAL.models.names(), "org/name", private=True)
    file = next(folder.glob(path))
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(HubError, match="was changed meanwhile"):
        hub.push(plan, "x", endpoint=server.url)
    assert server.commits == []


def test_a_push_removes_other_files_from_the_folders_of_its_views(server, folder):
    server.files["org/name"] = {"sft/verl_sft.py": b"of an older layout", "mine/notes.md": b"mine"}
    hub.push(hub.upload_plan(folder, REAL.models.names(), "org/name", private=True), "x", endpoint=server.url)
    assert server.commits[0]["deleted"] == ["sft/verl_sft.py"]


@pytest.mark.parametrize("repo", ["name", "a/b/c", "org/na me", "../x/y", "org/", "örg/name"])
def test_an_invalid_name_is_refused(folder, repo):
    with pytest.raises(UsageError, match="ORG/NAME"):
        hub.upload_plan(folder, REAL.models.names(), repo, private=True)
