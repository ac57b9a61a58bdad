"""Encode texts as vectors, with an ONNX model and its tokenizer or anything that sentence-transformers loads.

An ONNX model gets batches of texts of the same length, without padding, so that a text's vector does not depend on the
other texts in its batch.
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

from pipeline.config.retrieval import DenseConfig, Pooling, folder_digest
from pipeline.errors import RetrievalError, UsageError, first_line
from pipeline.retrieval.passage_texts import readable

Matrix: TypeAlias = npt.NDArray[np.float32]
_TOKENS = 8192
"""Most tokens of one batch."""
_MODELS = ("model.onnx", "onnx/model.onnx")
_POOLED = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}


class Encoder(Protocol):
    """Model that turns texts into vectors. May be called from any thread."""

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text, in order; zeros for a text without tokens. Raises RetrievalError."""
        ...


def check(settings: DenseConfig) -> None:
    """Raise UsageError if the encoder is not set, is not the run's or cannot run here."""
    if not settings.encoder:
        raise UsageError(
            "no encoder is set: use --set retrieval.dense.encoder=FOLDER, with its model.onnx, or a model's name"
        )
    folder = Path(settings.encoder)
    if folder.is_absolute() and not folder.is_dir():
        raise UsageError(f"there is no encoder folder {folder}; name the folder that holds model.onnx")
    if folder.is_absolute() and settings.digest and folder_digest(folder) != settings.digest:
        raise UsageError(f"the encoder in {folder} has changed since the run began: restore its files")
    needed = ["faiss", "onnxruntime", "tokenizers"] if _find_model(settings) else ["faiss", "sentence_transformers"]
    missing = [name for name in needed if find_spec(name) is None]
    if "sentence_transformers" in missing:
        problem = "an encoder without a model.onnx needs sentence-transformers"
        raise UsageError(f"{problem}: .uv/bin/uv pip install faiss-cpu sentence-transformers")
    if missing:
        line = "--retriever dense needs the extra 'dense'; install it: .uv/bin/uv sync --locked --extra dense"
        raise UsageError(line)


def open_encoder(settings: DenseConfig) -> Encoder:
    """Load the encoder of the settings.

    Raises:
        UsageError: as `check` does.
        RetrievalError: if the encoder cannot be read.
    """
    check(settings)
    with _wrap_errors(settings):
        model = _find_model(settings)
        return OnnxEncoder(model, settings) if model else SentenceEncoder(settings)


