"""A stand-in of the Hugging Face Hub's HTTP API on the loopback: repositories in memory, one entry for each commit."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGE = ".parquet"


class Hub(ThreadingHTTPServer):
    """`files` by repository, `commits` in order with what each added and deleted; `refuse`: a status for all calls."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.commits: list[dict[str, Any]] = []
        self.tokens: set[str] = set()
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
        elif path == "/api/validate-yaml":
            self._say({"errors": [], "warnings": []})
        elif path.endswith("/preupload/main"):
            asked = json.loads(body)["files"]
            modes = ["lfs" if f["path"].endswith(LARGE) else "regular" for f in asked]
            found = [
                {"path": f["path"], "uploadMode": m, "shouldIgnore": False} for f, m in zip(asked, modes, strict=True)
            ]
            self._say({"files": found})
        elif path.endswith("/info/lfs/objects/batch"):
            wanted = json.loads(body)["objects"]
            places = [{**o, "actions": {"upload": {"href": f"{self.server.url}/lfs/{o['oid']}"}}} for o in wanted]
            self._say({"transfer": "basic", "objects": places})
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

    def do_GET(self) -> None:
        repo, tree, _ = self.path.split("/api/datasets/")[1].partition("/tree/")
        if self.server.refuse:
            self._say({"error": "refused"}, self.server.refuse)
            return
        if not tree:
            self._say({"id": repo, "private": self.server.private.get(repo, True)})
            return
        files = self.server.files.get(repo, {})
        self._say([{"type": "file", "path": path, "size": len(data), "oid": "0"} for path, data in files.items()])

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

    def _say(self, tree: Any, status: int = 200) -> None:
        data = json.dumps(tree).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
