"""RAGShaper's adversarial distractors (arXiv 2601.08699, Table 1) and ones that the corpus gives, one file each, with
the checks that it lacks.

A module is a kind, and the directory is the registry. What a model writes is used only where `checks` finds that it
can be met, can be distinguished from its source, and is wrong.
"""
