"""`subjective_fallacy`: an opinion, in tone and in words, with one objective error inside it."""

from pipeline.distractors.kinds.base import DistractorKind

KIND = DistractorKind()
