"""Answers of workers that are damaged, cut or forged are refused."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import WorkerError
from pipeline.run import RunResult, worker
from tests.run.test_batches import config, read_lines, respond_in_thread, run_batches, single_process_result

__all__ = ["single_process_result"]


def change_seed(answer: bytes) -> bytes:
    """Change the draw of the seed in each line, with a matching checksum."""
    response = worker.BatchResponse.unpack(answer)
    bodies = [line.partition(b",")[2].replace(b'"draw":0', b'"draw":1', 1) for line in response.lines]
    forged = [b'{"sha256":"%b",%b' % (hashlib.sha256(body).hexdigest().encode(), body) for body in bodies]
    return worker.BatchResponse(response.outcome, forged, response.cache).pack()


FORGERIES: dict[Callable[[bytes], bytes], str] = {
    change_seed: "is of another seed than it was sent",
    lambda answer: answer[:-200]: "a worker's answer cannot be read",
    lambda answer: b"9\n{}": "a worker's answer cannot be read",
    lambda answer: answer.replace(b'"target_steps":1', b'"target_steps":2', 1): "answer cannot be read",
    lambda answer: answer.replace(b'"attempts":[{', b'"attempts":[],"failures":{},"x":[{'): "cannot be read",
}


@pytest.mark.slow
async def test_an_occasional_forgery_is_requested_again(single_process_result: RunResult, tmp_path: Path) -> None:
    forgeries = list(FORGERIES)

    async def submit(request: bytes) -> bytes:
        answer = await respond_in_thread(request)
        return forgeries.pop()(answer) if forgeries else answer

    assert read_lines(await run_batches(config(tmp_path), submit)) == read_lines(single_process_result)


@pytest.mark.parametrize(("forge", "problem"), FORGERIES.items())
async def test_forged_answers_are_never_journalled(
    forge: Callable[[bytes], bytes], problem: str, tmp_path: Path
) -> None:
    async def submit(request: bytes) -> bytes:
        return forge(await respond_in_thread(request))

    with pytest.raises(WorkerError, match=problem):
        await run_batches(config(tmp_path, seeds=1), submit)
    assert not list(tmp_path.glob("*/*/journal/*.jsonl"))
