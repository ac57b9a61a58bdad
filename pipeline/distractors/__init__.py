"""RAGShaper's adversarial distractors (arXiv 2601.08699, Table 1), and distractors from the corpus.

Each passes checks, which RAGShaper lacks.
"""
