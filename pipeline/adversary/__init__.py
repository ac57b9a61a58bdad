"""What is done against an accepted pair: distractors written, checked, laid over its index, and tried on the solver."""

from pipeline.adversary.stage import UNDECIDED, oppose, unpaired

__all__ = ["UNDECIDED", "oppose", "unpaired"]
