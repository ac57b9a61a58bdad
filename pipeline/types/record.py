"""The journal line of a seed: its rounds, and how it ended."""

from enum import StrEnum

from pipeline.types.assessment import Assessment, PolicyMeasurement, by_demo
from pipeline.types.data import Data, Slotted, slotted
from pipeline.types.distractor import DistractorEval, TeacherRollout
from pipeline.types.fork import Fork
from pipeline.types.model_probe import OneSearch, PriorKnowledge, Probe, Searched
from pipeline.types.question import Draft, Seed
from pipeline.types.reason import Reason, ReasonCode
from pipeline.types.rollout import GradedRollout, Rollout, Trajectory, Usage, Verdict, correct, least_steps
from pipeline.types.step_counts import StepCounts
from pipeline.types.tree import Tree
from pipeline.types.twin import Twin

ROLES = ("curator", "generator", "refiner", "solver", "seeker", "teacher", "judge", "reader", "writer", "policy")
"""All roles of models, in the order of tables."""


class Label(StrEnum):
    """The result of assessing a draft."""

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
    """Too easy: every model to be trained knows the answer, or a solver knew the answer of a hop."""
    UNNATURAL = "unnatural"
    """Nobody would ask it in this wording."""
    UNDATED = "undated"
    """Its answer changes with time, and it names no date."""
    ABOVE_BAND = "above_band"
    """Too easy: the model that the pairs are for solves it more often than `solve_rate` allows."""
    BELOW_BAND = "below_band"
    """Too hard: that model solves it less often than `solve_rate` allows."""


class Finding(Data):
    """A problem that a check found, which sends the draft back. `detail` says what and where it is, and what to do."""

    check: str
    cause: Cause
    hops: tuple[int, ...] = ()
    """Indices of the hops with the problem."""
    detail: str = ""
    searches: tuple[Searched, ...] = ()
    """The searches that show the problem."""


class Feedback(Data):
    """The feedback to the refiner: the only edge back in the loop."""

    label: Label
    cause: Cause
    message: str
    hops: tuple[int, ...] = ()


