"""Questions as puzzles: which unknowns, tied by which clues, and which one is asked for."""

import pytest

from pipeline.embedded.solver_clues import read

PUZZLES = {
    "Who directed Jaws?": ["<0> directed Jaws"],
    "Who is the wife of Kim Jong-chul?": ["<wife> of Kim Jong-chul"],
    "What is the date of birth of the performer of song Get Low (Dj Song)?": [
        "<performer> of song Get Low (Dj Song)",
        "<date> of <performer>",
    ],
    "When did the country where the city where Steven Blankaart was born is located refuse to surrender Namibia?": [
        "Steven Blankaart was born in <city>",
        "<city> is located in <country>",
        "<0> did <country> refuse to surrender Namibia",
    ],
    "Brett Talbot was born in a town that lies in a county that was named after a man. When was this man born?": [
        "<county> was named after <man>",
        "<town> lies in <county>",
        "Brett Talbot was born in <town>",
        "<0> was <man> born",
    ],
    "In what year was the university attended by the director of Jaws founded?": [
        "<director> of Jaws",
        "<university> attended by <director>",
        "In <0> was <university> founded",
    ],
    "When did the man who founded the party that N. T. Rama Rao belonged to die?": [
        "N. T. Rama Rao belonged to <party>",
        "<man> founded <party>",
        "<0> did <man> die",
    ],
    "What is the capital of the land formerly known as Ostmark?": [
        "<land> formerly known as Ostmark",
        "<capital> of <land>",
    ],
    "Where did Barry Wesson's team play?": ["<team> of Barry Wesson", "<0> did <team> play"],
    "Toad Hall is a residential hall in a university located in what Australian city?": [
        "<university> located in <0>",
        "Toad Hall is residential hall in <university>",
    ],
    "The film Wolf Totem was directed by a man. In what town was he born?": [
        "film Wolf Totem was directed by <man>",
        "In <0> was <man> born",
    ],
    "When is the director of film Double Adventure 's birthday?": [
        "<director> of film Double Adventure",
        "<birthday> of <director>",
    ],
}


@pytest.mark.parametrize(("question", "clues"), PUZZLES.items())
def test_clues(question: str, clues: list[str]) -> None:
    puzzle = read(question)

    def shown(item: str | int) -> str:
        if isinstance(item, str):
            return item
        asks = item == puzzle.ask and not any(f"<{puzzle.unknowns[item].head}>" in clue for clue in clues)
        return "<0>" if asks else f"<{puzzle.unknowns[item].head}>"

    assert sorted(" ".join(filter(None, map(shown, clue.items))) for clue in puzzle.clues) == sorted(clues)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who directed Jaws?", "person"),
        ("Where was Ada Holm born?", "place"),
        ("When was Ada Holm born?", "date"),
        ("In what year was Vessby founded?", "year"),
        ("How many people live in Vessby?", "number"),
        ("What is the cause of death of Ada Holm?", "thing"),
        ("Which band released Maiden Japan?", "org"),
        ("Which album did Iron Maiden release in 1981?", "work"),
        ("What is the name of the airport in Wilmington?", "thing"),
        ("Which county is Vessby in?", "place"),
    ],
)
def test_kind_of_answer(question: str, kind: str) -> None:
    puzzle = read(question)
    assert puzzle.unknowns[puzzle.ask].kind == kind


@pytest.mark.parametrize("text", ["", "?", "of of of", "Who", "the the the", '"', "'s 's", "Which which that who?"])
def test_no_text_is_beyond_it(text: str) -> None:
    puzzle = read(text)
    assert 0 <= puzzle.ask < len(puzzle.unknowns)
