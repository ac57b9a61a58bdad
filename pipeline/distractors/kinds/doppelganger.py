"""`doppelganger`: a neighbouring case of the hop's topic (another year, release, namesake), with another value."""

from pipeline.distractors.kinds.base import DistractorKind

KIND = DistractorKind()
