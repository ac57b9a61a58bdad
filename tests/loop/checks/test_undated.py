"""Questions whose answer changes with time: found by the reader who grades the wording, in the same call."""

from dataclasses import replace

import orjson
import pytest

from pipeline.agents.parse import schema_of
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.checks.naturalness import GradeOutput
from pipeline.loop.examine import readings
from pipeline.types import Cause, Label
from pipeline.types.model_probe import undated
from tests.loop.checks.test_readings import DRAFT, context, told
from tests.scripted import ScriptedLLM


@pytest.mark.parametrize(("says", "found"), [(True, [("undated", Cause.UNDATED, True)]), (False, []), (None, [])])
async def test_an_answer_that_changes_with_time_is_found_in_the_same_calls(says: bool | None, found: list) -> None:
    said = orjson.dumps({"grade": 5} | ({} if says is None else {"changes_with_time": says})).decode()
    asked = context(ScriptedLLM(lambda request: said), ("naturalness",))
    answer = await readings(DRAFT, 3, (), asked)
    assert told(answer) == found
    assert undated(answer.probes) is says
    assert sum(probe.usage.calls for probe in answer.probes) == 2, "as many as the grade takes"
    if says:
        back = feedback_from_audit(DRAFT, answer.findings)
        assert (back.label, back.cause) == (Label.UNSOUND, Cause.UNDATED)
        assert "Name the date" in back.message


@pytest.mark.parametrize("date", ["early 2014", "the spring of 2014", "May 2014", "the first quarter of 2014"])
@pytest.mark.parametrize(("what", "found"), [("", []), ("who leads it now", ["undated"])])
async def test_where_a_question_has_a_date_a_reader_says_what_changes_all_the_same(
    date: str, what: str, found: list[str]
) -> None:
    said = orjson.dumps({"grade": 5, "what_changes": what, "changes_with_time": True}).decode()
    asked = context(ScriptedLLM(lambda request: said), ("naturalness",))
    draft = DRAFT.model_copy(update={"question": f"Who led the town of the mills in {date}?"})
    answer = await readings(draft, 3, (), asked)
    assert [finding.check for finding in answer.findings] == found
    assert undated(answer.probes) is bool(found)
    assert all("the date in the question is not that of the answer" in one.detail for one in answer.findings)


async def test_what_changes_and_the_date_of_the_texts_are_told_with_the_finding() -> None:
    changing = {"what_changes": "who\nleads the town", "changes_with_time": True}
    said = orjson.dumps({"grade": 5, **changing}).decode()
    asked = context(ScriptedLLM(lambda request: said), ("naturalness",))
    lineage = asked.lineage.model_copy(update={"as_of": "2024-06"})
    (found,) = (await readings(DRAFT, 3, (), replace(asked, lineage=lineage))).findings
    assert found.detail.endswith("the reader says what changes: who leads the town; the texts are as of 2024-06")


def test_a_model_is_asked_for_yes_or_no() -> None:
    assert schema_of(GradeOutput)["properties"]["changes_with_time"] == {"type": "boolean"}


@pytest.mark.parametrize(
    ("question", "dated"),
    [
        ("من كان رئيس بلدية فيسبي في عام ٢٠١٤؟", True),
        ("เมื่อปี 2557 ใครเป็นนายกเทศมนตรีของเวสบี", True),
        ("เมื่อปี พ.ศ. ๒๕๕๗ ใครเป็นนายกเทศมนตรีของเวสบี", True),
        ("Who led the town of the 2557 mills?", False),
    ],
)
async def test_a_year_is_read_in_the_digits_and_the_calendar_of_its_language(question: str, dated: bool) -> None:
    said = orjson.dumps({"grade": 5, "changes_with_time": True}).decode()
    asked = context(ScriptedLLM(lambda request: said), ("naturalness",))
    answer = await readings(DRAFT.model_copy(update={"question": question}), 3, (), asked)
    assert undated(answer.probes) is not dated
