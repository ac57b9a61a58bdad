"""The teacher: answers among distractors that it does not know of, to be imitated where it was not misled."""

from pipeline import prompts
from pipeline.agents.loop import Agent, Desk, converse
from pipeline.agents.parse import parse
from pipeline.agents.site import Site
from pipeline.agents.tools import TEACHER_TOOLS, AnswerArguments
from pipeline.retrieval.base import Retriever
from pipeline.types import Rollout


async def teach(question: str, sample: int, retriever: Retriever, site: Site) -> Rollout:
    """One rollout over `retriever`, with the solver's limits and form of answer, and without `open`."""
    agent = Agent(
        llm=site.llm,
        model=site.config.models.of("teacher"),
        tools=TEACHER_TOOLS,
        limits=site.config.solver,
        retriever=retriever,
        k=site.config.retrieval.k,
        accept=lambda arguments, desk: parse(AnswerArguments, arguments),
    )
    messages = prompts.load("teacher/answer").render("", question=question)
    trajectory = await converse(agent, messages, sample=sample, desk=Desk())
    answer = parse(AnswerArguments, trajectory.final).answer.strip() if trajectory.final else ""
    return Rollout(sample=sample, trajectory=trajectory, answer=answer)
