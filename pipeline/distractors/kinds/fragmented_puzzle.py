"""`fragmented_puzzle`: several passages that each hold a part of the answer, locally plausible, and say so."""

from pipeline.distractors.kinds.base import DistractorKind

KIND = DistractorKind(passages=2)
