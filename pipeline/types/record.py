"""How a seed went, round by round, and how it ended: the journal line."""

from enum import StrEnum

from pipeline.types.assessment import Assessment, PolicyMeasurement, by_demo
from pipeline.types.data import Data, Slotted, slotted
from pipeline.types.distractor import DistractorEval, TeacherRollout
from pipeline.types.fork import Fork
from pipeline.types.model_probe import OneSearch, PriorKnowledge, Probe, Searched
from pipeline.types.question import Draft, Seed
from pipeline.types.rollout import GradedRollout, Rollout, Trajectory, Usage, Verdict, correct, least_steps
from pipeline.types.step_counts import StepCounts
from pipeline.types.tree import Tree
from pipeline.types.twin import Twin

ROLES = ("curator", "generator", "refiner", "solver", "seeker", "teacher", "judge", "reader", "writer", "policy")
"""All that can ask a model, in the order in which tables show them."""


class Label(StrEnum):
    """What an assessment says of a draft."""

    UNSOUND = "unsound"
    TOO_EASY = "too_easy"
    UNSOLVED = "unsolved"
    CANDIDATE = "candidate"


class Cause(StrEnum):
    """Why a draft was sent back. The first four are SAGE's names of "too easy", the next four of "unsolved"."""

    CO_LOCATED = "co_located"
    OVER_SPECIFIED = "over_specified"
    QUERY_COLLAPSE = "query_collapse"
    SUPERFICIAL = "superficial"
    RETRIEVAL_MISS = "retrieval_miss"
    SOLVER_ERROR = "solver_error"
    GENERATOR_ERROR = "generator_error"
    AMBIGUOUS = "ambiguous"
    PRIOR_KNOWLEDGE = "prior_knowledge"
    """Too easy: every model to be trained knows the answer, or a solver knew what a hop gives."""
    UNNATURAL = "unnatural"
    """Worded so that nobody would ask it."""
    UNDATED = "undated"
    """Its answer changes with time, and it names no date."""
    ABOVE_BAND = "above_band"
    """Too easy: the model that the pairs are for solves it more often than `solve_rate` allows."""
    BELOW_BAND = "below_band"
    """That model solves it less often than `solve_rate` allows."""


class Finding(Data):
    """What one check found: it sends the draft back. `detail` says what was seen, where, and the one thing to do."""

    check: str
    cause: Cause
    hops: tuple[int, ...] = ()
    """Indices of the hops concerned."""
    detail: str = ""
    searches: tuple[Searched, ...] = ()
    """The searches that it rests on."""


class Feedback(Data):
    """What the refiner is given: the one edge back in the loop."""

    label: Label
    cause: Cause
    message: str
    hops: tuple[int, ...] = ()


