"""Only pipeline/store/ changes the disk, so that "a file with a final name is complete" has one owner.

What a folder of `store.atomic_folder` or a handle is handed to may write into it: `pq.write_table(table, handle)` is
fine where the handle was bound by a `with` or is a buffer; a path is not. What cannot be decided counts as a write.
"""

import ast
import re

import pytest

from tests.rules.source import Source, called, tree

MODE = re.compile(r"[rwaxbtU+]{1,4}([:|].*)?")
# Last part of a call → always a write, whatever it is called on.
METHODS = frozenset(
    "write_text write_bytes touch unlink rename rmdir mkdir chmod symlink_to hardlink_to to_parquet to_csv to_json "
    "to_pickle savetxt savez tofile extractall write_feather write_dataset write_to_dataset FileHandler "
    "RotatingFileHandler TimedRotatingFileHandler NamedTemporaryFile mkstemp mkdtemp".split()
)
OS = frozenset(
    "write pwrite replace rename renames remove unlink mkdir makedirs rmdir symlink link truncate ftruncate".split()
)
SHUTIL = frozenset("copy copy2 copyfile copyfileobj copytree move rmtree make_archive unpack_archive".split())
MODULES = ("tempfile", "sqlite3", "shelve", "dbm", "mmap", "pickle")
TO_PATH = frozenset("write_table ParquetWriter new_file new_stream OSFile FileOutputStream".split())
BUFFERS = frozenset("BufferOutputStream BytesIO StringIO".split())
PIPES = (".stdin", "sys.stdout.buffer")
FIRST_A_PATH = ("", "io.", "codecs.", "gzip.", "bz2.", "lzma.", "zstandard.", "tarfile.")
READ_FLAGS = frozenset("os.O_RDONLY os.O_DIRECTORY os.O_CLOEXEC".split())


def writes(source: Source) -> list[str]:
    if source.path.startswith(("pipeline/store/", "pipeline/exports/shards.py")):
        return []
    handles = _handles(source.tree)
    found = [
        f"{source.path}:{i.line}: imports {i.module}; files are pipeline/store's"
        for i in source.imports
        if i.module.split(".")[0] in MODULES
    ]
    calls = [node for node in source.nodes if isinstance(node, ast.Call) and _writes(node, handles)]
    return found + [source.at(c, f"`{ast.unparse(c)[:60]}` writes; files are pipeline/store's") for c in calls]


def _writes(call: ast.Call, handles: set[str]) -> bool:
    name = called(call)
    first, _, last = name.rpartition(".")
    if last == "open":
        return _opens_for_writing(call, name)
    if last == "fdopen":
        return True
    if name == "os.write":
        # To a terminal, from a signal handler.
        return ast.unparse(call.args[0]) not in ("1", "2")
    if first == "os":
        return last in OS
    if first == "shutil":
        return last in SHUTIL
    if last == "OSFile" and len(call.args) == 1 and not call.keywords:
        return False  # it is read
    if last in TO_PATH:
        return not any(ast.unparse(a) in handles or ast.unparse(a).endswith(PIPES) for a in call.args)
    if last == "dump":
        return True
    if last == "replace" and first:
        # `Path.replace` takes one argument, `str.replace` two, `date.replace` and `dataclasses.replace` keywords.
        return len(call.args) == 1 and not call.keywords
    return last in METHODS


def _opens_for_writing(call: ast.Call, name: str) -> bool:
    if name == "os.open":
        if ast.unparse(call.args[0]) == "os.devnull":
            return False
        flags = call.args[1] if len(call.args) > 1 else None
        names = {ast.unparse(n) for n in ast.walk(flags) if isinstance(n, ast.Attribute)} if flags else {"?"}
        return not names <= READ_FLAGS or not names
    keyword = next((k.value for k in call.keywords if k.arg == "mode"), None)
    if keyword is not None and not isinstance(keyword, ast.Constant):
        return True
    # `Path.open(mode)` has the mode first, `open(path, mode)` and `gzip.open(path, mode)` second.
    place = 1 if name.removesuffix("open") in FIRST_A_PATH else 0
    given = [*call.args[place : place + 1], *([keyword] if keyword else [])]
    if place and any(not isinstance(mode, ast.Constant) for mode in given):
        return True
    modes = [mode.value for mode in given if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return any(MODE.fullmatch(mode) and set(mode) & set("wax+") for mode in modes)


def _handles(tree: ast.Module) -> set[str]:
    """Names bound by a `with`, or to a buffer in memory."""
    bound: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem):
            bound.append(node.optional_vars)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            bound += node.targets if called(node.value).rpartition(".")[2] in BUFFERS else []
    return {name.id for name in bound if isinstance(name, ast.Name)}


def test_only_the_store_changes_the_disk() -> None:
    found = [message for source in tree("pipeline", "flows") for message in writes(source)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "open('x', 'w')",
        "open('x', mode='ab')",
        "open('x', 'r+')",
        "open('x', flag)",
        "open('x', mode=flag)",
        "Path('x').open('x')",
        "path.open(mode='wt')",
        "gzip.open('x.gz', 'wb')",
        "tarfile.open('x.tar', 'w:gz')",
        "path.write_text('x')",
        "(folder / 'x').write_bytes(b'')",
        "path.touch()",
        "path.mkdir(parents=True)",
        "path.replace(other)",
        "path.unlink()",
        "os.open('x', os.O_WRONLY | os.O_CREAT)",
        "os.open('x', flags)",
        "os.write(3, b'')",
        "os.replace('a', 'b')",
        "os.fdopen(3, 'w')",
        "shutil.copy('a', 'b')",
        "shutil.rmtree('a')",
        "json.dump(tree, handle)",
        "pq.write_table(table, path)",
        "pq.write_table(table, 'x.parquet')",
        "with open(path) as f:\n    pq.ParquetWriter(str(path), schema)",
        "frame.to_parquet('x')",
        "np.savez('x', a)",
        "import tempfile",
        "import sqlite3",
        "def f():\n    from tempfile import TemporaryDirectory",
        "logging.FileHandler('x.log')",
    ],
)
def test_a_planted_write_is_caught(text: str) -> None:
    assert writes(Source("pipeline/exports/views/planted.py", text))
    assert not writes(Source("pipeline/store/planted.py", text))


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "open('was', 'rb')",
        "Path('x').open('rb')",
        "gzip.open('x.gz', 'rb')",
        "os.open('x', os.O_RDONLY)",
        "os.write(2, b'')",
        "text.replace('a', 'b')",
        "replace(agent, limits=limits)",
        "day.replace(year=1)",
        "webbrowser.open(url)",
        "with store(path) as sink:\n    pq.write_table(table, sink)",
        "sink = pa.BufferOutputStream()\npq.write_table(table, sink)",
    ],
)
def test_reading_is_not_caught(text: str) -> None:
    assert writes(Source("pipeline/exports/views/planted.py", text)) == []