@slotted
class Round(Slotted):
    """A draft with its checks and rollouts. Round 0 is the generator's, later rounds are the refiner's."""

    index: int
    agent: Trajectory
    """The trajectory of the generator or refiner."""
    draft: Draft | None
    """None if the agent proposed nothing usable; `findings` says why."""
    tree: Tree | None = None
    """The tree that the draft was composed from, if a curator explored first."""
    findings: tuple[Finding, ...] = ()
    probes: tuple[Probe, ...] = ()
    checked: tuple[Probe, ...] = ()
    """The readers' answers about earlier drafts that the agent had checked; they do not concern this draft."""
    rollouts: tuple[Rollout, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    policy_rollouts: tuple[Rollout, ...] = ()
    """Rollouts of the model that the pairs are for, as many as were needed, if its solve rate is a target."""
    policy_verdicts: tuple[Verdict, ...] = ()
    feedback: Feedback | None = None
    """None for a candidate."""

    @property
    def graded(self) -> list[GradedRollout]:
        """Return the solver's rollouts with their verdicts."""
        return GradedRollout.join(self.rollouts, self.verdicts)

    @property
    def policy_graded(self) -> list[GradedRollout]:
        """Return the policy's rollouts with their verdicts."""
        return GradedRollout.join(self.policy_rollouts, self.policy_verdicts)

    @property
    def unsound(self) -> bool:
        return bool(self.findings)

    @property
    def answerable(self) -> bool:
        """Return whether a reader answered the question from its evidence. False if no reader was called."""
        return any(probe.check == "oracle" and probe.grounded for probe in self.probes)


class Status(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"


@slotted
class Lineage(Slotted):
    """The origin of a record."""

    run: str
    preset: str
    strategy: str
    model: str
    """The models of all roles, the generator's first, each once, joined by " + "."""
    demo_solver: int | None = None
    """The version of the demo model if it was the solver; None for any other solver."""
    corpus: str
    corpus_fingerprint: str
    licence: str
    attribution: str
    retriever: str
    """The retriever, with its analyser if that is not the English one, as in `lucene (german)`."""
    language: str = "unknown"
    """The language of the corpus: a code such as `en`, by its manifest or the user, else as detected."""
    as_of: str = ""
    """The year, month or day whose state of the world the corpus describes; empty if unknown."""
    trainable: bool = True
    """False if one of the models is the demo model, whose rows teach nothing, or forbids training on its outputs."""

    @property
    def by_demo(self) -> bool:
        return by_demo(self.model)


class Record(Data):
    """The journal line of one seed."""

    key: str
    seed: Seed
    status: Status
    reason: str
    """The text of `parsed_reason`, such as `below_range` or `no_draft:limits`; empty or `relaxed` if accepted."""
    rounds: tuple[Round, ...]
    confirmation: tuple[Rollout, ...] = ()
    """Fresh rollouts, if the solver's solve rate was the target or a policy of `digsite remeasure` solved it. Otherwise
    those of the last round measure the question."""
    confirmation_verdicts: tuple[Verdict, ...] = ()
    seekers: tuple[Rollout, ...] = ()
    """Rollouts of seekers, which look for shortcuts, if the solver solved the question. No model is trained on them."""
    seeker_verdicts: tuple[Verdict, ...] = ()
    again: tuple[Rollout, ...] = ()
    """Rollouts of fresh seekers, if the accepted pair was drawn for that; difficulty does not depend on them."""
    again_verdicts: tuple[Verdict, ...] = ()
    teacher_rollouts: tuple[TeacherRollout, ...] = ()
    """Rollouts of the teacher, by sample. Acceptance, difficulty and solve rate do not depend on them."""
    distractor_eval: DistractorEval | None = None
    """None if the run has no kinds of distractors, or the pair was not accepted."""
    twin: Twin | None = None
    """The attempts to change the question into one without an answer; None if the pair was not drawn for that."""
    missing: tuple[str, ...] = ()
    """The optional stages of an accepted pair (`distractors`, `teacher`, `policies`, `unanswerable`, `again`) that a
    timeout or an unreadable output left incomplete. `digsite complete` completes them, and reading joins the result."""
    lineage: Lineage
    known_to: tuple[PriorKnowledge, ...] = ()
    """How well the models know the answer to the final question from memory. It sends a draft back only if every model
    to be trained (`[models.policies]`) knows it in most tries."""
    skippable_hops: tuple[int, ...] = ()
    """Indices of unnecessary hops: an attack from the end (`end`) or a correct rollout found a later passage without
    them. An accepted pair has at least as many other hops as its target, unless the demo model solved it."""
    one_search: tuple[OneSearch, ...] = ()
    """The hits of one search with each retriever, the run's own first, if the pair was accepted and `retrieval.audit`
    names more retrievers."""
    agreed_answer: str = ""
    """A wrong answer to the final question on which two or more rollouts agree; it may be a second right answer."""
    naturalness: int | None = None
    """How natural the final question sounds, 1 to 5, by the reader of the check `naturalness`; None if it did not
    run."""
    assessments: tuple[Assessment, ...] = ()
    """The assessment of the run's own solver, if there were rollouts; those of policies are in `measurements`."""
    measurements: tuple[PolicyMeasurement, ...] = ()
    """For an accepted pair one measurement of each of `models.policies`, and if configured another of the same samples
    with the distractors (WITH_DISTRACTORS); then those of `digsite remeasure`, the latest last, which are stored beside
    the journal and joined on reading."""
    forks: tuple[Fork, ...] = ()
    """The forks of `digsite branch`, which are stored beside the journal and joined on reading."""

    @property
    def parsed_reason(self) -> Reason:
        return Reason.parse(self.reason)

    @property
    def usage(self) -> dict[str, Usage]:
        """Return the token usage of each role, over all rounds and stages; cache hits count as calls too."""
        usages_by_role: dict[str, list[Usage]] = {role: [] for role in ROLES}
        rollouts, verdicts = self.confirmation, self.confirmation_verdicts
        for round_ in self.rounds:
            rollouts += round_.rollouts
            verdicts += round_.verdicts
            usages_by_role["policy"] += [rollout.trajectory.usage for rollout in round_.policy_rollouts]
            usages_by_role["judge"] += [verdict.usage for verdict in round_.policy_verdicts]
            usages_by_role["refiner" if round_.index else "generator"].append(round_.agent.usage)
            usages_by_role["curator"] += [round_.tree.usage] if round_.tree else []
            usages_by_role["reader"] += [probe.usage for probe in (*round_.probes, *round_.checked)]
            usages_by_role["judge"] += [probe.judged for probe in round_.probes]
        usages_by_role["teacher"] += [taught.rollout.trajectory.usage for taught in self.teacher_rollouts]
        usages_by_role["solver"] += [rollout.trajectory.usage for rollout in rollouts]
        usages_by_role["seeker"] += [rollout.trajectory.usage for rollout in (*self.seekers, *self.again)]
        verdicts += (*self.seeker_verdicts, *self.again_verdicts, *(taught.verdict for taught in self.teacher_rollouts))
        usages_by_role["judge"] += [verdict.usage for verdict in verdicts]
        twins = self.twin.measurements if self.twin else ()
        stages = (self.distractor_eval, self.twin, *self.measurements, *twins)
        for stage_usages in (stage.usages for stage in stages if stage):
            for role, role_usages in stage_usages.items():
                usages_by_role[role] += role_usages
        return {role: Usage.total(stage_usages) for role, stage_usages in usages_by_role.items()}

    @property
    def original(self) -> str:
        """Return the user's original question; empty if the seed is a passage of the corpus."""
        return self.seed.passage.text if self.lineage.strategy == "harden" else ""

    @property
    def last(self) -> Round | None:
        """Return the last round with a draft.

        If a refiner finds nothing better, the seed ends with the draft before.
        """
        return next((round_ for round_ in reversed(self.rounds) if round_.draft), None)

    @property
    def draft(self) -> Draft | None:
        last = self.last
        return last.draft if last else None

    @property
    def graded(self) -> list[GradedRollout]:
        """Return all rollouts of the final question: those of its confirmation, then those of its round."""
        return [*self._confirmed, *(last.graded if (last := self.last) else ())]

    @property
    def _confirmed(self) -> list[GradedRollout]:
        return GradedRollout.join(self.confirmation, self.confirmation_verdicts)

    @property
    def measured(self) -> tuple[Verdict, ...]:
        """Return the verdicts that determine honest difficulty and solve rate.

        These are the confirmation's, else the last round's.
        """
        return self.confirmation_verdicts or ((last := self.last) and last.verdicts) or ()

    @property
    def step_counts(self) -> StepCounts:
        """Return the numbers of steps, over the solver's rollouts that measure the question and those of seekers."""
        honest = self._confirmed or (last.graded if (last := self.last) else [])
        return StepCounts.of(honest, GradedRollout.join(self.seekers, self.seeker_verdicts))

    @property
    def attacked_again(self) -> list[GradedRollout]:
        """Return the rollouts of fresh seekers on an accepted pair."""
        return GradedRollout.join(self.again, self.again_verdicts)

    @property
    def keeps_number(self) -> bool | None:
        """Return whether no fresh seeker found a shorter way. None without fresh seekers."""
        shorter = [v for v in self.again_verdicts if v.counts and v.steps < (self.difficulty or 0)]
        return not shorter if self.again_verdicts else None

    @property
    def is_solved(self) -> bool:
        """Return whether a rollout that measures it is correct. Then exports can include it even if it was rejected."""
        return bool(correct(self.measured))

    @property
    def confirmed(self) -> bool:
        """Return whether it was accepted, even if a gate dropped it afterwards."""
        return self.status is Status.ACCEPTED or self.parsed_reason.code == ReasonCode.GATE

    @property
    def hardness(self) -> tuple[int | None, float | None]:
        """Return difficulty and solve rate, computed together to save time."""
        measured = self.measured
        right = correct(measured)
        difficulty = self.step_counts.difficulty if self.seekers else least_steps(right)
        return difficulty, len(right) / len(measured) if measured else None

    @property
    def difficulty(self) -> int | None:
        """Return the steps of the shortest way that the solver or a seeker found.

        If no seeker ran or succeeded, only the solver's rollouts count. None if the question was solved by recall
        alone, or not at all.
        """
        return self.hardness[0]

    @property
    def solve_rate(self) -> float | None:
        return self.hardness[1]

    def measurement(self, policy: str) -> PolicyMeasurement | None:
        return next((measurement for measurement in reversed(self.measurements) if measurement.policy == policy), None)

    @property
    def opener(self) -> PolicyMeasurement | None:
        """Return the first measurement that meets the target.

        It confirms a question that was beyond the run's solver.
        """
        measurements = self.measurements if self.reason == ReasonCode.BEYOND_SOLVER else ()
        return next((m for m in measurements if (m.assessment.least_steps or 0) >= self.seed.target_steps), None)

    def find_assessment(self, policy: str = "") -> Assessment | None:
        if not policy:
            return self.assessments[0] if self.assessments else None
        return measurement.assessment if (measurement := self.measurement(policy)) else None

    def hardness_for(self, policy: str = "") -> tuple[int | None, float | None]:
        """Return the difficulty, and the solve rate of the policy of that name or of the run's own solver."""
        if not policy:
            return self.hardness
        assessment = self.find_assessment(policy)
        return self.difficulty, assessment.solve_rate if assessment else None
