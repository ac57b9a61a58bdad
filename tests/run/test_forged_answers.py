"""What a worker sends back is read as what it may be: damaged, cut, or forged on its way."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import WorkerError
from pipeline.run import RunResult, worker
from tests.run.test_batches import config, here, lines, made, whole

__all__ = ["whole"]


def of_another_seed(answer: bytes) -> bytes:
    """Each line with the draw of its seed changed, and a checksum that fits."""
    response = worker.BatchResponse.unpack(answer)
    bodies = [line.partition(b",")[2].replace(b'"draw":0', b'"draw":1', 1) for line in response.lines]
    forged = [b'{"sha256":"%b",%b' % (hashlib.sha256(body).hexdigest().encode(), body) for body in bodies]
    return worker.BatchResponse(response.outcome, forged, response.cache).pack()


FORGERIES: dict[Callable[[bytes], bytes], str] = {
    of_another_seed: "is of another seed than it was sent",
    lambda answer: answer[:-200]: "a worker's answer cannot be read",
    lambda answer: b"9\n{}": "a worker's answer cannot be read",
    lambda answer: answer.replace(b'"target_steps":1', b'"target_steps":2', 1): "answer cannot be read",
    lambda answer: answer.replace(b'"attempts":[{', b'"attempts":[],"failures":{},"x":[{'): "cannot be read",
}


async def test_what_a_worker_forges_now_and_then_is_asked_for_again(whole: RunResult, tmp_path: Path) -> None:
    forgeries = list(FORGERIES)

    async def forging(asked: bytes) -> bytes:
        answer = await here(asked)
        return forgeries.pop()(answer) if forgeries else answer

    assert lines(await made(config(tmp_path), forging)) == lines(whole)


@pytest.mark.parametrize(("forge", "problem"), FORGERIES.items())
async def test_what_a_worker_forges_is_not_journalled(
    forge: Callable[[bytes], bytes], problem: str, tmp_path: Path
) -> None:
    async def forging(asked: bytes) -> bytes:
        return forge(await here(asked))

    with pytest.raises(WorkerError, match=problem):
        await made(config(tmp_path, seeds=1), forging)
    assert not list(tmp_path.glob("*/*/journal/*.jsonl"))