class OnnxEncoder:
    def __init__(self, model: Path, settings: DenseConfig) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._settings = settings
        self._tokenizer = Tokenizer.from_file(str(_find_beside(model, "tokenizer.json")))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(settings.max_length)
        preferred = ("CUDAExecutionProvider", "CPUExecutionProvider")
        providers = [name for name in preferred if name in onnxruntime.get_available_providers()]
        self._session = onnxruntime.InferenceSession(str(model), providers=providers)
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        if unknown := set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}:
            raise UsageError(
                f"{model} needs the input '{min(unknown)}': export it with only input_ids and attention_mask"
            )
        self._pooling, self._choose_output = _choose_output(model, settings.pooling, self._session.get_outputs())
        self.dimension = self._run([[0]]).shape[1]

    def encode(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        with _wrap_errors(self._settings):
            rows = [encoding.ids for encoding in self._tokenizer.encode_batch([readable(text) for text in texts])]
            for batch in _batch_by_length([len(row) for row in rows]):
                vectors[batch] = self._run([rows[row] for row in batch])
        return normalise_lengths(vectors) if self._settings.normalise else vectors

    def _run(self, rows: list[list[int]]) -> Matrix:
        ids = np.array(rows, np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        (output,) = self._session.run([self._choose_output], {name: inputs[name] for name in self._inputs})
        return pool(output, self._pooling)


class SentenceEncoder:
    """Encoder that encodes one text at a time: torch pads a batch, which changes the last digits of its vectors."""

    def __init__(self, settings: DenseConfig) -> None:
        from sentence_transformers import SentenceTransformer

        name, _, revision = settings.encoder.partition("@")
        local = Path(settings.encoder).is_absolute()
        self._model: Any = SentenceTransformer(settings.encoder if local else name, revision=revision or None)
        self._model.max_seq_length = min(settings.max_length, self._model.max_seq_length or settings.max_length)
        self._model.default_prompt_name = None  # prefixes come from the settings
        self._settings, self._lock = settings, Lock()
        # On an accelerator, the speed of a batch is worth the changed digits.
        self._batch_size = 64 if self._model.device.type != "cpu" else 1

    def encode(self, texts: Sequence[str]) -> Matrix:
        pools_itself = self._settings.pooling == "model"
        kind = "sentence_embedding" if pools_itself else "token_embeddings"
        with _wrap_errors(self._settings), self._lock:
            options = {"batch_size": self._batch_size, "output_value": kind, "convert_to_numpy": pools_itself}
            output = self._model.encode([readable(text) for text in texts], **options, show_progress_bar=False)
        if not pools_itself:
            output = [pool(tokens.cpu().numpy()[None], self._settings.pooling)[0] for tokens in output]
        vectors = np.asarray(output, np.float32)
        return normalise_lengths(vectors) if self._settings.normalise else vectors


def pool(output: Matrix, pooling: Pooling) -> Matrix:
    """Pool (texts, tokens, dimensions) to (texts, dimensions). Return an array unchanged if the model has pooled it."""
    if output.ndim == 2:
        return output
    if pooling == "mean":
        return np.asarray(output.mean(axis=1, dtype=np.float64), np.float32)
    return np.asarray(output[:, 0 if pooling == "cls" else -1], np.float32)


def normalise_lengths(vectors: Matrix) -> Matrix:
    length = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0), np.float32)


def _find_model(settings: DenseConfig) -> Path | None:
    paths = (Path(settings.encoder, name) for name in _MODELS)
    return next((path for path in paths if Path(settings.encoder).is_absolute() and path.is_file()), None)


def _find_beside(model: Path, name: str) -> Path:
    """Return a file next to the model or in the parent folder, or the model itself if there is none."""
    return next((path for folder in (model.parent, model.parent.parent) if (path := folder / name).is_file()), model)


def _choose_output(model: Path, pooling: Pooling, outputs: Sequence[Any]) -> tuple[Pooling, str]:
    """Choose the pooling and the name of the output to pool."""
    token_outputs = [output.name for output in outputs if len(output.shape) == 3]
    text_outputs = [output.name for output in outputs if len(output.shape) == 2]
    if pooling == "model" and "sentence_embedding" in text_outputs:
        return "model", "sentence_embedding"
    if token_outputs:
        return _read_model_pooling(model) if pooling == "model" else pooling, token_outputs[0]
    if pooling == "model" and text_outputs:
        return "model", text_outputs[0]
    raise UsageError(f"{model} does not output token vectors to pool: remove retrieval.dense.pooling")


def _read_model_pooling(model: Path) -> Pooling:
    path = _find_beside(model, "1_Pooling/config.json")
    if path == model:
        return "mean"
    config = orjson.loads(path.read_bytes())
    mode = str(config.get("pooling_mode", ""))
    for key, pooling in _POOLED.items():
        if config.get(key) is True or mode in (pooling, key.removeprefix("pooling_mode_")):
            return pooling  # type: ignore[return-value]
    raise UsageError(f"{path} names an unsupported pooling: set retrieval.dense.pooling to mean, cls or last")


def _batch_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of row numbers: texts of the same length, without texts that have no token."""
    rows_by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        rows_by_length.setdefault(length, []).append(row)
    for length in sorted(rows_by_length.keys() - {0}):
        step = max(1, _TOKENS // length)
        yield from (
            rows_by_length[length][start : start + step] for start in range(0, len(rows_by_length[length]), step)
        )


@contextmanager
def _wrap_errors(settings: DenseConfig) -> Iterator[None]:
    """Turn any error of a library into a RetrievalError of one line."""
    try:
        yield
    except (UsageError, RetrievalError):
        raise
    except Exception as error:
        raise RetrievalError(f"the encoder {settings.label} failed: {first_line(error)}") from error
