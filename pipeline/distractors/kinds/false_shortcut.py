"""`false_shortcut`: a loose claim that leads from the start of a hop past its answer to the end of the next one."""

from pipeline.distractors.kinds.base import DistractorKind

KIND = DistractorKind(skipped_hops=1)
