"""What the refiner is shown of a seed's rounds: the last draft with what each check said of it and its rollouts, the
drafts before with why they failed, and those of the passages read so far that stand there whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from pipeline.context import RunContext
from pipeline.llm.token_estimate import tokens
from pipeline.loop.checks.base import meanings
from pipeline.loop.draft_check import places, without_hidden
from pipeline.types import Draft, GradedRollout, Passage, Probe, Round, Searched, Seed
from pipeline.types.graph import FoundStep

_LAST, _PASSAGES, _OTHERS = 4_000, 1_500, 2
"""Tokens of the last draft with all that came of it, tokens of the passages shown whole, and the titles named of a
search beside the cited passages. Every turn of the refiner sends them again."""


@dataclass(frozen=True)
class Read:
    """The passages that any agent or check of the seed has read: those of its own side, by corpus id and in order, and
    those of the other side, of which nothing may enter a question."""

    own: dict[str, Passage]
    other: tuple[Passage, ...]
    new: tuple[str, ...]
    """Ids of what checks and rollouts of the last round brought and no generator's agent was shown before."""


async def read(seed: Seed, context: RunContext, rounds: Sequence[Round], pairs: Sequence[GradedRollout]) -> Read:
    """`pairs` are the rollouts of the last round that the refiner is shown."""
    seen = {seed.passage.id: None}
    brought: dict[str, None] = {}
    for past in rounds:
        seen |= dict.fromkeys(i for node in (past.tree.nodes if past.tree else ()) for i in node.passage_ids)
        seen |= dict.fromkeys(i for call in past.agent.calls for i in call.passage_ids)
        seen |= dict.fromkeys(hop.passage_id for hop in (past.draft.hops if past.draft else ()))
        tried = (*past.rollouts, *past.policy_rollouts)
        rollouts = [rollout for rollout, _ in pairs] if past is rounds[-1] else tried
        found = [search.passage_ids for finding in past.findings for search in finding.searches]
        found += [call.passage_ids for rollout in rollouts for call in rollout.trajectory.calls]
        brought = dict.fromkeys(i for ids in found for i in ids if i not in seen)
        seen |= brought
    side = context.side(seed.side)
    own = {i: passage for i in seen if (passage := await side.get(i))}
    other = [await context.retriever.get(i) for i in seen if i not in own]
    new = tuple(i for i in brought if i in own)
    return Read(own=own, other=tuple(passage for passage in other if passage), new=new)


def whole(draft: Draft, known: Read, *, limited: bool, opens: bool) -> list[Passage]:
    """The passages that a refiner is shown whole: the cited ones, then the new ones, as long as there is room. One who
    cannot open the others has them too, and a model without a limit has all."""
    if not limited:
        return list(known.own.values())
    cited = [hop.passage_id for hop in draft.hops if hop.passage_id in known.own]
    chosen: list[Passage] = []
    left = _PASSAGES * (1 if opens else 2)
    for i in dict.fromkeys([*cited, *known.new, *(() if opens else reversed(known.own))]):
        left -= tokens(known.own[i].text)
        if left < 0 and i not in cited:
            break
        chosen.append(known.own[i])
    return chosen


def drafts(rounds: Sequence[Round], pairs: Sequence[GradedRollout], known: Read) -> list[dict[str, Any]]:
    """Every draft so far, the last one last: that one with its searches, unless they are too long."""
    *earlier, (last, draft) = [(past, past.draft) for past in rounds if past.draft]
    told = _tried(last, draft, pairs, known)
    if tokens(orjson.dumps(told).decode()) > _LAST:
        for row in (*told["checks"], *told["rollouts"]):
            row.pop("searches", None)
            row.pop("calls", None)
    return [*(_failed(past, draft, known) for past, draft in earlier), told]


def graded(past: Round) -> list[GradedRollout]:
    """All rollouts of a round, those of the model that the pairs are for last."""
    rollouts, verdicts = (*past.rollouts, *past.policy_rollouts), (*past.verdicts, *past.policy_verdicts)
    return [GradedRollout(*pair) for pair in zip(rollouts, verdicts, strict=True)]


