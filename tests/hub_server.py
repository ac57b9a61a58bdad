"""A stand-in of the Hugging Face Hub's HTTP API on the loopback: repositories in memory, one entry for each commit."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote

LARGE = ".parquet"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""The one state that can be read of any repository."""


class Hub(ThreadingHTTPServer):
    """`files` by repository, `commits` in order with what each added and deleted; `refuse`: a status for all calls."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.commits: list[dict[str, Any]] = []
        self.tags: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.gets: list[str] = []
        self.refuse = 0
        self.objects: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _choose_upload(path: str) -> dict[str, object]:
    return {"path": path, "uploadMode": "lfs" if path.endswith(LARGE) else "regular", "shouldIgnore": False}


class _Call(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.tokens.add(self.headers.get("Authorization", ""))
        path = self.path.partition("?")[0]
        if self.server.refuse:
            self._say({"error": "refused"}, self.server.refuse)
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif "/paths-info/" in path:
            repo = path.removeprefix("/api/datasets/").partition("/paths-info/")[0]
            asked = parse_qs(body.decode())["paths"] if not body.startswith(b"{") else json.loads(body)["paths"]
            files = self.server.files.get(repo, {})
            self._say(_listed({name: files[name] for name in asked if name in files}))
        elif path == "/api/validate-yaml":
            self._say({"errors": [], "warnings": []})
        elif path.endswith("/preupload/main"):
            self._say({"files": [_choose_upload(file["path"]) for file in json.loads(body)["files"]]})
        elif path.endswith("/info/lfs/objects/batch"):
            wanted = json.loads(body)["objects"]
            places = [{**o, "actions": {"upload": {"href": f"{self.server.url}/lfs/{o['oid']}"}}} for o in wanted]
            self._say({"transfer": "basic", "objects": places})
        elif "/tag/" in path:
            repo, _, revision = path.removeprefix("/api/datasets/").partition("/tag/")
            self.server.tags.setdefault(repo, {})[json.loads(body)["tag"]] = revision
            self._say({})
        elif path.endswith("/commit/main"):
            self._commit(path.split("/api/datasets/")[1].removesuffix("/commit/main"), body)
        else:
            self._say({"error": path}, 404)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        oid = self.path.rpartition("/")[2]
        assert hashlib.sha256(data).hexdigest() == oid
        self.server.objects[oid] = data
        self._say({})

    def do_DELETE(self) -> None:
        repo, _, tag = self.path.removeprefix("/api/datasets/").partition("/tag/")
        del self.server.tags[repo][tag]
        self._say({})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.gets.append(self.path)
        path = unquote(self.path).partition("?")[0]
        if self.server.refuse:
            self._say({"error": "refused"}, self.server.refuse)
        elif "/resolve/" in path:
            repo, _, place = path.removeprefix("/datasets/").partition("/resolve/")
            self._send(self.server.files.get(repo), place.partition("/")[2])
        elif "/tree/" in path:
            repo, _, place = path.removeprefix("/api/datasets/").partition("/tree/")
            folder = place.partition("/")[2]
            deep = "recursive=false" not in self.path.lower()
            self._say(_listed(self.server.files.get(repo, {}), f"{folder}/" if folder else "", deep=deep))
        elif path.endswith("/refs"):
            tags = self.server.tags.get(path.removeprefix("/api/datasets/").removesuffix("/refs"), {})
            refs = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": commit} for tag, commit in tags.items()]
            self._say({"branches": [], "converts": [], "tags": refs})
        else:
            repo = re.sub("/revision/.*", "", path.removeprefix("/api/datasets/"))
            files = self.server.files.get(repo)
            if files is None and "/revision/" in path:
                self._say({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
                return
            siblings = [{"rfilename": name} for name in files or ()]
            facts = {"id": repo, "private": self.server.private.get(repo, True)}
            self._say(facts | ({"sha": COMMIT, "siblings": siblings} if files is not None else {}))

    def _send(self, files: dict[str, bytes] | None, path: str) -> None:
        if files is None or path not in files:
            code = "RepoNotFound" if files is None else "EntryNotFound"
            self._say({"error": code}, 404, {"X-Error-Code": code})
            return
        data = files[path]
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def _create(self, asked: dict[str, Any]) -> None:
        repo = f"{asked['organization']}/{asked['name']}"
        if repo in self.server.files:
            self._say({"error": "exists", "url": f"{self.server.url}/datasets/{repo}"}, 409)
            return
        self.server.files[repo] = {".gitattributes": b""}
        self.server.private[repo] = asked.get("visibility") == "private" or asked.get("private", False)
        self._say({"url": f"{self.server.url}/datasets/{repo}"})

    def _commit(self, repo: str, body: bytes) -> None:
        said = [json.loads(line) for line in body.splitlines()]
        made: dict[str, Any] = {"repo": repo, "added": [], "deleted": []}
        for one in said:
            value = one["value"]
            if one["key"] == "header":
                made["summary"] = value["summary"]
            elif one["key"] == "file":
                self.server.files[repo][value["path"]] = base64.b64decode(value["content"])
                made["added"].append(value["path"])
            elif one["key"] == "lfsFile":
                self.server.files[repo][value["path"]] = self.server.objects[value["oid"]]
                made["added"].append(value["path"])
            elif one["key"] == "deletedFile":
                del self.server.files[repo][value["path"]]
                made["deleted"].append(value["path"])
        self.server.commits.append(made)
        oid = hashlib.sha1(body).hexdigest()
        self._say({"commitUrl": f"{self.server.url}/datasets/{repo}/commit/{oid}", "commitOid": oid})

    def _say(self, tree: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(tree).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _listed(files: dict[str, bytes], folder: str = "", *, deep: bool = True) -> list[dict[str, Any]]:
    """The files below a folder, or what lies in it itself."""
    found: dict[str, dict[str, Any]] = {}
    for path, data in files.items():
        first, rest = path.removeprefix(folder).split("/")[0], "/" in path.removeprefix(folder)
        if path.startswith(folder) and rest and not deep:
            found[first] = {"type": "directory", "path": folder + first, "size": 0, "oid": "0"}
        elif path.startswith(folder):
            found[path] = {"type": "file", "path": path, "size": len(data), "oid": "0"}
    return list(found.values())
