"""A graph of two steps for tests: the first answer is hidden, the second step asks about it."""

from pipeline.types.graph import Citation, FoundStep, Graph


def make_citation(document: str, title: str, quote: str) -> Citation:
    return Citation(passage_id=f"{document}#0", title=title, sentences=(0,), quote=quote, passage_sha256="0" * 64)


def make_graph(answer: str, *, root: str = "Lantern Bay", page: str = "", quote: str = "", last: str = "Vess") -> Graph:
    first = FoundStep(
        id="hidden",
        sub_question=f"What does {root} belong to?",
        answer=answer,
        citation=make_citation("root", root, answer),
    )
    second = FoundStep(
        id="last",
        sub_question="What is the largest lake of {hidden}?",
        answer=last,
        needs=("hidden",),
        citation=make_citation("page", page or answer, quote or f"{answer} has the lake {last}."),
    )
    return Graph(steps=(first, second))
