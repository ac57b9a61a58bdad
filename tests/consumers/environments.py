"""One environment for each consumer, made once, since consumers need versions of packages that exclude ours."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("DIGSITE_CONSUMERS", ROOT / ".consumers"))
PACKAGES = {
    "trl": ["torch", "trl==1.16.0", "datasets", "pandas", "polars==2.1.0", "duckdb==2.0.0"],
    "verl": ["torch", "verl==0.9.1", "cachetools", "fastapi", "uvicorn"],
    # Both are for pictures and sound, and their wheels break imports beside a CPU build of torch.
    "llamafactory": ["torch", "llamafactory==0.9.5", "--without torchvision torchaudio"],
    "swift": ["torch", "ms-swift==4.6.0"],
    "skyrl": ["skyrl-gym==0.4.0", "datasets"],
    "verifiers": ["verifiers==0.4.0", "pyarrow"],
    "openenv": ["openenv==0.10.0"],
    # It asks for a patch release of 3.13 that is hard to come by, and runs on earlier ones.
    "nemo-gym": ["nemo-gym==0.7.0", "--python 3.13.14"],
    "retrievers": ["torch", "sentence-transformers[train]==6.0.1", "beir==2.2.0"],
    # Ragas 0.4.3 imports a module that langchain-community 0.4 no longer has.
    "ragas": ["ragas==0.4.3", "langchain-community<0.4", "pyarrow", "datasets"],
    "deepeval": ["deepeval==2.9.3", "pyarrow"],
    "flagembedding": ["torch", "transformers<5", "FlagEmbedding==1.4.2"],
    # Its dependencies are deepspeed, ray and vllm; what reads data needs none of them.
    "openrlhf": ["torch", "transformers", "datasets", "tqdm", "aiohttp", "--no-deps openrlhf==0.11.2"],
}
"""By consumer: what to install, and the Python that it asks for if ours is too old. Torch is the resolver's choice;
UV_CONSTRAINT may ask for a CPU build."""


def python(name: str) -> Path:
    """Return the interpreter of a consumer's environment, and make the environment if it is missing."""
    packages = PACKAGES[name]
    folder = HOME / f"{name}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    if not (folder / ".ready").exists():
        uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
        interpreter = folder / "bin/python"
        (wanted,) = [package.split()[1] for package in packages if package.startswith("--python")] or [""]
        _run(uv, "venv", "--quiet", "--clear", "--python", _find_python(wanted), str(folder))
        install = [uv, "pip", "install", "--quiet", "--python", str(interpreter)]
        install += ["--python-version", wanted] if wanted else []
        _run(*install, *(package for package in packages if not package.startswith("--")))
        for package in packages:
            if package.startswith("--no-deps"):
                _run(*install, *package.split())
            elif package.startswith("--without"):
                _run(uv, "pip", "uninstall", "--quiet", "--python", str(interpreter), *package.split()[1:])
        (folder / ".ready").touch()
    return folder / "bin/python"


def _find_python(version: str) -> str:
    """Return an interpreter of the minor version, for example of 3.13 for 3.13.14, or this one for an empty version."""
    if not version:
        return sys.executable
    minor = version.rpartition(".")[0]
    on_path, of_pyenv = shutil.which(f"python{minor}"), Path.home().glob(f".pyenv/versions/{minor}.*/bin/python")
    for python in (*([on_path] if on_path else []), *map(str, of_pyenv)):
        # A shim of pyenv may name a version that is not active.
        if subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0:
            return python
    return pytest.skip(f"no Python {minor} on this machine")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"})
