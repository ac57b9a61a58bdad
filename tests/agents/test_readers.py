"""The oracle reader makes one call with the passages as data, and its answer is read in full or not at all."""

import orjson
import pytest

from pipeline import prompts
from pipeline.agents.readers import closed_book, oracle
from pipeline.agents.structured import TRIES
from pipeline.config import build
from pipeline.config.models import ModelConfig, Sampling
from pipeline.context import RunContext
from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import FormatError
from pipeline.llm.base import LLM
from pipeline.llm.cached import request_digest
from tests.hostile_texts import HOSTILE
from tests.loop.cast import LINEAGE
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

FILM = passage("f", "Lantern Bay", "Lantern Bay is a 1931 film directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm (born 3 May 1890) is a director. She was born in Vessby.")
TOWN = passage("t", "Vessby", "Vessby is a town that was founded in 1641.")
QUESTION = 'Who directed the film "Lantern Bay"?'
CHAIN = 'In what year was the birthplace of the director of the film "Lantern Bay" founded?'


def make_context(llm: LLM, **values: object) -> RunContext:
    return RunContext(build(values=values), llm, Shelf(), LINEAGE)


async def test_the_question_and_the_passages_are_sent_as_data() -> None:
    model = ScriptedLLM(['{"reason": "Lantern Bay: by Ada Holm", "answer": " Ada Holm "}'])
    reading = await oracle(QUESTION, [FILM, HOLM], make_context(model), sample=2)
    (request,) = model.requests
    assert (reading.answer, reading.usage.calls) == ("Ada Holm", 1)
    assert (request.output and request.output.name, request.sample, request.tools) == ("read", 2 * TRIES, ())
    inputs = prompts.unfence(request.messages[-1].content) or {}
    assert inputs["question"] == QUESTION
    assert inputs["passages"][1] == {"id": HOLM.shown_id, "title": "Ada Holm", "text": HOLM.text}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
async def test_memory_is_asked_once_if_every_sample_would_be_answered_alike(temperature: float) -> None:
    llm = ScriptedLLM(lambda request: '{"answer": "Ada Holm"}')
    model = ModelConfig(provider="openai", model="m", sampling=Sampling(temperature=temperature))
    for sample in range(3):
        await closed_book(QUESTION, make_context(llm), model, sample)
    assert len({request_digest(request) for request in llm.requests}) == (3 if temperature else 1)


@pytest.mark.parametrize(
    ("facts", "uncited"),
    [
        ([], ()),
        ([{"fact": "A", "passage": FILM.shown_id}], ()),
        ([{"fact": "A", "passage": f"[{HOLM.shown_id}], [{FILM.shown_id}]"}], ()),
        ([{"fact": "A", "passage": ""}, {"fact": " B\n b ", "passage": None}, {"fact": "C"}], ("A", "B b", "C")),
        ([{"fact": "A", "passage": TOWN.shown_id}], ("A",)),
        ([{"fact": "", "passage": ""}], ()),
        ([{"fact": f"{n} {'x' * 9999}", "passage": ""} for n in range(9)], tuple(f"{n} {'x' * 198}" for n in range(8))),
    ],
)
async def test_a_fact_is_cited_if_it_names_a_passage_that_was_shown(
    facts: list[dict[str, object]], uncited: tuple[str, ...]
) -> None:
    model = ScriptedLLM([orjson.dumps({"facts": facts, "answer": "x"}).decode()])
    reading = await oracle(QUESTION, [FILM, HOLM], make_context(model))
    assert (reading.answer, reading.uncited) == ("x", uncited)


async def test_facts_come_first_and_reasons_only_without_passages() -> None:
    model = ScriptedLLM(['{"reason": "", "answer": "x"}'] * 2)
    await oracle(QUESTION, [FILM], make_context(model))
    run_context = make_context(model)
    await closed_book(QUESTION, run_context, run_context.config.models.of("reader"))
    bodies = [request.output.body for request in model.requests if request.output]
    assert [list(body["properties"]) for body in bodies] == [["facts", "answer"], ["reason", "answer"]]


async def test_too_many_facts_are_unreadable() -> None:
    many = orjson.dumps({"facts": [{"fact": "A", "passage": ""}] * 65, "answer": "x"}).decode()
    with pytest.raises(FormatError):
        await oracle(QUESTION, [FILM], make_context(ScriptedLLM([many] * TRIES)))


async def test_an_unreadable_answer_is_asked_for_again_and_is_an_error_in_the_end() -> None:
    model = ScriptedLLM(["no idea", '{"answer": 7}', '{"answer": ""}'])
    reading = await oracle(QUESTION, [FILM], make_context(model))
    assert (reading.answer, reading.usage.calls) == ("", TRIES)
    assert len({request.sample for request in model.requests}) == TRIES
    with pytest.raises(FormatError, match="'embedded' gave no readable 'read'"):
        await oracle(QUESTION, [FILM], make_context(ScriptedLLM(["?"] * TRIES)))


async def test_the_reader_is_the_default_model_unless_it_is_set() -> None:
    def model(name: str) -> dict[str, str]:
        return {"provider": "openai", "model": name}

    usual = {"default": model("d"), "solver": model("s")}
    for models, expected in ((usual, "d"), ({**usual, "reader": model("r")}, "r")):
        llm = ScriptedLLM(['{"answer": "x"}'])
        await oracle(QUESTION, [FILM], make_context(llm, models=models))
        assert llm.requests[0].model == expected


async def test_the_demo_model_follows_a_chain_over_passages_in_any_order() -> None:
    for passages in ([FILM, HOLM, TOWN], [TOWN, FILM, HOLM]):
        assert (await oracle(CHAIN, passages, make_context(DemoModel()))).answer == "1641"
    assert (await oracle(QUESTION, [FILM], make_context(DemoModel()))).answer == "Ada Holm"


async def test_the_demo_model_answers_nothing_without_passages() -> None:
    assert (await oracle(QUESTION, [], make_context(DemoModel()))).answer == ""


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_passages_are_read_as_text(text: str) -> None:
    passages = [FILM, passage("bad", text[:200], text)]
    assert isinstance((await oracle(QUESTION, passages, make_context(DemoModel()))).answer, str)