@slotted
class Round(Slotted):
    """One draft and all that was found out about it. Round 0 is the generator's, later ones the refiner's."""

    index: int
    agent: Trajectory
    """The generator's or refiner's own trace."""
    draft: Draft | None
    """None where the agent proposed nothing usable; `findings` says why."""
    tree: Tree | None = None
    """What the draft was composed from, where a curator explored first."""
    findings: tuple[Finding, ...] = ()
    probes: tuple[Probe, ...] = ()
    checked: tuple[Probe, ...] = ()
    """What readers said of drafts that the agent had checked before it gave one: no part of what they found of this."""
    rollouts: tuple[Rollout, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    policy_rollouts: tuple[Rollout, ...] = ()
    """Of the model that the pairs are for, as many as decided, where its solve rate is a target."""
    policy_verdicts: tuple[Verdict, ...] = ()
    feedback: Feedback | None = None
    """None on the round that was a candidate."""

    @property
    def graded(self) -> list[GradedRollout]:
        """The solver's rollouts."""
        return [GradedRollout(*pair) for pair in zip(self.rollouts, self.verdicts, strict=True)]

    @property
    def unsound(self) -> bool:
        """Did the audit send it back?"""
        return bool(self.findings)

    @property
    def answerable(self) -> bool:
        """Did a reader answer it from its evidence? False where none was asked."""
        return any(probe.check == "oracle" and probe.grounded for probe in self.probes)


class Status(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"


@slotted
class Lineage(Slotted):
    """Where a record comes from."""

    run: str
    preset: str
    strategy: str
    model: str
    """The models of all roles, the generator's first, each once, joined by " + "."""
    demo_solver: int | None = None
    """The version of the demo model where it solved; None for any other solver."""
    corpus: str
    corpus_fingerprint: str
    licence: str
    attribution: str
    retriever: str
    """With its analyser where that is another than the English one, as in `lucene (german)`."""
    language: str = "unknown"
    """Of the corpus: a code such as `en`, as its manifest or the user says, else as was detected."""
    as_of: str = ""
    """The year, month or day whose state of the world the corpus describes; empty where nobody said it."""
    trainable: bool = True
    """False where the demo model is among them, whose rows teach nothing, or one that forbids to be trained on."""

    @property
    def by_demo(self) -> bool:
        return by_demo(self.model)


class Record(Data):
    """The journal line of one seed."""

    key: str
    seed: Seed
    status: Status
    reason: str
    """One code: `below_range`, a cause, `no_draft`, `deadline`, ...; empty or `relaxed` if accepted.
    `no_draft` alone: its author gave up. `no_draft:format_errors` and `no_draft:limits` ended it before.

    `beyond_solver`: no rollout was correct, but a reader with the evidence in hand was. A stronger solver may do it.
    `gate:` and a name, never in the journal but wherever data set and report read it: the gate that dropped it.
    """
    rounds: tuple[Round, ...]
    confirmation: tuple[Rollout, ...] = ()
    confirmation_verdicts: tuple[Verdict, ...] = ()
    seekers: tuple[Rollout, ...] = ()
    """Of those who look for shortcuts, where the solver confirmed the question; none of it is trained on."""
    seeker_verdicts: tuple[Verdict, ...] = ()
    teacher_rollouts: tuple[TeacherRollout, ...] = ()
    """Of the teacher, by sample. Acceptance, difficulty and solve rate rest on none of them."""
    distractor_eval: DistractorEval | None = None
    """None where no distractor was asked for, and where the pair was not accepted."""
    twin: Twin | None = None
    """The tries to change its question into one without an answer; None where it was not drawn for that."""
    missing: tuple[str, ...] = ()
    """The optional stages of an accepted pair, `distractors`, `teacher`, `policies` and `unanswerable`, in which a
    timeout or an unreadable model left something out. `digsite complete` makes them up; it is joined on reading."""
    lineage: Lineage
    known_to: tuple[PriorKnowledge, ...] = ()
    """Who knows the answer to the final question by heart, of the models that were asked. It sends a draft back only
    where every model to be trained (`[models.policies]`) knows it in most tries."""
    skippable_hops: tuple[int, ...] = ()
    """Indices of the hops that are needless: an attack from the end (`end`) found a later passage without them,
    or a correct rollout did. Of an accepted pair at least as many others remain as the target asks for, unless the demo
    model solved it."""
    one_search: tuple[OneSearch, ...] = ()
    """Of an accepted pair, where `retrieval.audit` names more retrievers: what one search of each finds, the run's own
    first."""
    agreed_answer: str = ""
    """The wrong answer to the final question on which two rollouts or more agree; it may be a second right one."""
    naturalness: int | None = None
    """How natural the final question sounds, 1 to 5, by the reader of the check `naturalness`; None where it was not
    asked."""
    assessments: tuple[Assessment, ...] = ()
    """That of the run's own solver, where there were rollouts; `measurements` hold those of the policies."""
    measurements: tuple[PolicyMeasurement, ...] = ()
    """Of an accepted pair one for each of `models.policies`, and where that is asked for another of the same samples
    with the distractors (WITH_DISTRACTORS); then those of `digsite remeasure`, the latest last, which are kept beside
    the journal and joined on reading."""
    forks: tuple[Fork, ...] = ()
    """What `digsite branch` found afterwards: kept beside the journal, and joined to the record on reading."""

    @property
    def usage(self) -> dict[str, Usage]:
        """What each role used, over all rounds and stages; calls count whether or not a cache answered."""
        used: dict[str, list[Usage]] = {role: [] for role in ROLES}
        rollouts, verdicts = self.confirmation, self.confirmation_verdicts
        for past in self.rounds:
            rollouts += past.rollouts
            verdicts += past.verdicts
            used["policy"] += [rollout.trajectory.usage for rollout in past.policy_rollouts]
            used["judge"] += [verdict.usage for verdict in past.policy_verdicts]
            used["refiner" if past.index else "generator"].append(past.agent.usage)
            used["curator"] += [past.tree.usage] if past.tree else []
            used["reader"] += [probe.usage for probe in (*past.probes, *past.checked)]
            used["judge"] += [probe.judged for probe in past.probes]
        used["teacher"] += [made.rollout.trajectory.usage for made in self.teacher_rollouts]
        used["solver"] += [rollout.trajectory.usage for rollout in rollouts]
        used["seeker"] += [rollout.trajectory.usage for rollout in self.seekers]
        verdicts += (*self.seeker_verdicts, *(made.verdict for made in self.teacher_rollouts))
        used["judge"] += [verdict.usage for verdict in verdicts]
        twins = self.twin.measurements if self.twin else ()
        stages = (self.distractor_eval, self.twin, *self.measurements, *twins)
        for usages in (stage.usages for stage in stages if stage):
            for role, took in usages.items():
                used[role] += took
        return {role: Usage.total(usages) for role, usages in used.items()}

    @property
    def original(self) -> str:
        """The question as somebody brought it; empty where the seed is a passage of the corpus."""
        return self.seed.passage.text if self.lineage.strategy == "harden" else ""

    @property
    def last(self) -> Round | None:
        """The last round with a draft: a refiner that found nothing better ends a seed where it stood."""
        return next((past for past in reversed(self.rounds) if past.draft), None)

    @property
    def draft(self) -> Draft | None:
        last = self.last
        return last.draft if last else None

    @property
    def graded(self) -> list[GradedRollout]:
        """All rollouts of the final question: of its confirmation, then of its own round."""
        return [*self._confirmed, *(last.graded if (last := self.last) else ())]

    @property
    def _confirmed(self) -> list[GradedRollout]:
        return [GradedRollout(*pair) for pair in zip(self.confirmation, self.confirmation_verdicts, strict=True)]

    @property
    def measured(self) -> tuple[Verdict, ...]:
        """The verdicts that honest difficulty and solve rate rest on: the confirmation's, else the last round's."""
        return self.confirmation_verdicts or ((last := self.last) and last.verdicts) or ()

    @property
    def step_counts(self) -> StepCounts:
        """The numbers of steps, over the solver's tries that measure it and those of seekers."""
        honest = self._confirmed or (last.graded if (last := self.last) else [])
        return StepCounts.of(honest, [*map(GradedRollout, self.seekers, self.seeker_verdicts)])

    @property
    def confirmed(self) -> bool:
        """Was it accepted, whether or not a gate dropped it afterwards?"""
        return self.status is Status.ACCEPTED or self.reason.startswith("gate:")

    @property
    def hardness(self) -> tuple[int | None, float | None]:
        """Difficulty and solve rate, at the price of one."""
        measured = self.measured
        right = correct(measured)
        difficulty = self.step_counts.difficulty if self.seekers else least_steps(right)
        return difficulty, len(right) / len(measured) if measured else None

    @property
    def difficulty(self) -> int | None:
        """The steps of the shortest way that the solver or a seeker found, or where every seeker failed, or none was
        asked, that the solver found. None where it is solved by recall alone, or not at all."""
        return self.hardness[0]

    @property
    def solve_rate(self) -> float | None:
        return self.hardness[1]

    def measurement(self, policy: str) -> PolicyMeasurement | None:
        """The latest of the policy of that name."""
        return next((one for one in reversed(self.measurements) if one.policy == policy), None)

    @property
    def opener(self) -> PolicyMeasurement | None:
        """Of what was beyond the run's solver the first measurement that meets the target, and is its confirmation."""
        found = self.measurements if self.reason == "beyond_solver" else ()
        return next((one for one in found if (one.assessment.least_steps or 0) >= self.seed.target_steps), None)

    def assessed(self, policy: str = "") -> Assessment | None:
        """The latest assessment of the policy of that name, or that of the run's own solver."""
        if not policy:
            return self.assessments[0] if self.assessments else None
        return found.assessment if (found := self.measurement(policy)) else None

    def hardness_for(self, policy: str = "") -> tuple[int | None, float | None]:
        """Difficulty, and the solve rate of the policy of that name or of the run's own solver."""
        if not policy:
            return self.hardness
        found = self.assessed(policy)
        return self.difficulty, found.solve_rate if found else None
