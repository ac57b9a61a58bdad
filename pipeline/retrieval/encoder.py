"""Texts into vectors: an ONNX model with its tokenizer, or anything that sentence-transformers loads.

A text goes through an ONNX model without padding, in a batch of texts of its own length, so that its vector does not
rest on its neighbours.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from pipeline.config.dense_settings import DenseConfig, Pooling, folder_digest
from pipeline.errors import RetrievalError, UsageError, first_line
from pipeline.retrieval.passage_texts import readable

Matrix: TypeAlias = npt.NDArray[np.float32]
_TOKENS = 8192
"""Of one batch."""
_MODELS = ("model.onnx", "onnx/model.onnx")
_POOLED = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}


class Encoder(Protocol):
    """May be called from any thread."""

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One vector for each text, in order; zeros for a text without tokens. Raises RetrievalError."""
        ...


def check(settings: DenseConfig) -> None:
    """Raises UsageError if the encoder is not named, not that of the run, or cannot run here."""
    if not settings.encoder:
        raise UsageError("which encoder? say --set retrieval.dense.encoder=FOLDER, with its model.onnx, or a name")
    folder = Path(settings.encoder)
    if folder.is_absolute() and not folder.is_dir():
        raise UsageError(f"there is no encoder at {folder}")
    if folder.is_absolute() and settings.digest and folder_digest(folder) != settings.digest:
        raise UsageError(f"{folder} holds another encoder than the run's: a file in it has changed")
    needed = ["faiss", "onnxruntime", "tokenizers"] if _model(settings) else ["faiss", "sentence_transformers"]
    missing = [name for name in needed if find_spec(name) is None]
    if "sentence_transformers" in missing:
        what = "an encoder without a model.onnx needs sentence-transformers"
        raise UsageError(f"{what}: .uv/bin/uv pip install faiss-cpu sentence-transformers")
    if missing:
        line = "--retriever dense needs the extra 'dense'; install it: .uv/bin/uv sync --locked --extra dense"
        raise UsageError(line)


def open_encoder(settings: DenseConfig) -> Encoder:
    """Raises UsageError as `check` does, and RetrievalError if the encoder cannot be read."""
    check(settings)
    with _failing(settings):
        model = _model(settings)
        return OnnxEncoder(model, settings) if model else SentenceEncoder(settings)


class OnnxEncoder:
    def __init__(self, model: Path, settings: DenseConfig) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._settings = settings
        self._tokenizer = Tokenizer.from_file(str(_beside(model, "tokenizer.json")))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(settings.max_length)
        wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
        providers = [name for name in wanted if name in onnxruntime.get_available_providers()]
        self._session = onnxruntime.InferenceSession(str(model), providers=providers)
        self._inputs = [one.name for one in self._session.get_inputs()]
        if unknown := set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}:
            raise UsageError(f"{model} wants '{min(unknown)}': export it with input_ids and attention_mask alone")
        self._pooling, self._output = _output(model, settings.pooling, self._session.get_outputs())
        self.dimension = self._run([[0]]).shape[1]

    def encode(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        with _failing(self._settings):
            rows = [found.ids for found in self._tokenizer.encode_batch([readable(text) for text in texts])]
            for batch in _batches([len(row) for row in rows]):
                vectors[batch] = self._run([rows[place] for place in batch])
        return normalised(vectors) if self._settings.normalise else vectors

    def _run(self, rows: list[list[int]]) -> Matrix:
        ids = np.array(rows, np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        return pooled(found, self._pooling)


class SentenceEncoder:
    """One text at a time: torch pads a batch, which changes the last digits of its vectors."""

    def __init__(self, settings: DenseConfig) -> None:
        from sentence_transformers import SentenceTransformer

        name, _, revision = settings.encoder.partition("@")
        local = Path(settings.encoder).is_absolute()
        self._model: Any = SentenceTransformer(settings.encoder if local else name, revision=revision or None)
        self._model.max_seq_length = min(settings.max_length, self._model.max_seq_length or settings.max_length)
        self._model.default_prompt_name = None  # the settings name the prefixes
        self._settings, self._lock = settings, Lock()
        # A batch on an accelerator is worth the digits.
        self._at_once = 64 if self._model.device.type != "cpu" else 1

    def encode(self, texts: Sequence[str]) -> Matrix:
        whole = self._settings.pooling == "model"
        kind = "sentence_embedding" if whole else "token_embeddings"
        with _failing(self._settings), self._lock:
            how = {"batch_size": self._at_once, "output_value": kind, "convert_to_numpy": whole}
            found = self._model.encode([readable(text) for text in texts], **how, show_progress_bar=False)
        if not whole:
            found = [pooled(one.cpu().numpy()[None], self._settings.pooling)[0] for one in found]
        vectors = np.asarray(found, np.float32)
        return normalised(vectors) if self._settings.normalise else vectors


def pooled(found: Matrix, pooling: Pooling) -> Matrix:
    """(texts, tokens, dimensions) as (texts, dimensions); what has been pooled by the model is left as it is."""
    if found.ndim == 2:
        return found
    if pooling == "mean":
        return np.asarray(found.mean(axis=1, dtype=np.float64), np.float32)
    return np.asarray(found[:, 0 if pooling == "cls" else -1], np.float32)


def normalised(vectors: Matrix) -> Matrix:
    length = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0), np.float32)


def _model(settings: DenseConfig) -> Path | None:
    found = (Path(settings.encoder, name) for name in _MODELS)
    return next((path for path in found if Path(settings.encoder).is_absolute() and path.is_file()), None)


def _beside(model: Path, name: str) -> Path:
    """A file of the folder, which may keep its model in a folder of its own."""
    return next((path for folder in (model.parent, model.parent.parent) if (path := folder / name).is_file()), model)


def _output(model: Path, pooling: Pooling, outputs: Sequence[Any]) -> tuple[Pooling, str]:
    """How the vectors of tokens are pooled, and the output that is read."""
    tokens = [one.name for one in outputs if len(one.shape) == 3]
    whole = [one.name for one in outputs if len(one.shape) == 2]
    if pooling == "model" and "sentence_embedding" in whole:
        return "model", "sentence_embedding"
    if tokens:
        return _own_pooling(model) if pooling == "model" else pooling, tokens[0]
    if pooling == "model" and whole:
        return "model", whole[0]
    raise UsageError(f"{model} has no vectors of tokens to pool: leave out retrieval.dense.pooling")


def _own_pooling(model: Path) -> Pooling:
    path = _beside(model, "1_Pooling/config.json")
    if path == model:
        return "mean"
    told = orjson.loads(path.read_bytes())
    named = str(told.get("pooling_mode", ""))
    for key, pooling in _POOLED.items():
        if told.get(key) is True or named in (pooling, key.removeprefix("pooling_mode_")):
            return pooling  # type: ignore[return-value]
    raise UsageError(f"{path} names a pooling that is not known here: say retrieval.dense.pooling = mean, cls or last")


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of one length, of none without a token."""
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(length, []).append(place)
    for length in sorted(places.keys() - {0}):
        step = max(1, _TOKENS // length)
        yield from (places[length][start : start + step] for start in range(0, len(places[length]), step))


@contextmanager
def _failing(settings: DenseConfig) -> Iterator[None]:
    """Any error of a library as one line."""
    try:
        yield
    except (UsageError, RetrievalError):
        raise
    except Exception as error:
        raise RetrievalError(f"the encoder {settings.label} failed: {first_line(error)}") from error
