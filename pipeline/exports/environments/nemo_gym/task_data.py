"""The columns of a row that belong to the question."""

from pydantic import BaseModel


class TaskData(BaseModel, extra="allow"):
    id: str
    question: str
    golden_answers: list[str]
