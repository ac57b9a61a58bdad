"""The values that all packages share, from passages to the record of a seed. This package may import `reward` alone.

All of them, `Data` and `Slotted`, are frozen and forbid unknown fields, so that the JSON form is the identity: the
journal states what ran. None contains seconds, money, URLs or timestamps: those are in `attempts.jsonl`, to which the
promise does not apply that the same configuration, corpus, cache and seed give the same bytes.
"""

from pipeline.reward.abstention import NOT_FOUND, refuses
from pipeline.types.assessment import DEMO_MODELS, DEMO_NOTE, KNOWN_TRIES, Assessment, PolicyMeasurement, by_demo
from pipeline.types.completed import CompletedStages
from pipeline.types.corpus import AsOf, Document, Hit, Passage, shown_id
from pipeline.types.data import Data, Slotted, sha256
from pipeline.types.distractor import Distractor, DistractorCheck, DistractorEval, Encounter, Outcome, TeacherRollout
from pipeline.types.fork import Branch, Fork
from pipeline.types.graph import Hop
from pipeline.types.model_probe import OneSearch, Probe, Searched, beyond_chance
from pipeline.types.question import PLAIN, AnswerItem, AnswerType, Draft, Given, NegativeAspect, Seed
from pipeline.types.reason import NoDraft, Reason, ReasonCode
from pipeline.types.record import ROLES, Cause, Feedback, Finding, Label, Lineage, Record, Round, Status
from pipeline.types.rollout import (
    Call,
    GradedRollout,
    Message,
    Rollout,
    Stop,
    ToolCall,
    Trajectory,
    Usage,
    Verdict,
    correct,
)
from pipeline.types.share import Share
from pipeline.types.target_range import TargetRange
from pipeline.types.tree import Node, Tree
from pipeline.types.twin import ChangedPremise, Twin, twin_draft, twin_key