def _failed(past: Round, draft: Draft, known: Read) -> dict[str, Any]:
    """An earlier draft: not to be made again."""
    return {"question": draft.question, "steps": _steps(draft, known), "feedback": _feedback(past, known)}


def _tried(past: Round, draft: Draft, pairs: Sequence[GradedRollout], known: Read) -> dict[str, Any]:
    return {
        "question": draft.question,
        "answer": draft.answer,
        "steps": _steps(draft, known),
        "checks": _checks(past, draft, known),
        "rollouts": [_rollout(pair, past, draft, known) for pair in pairs],
        "feedback": _feedback(past, known),
    }


def _steps(draft: Draft, known: Read) -> list[dict[str, Any]]:
    """Return the steps of a draft as its author handed them in."""
    steps = []
    for step in draft.graph.steps:
        fields = step.model_dump(mode="json", exclude={"citation"}, exclude_defaults=True)
        if isinstance(step, FoundStep):
            fields["passage_id"] = _shown_id(step.citation.passage_id, known)
            fields["sentences"] = [index + 1 for index in step.citation.sentences]
        steps.append(fields)
    return steps


def _shown_id(passage_id: str, known: Read) -> str:
    return known.own[passage_id].shown_id if passage_id in known.own else ""


def _feedback(past: Round, known: Read) -> dict[str, Any]:
    back = past.feedback
    return back.model_dump(mode="json") | {"message": _clean(back.message, known)} if back else {}


def _checks(past: Round, draft: Draft, known: Read) -> list[dict[str, Any]]:
    """Say once what each check found or, if it found nothing, what its reader answered."""
    at_fault = {finding.check for finding in past.findings}
    rows = [_row(f.check, _clean(f.detail, known), f.searches, draft, known) for f in past.findings]
    passed: dict[str, dict[str, None]] = {}
    for probe in past.probes:
        if probe.check not in at_fault:
            passed.setdefault(probe.check, {})[_answered(probe)] = None
    return rows + [_row(check, "; ".join(answers), (), draft, known) for check, answers in passed.items()]


def _row(check: str, said: str, searches: Iterable[Searched], draft: Draft, known: Read) -> dict[str, Any]:
    ran = [{"query": search.query, "found": _found(search.passage_ids, draft, known)} for search in searches]
    return {"check": check, "said": said} | ({"searches": ran} if ran else {})


def _answered(probe: Probe) -> str:
    """Say what a check that found nothing was answered, and whether by what it was shown."""
    if probe.check in meanings() and (description := meanings()[probe.check].describe(probe)):
        return description
    answers = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers)) or "nothing"
    if not probe.right:
        return f"answered {answers}: wrong"
    if probe.uncited:
        return f"answered {answers}: right, but no passage states: {', '.join(probe.uncited)}"
    return f"answered {answers}: {'right' if probe.evidence else _BY_HEART}"


_BY_HEART = "right, by heart, which alone sends no draft back"


def _rollout(pair: GradedRollout, past: Round, draft: Draft, known: Read) -> dict[str, Any]:
    rollout, verdict = pair
    calls = [
        ({"query": call.argument} if call.tool == "search" else {"tool": call.tool})
        | {"found": _found(call.passage_ids, draft, known)}
        for call in rollout.trajectory.calls
    ]
    return {
        "answer": rollout.answer,
        "stop": rollout.trajectory.stop.value,
        "right": verdict.right,
        "supported": verdict.supported,
        "steps": verdict.steps,
        "calls": calls,
        **({"policy": True} if any(rollout is made for made in past.policy_rollouts) else {}),
    }


def _found(found: Sequence[str], draft: Draft, known: Read) -> str:
    """Which cited passages a search found, with their ranks, and the first other titles. Those of the other side are
    left out."""
    cited = {hop.passage_id for hop in draft.hops}
    titles = dict.fromkeys(known.own[i].title for i in found if i in known.own and i not in cited)
    named = [f"'{title}'" for title in [*titles][:_OTHERS]]
    return "; ".join(filter(None, (places(found, draft), ", ".join(named)))) or "nothing cited"


def _clean(text: str, known: Read) -> str:
    return without_hidden(text, known.other, known.own.values())
