"""RAGShaper's adversarial distractors (arXiv 2601.08699, Table 1), distractors from the corpus, and checks, which
RAGShaper lacks.

Each kind is a module of `kinds`, and the directory is the registry. A distractor is used only if it passes `checks`:
it can be retrieved, can be distinguished from its source, and is wrong.
"""
