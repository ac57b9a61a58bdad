"""Which passages may start a question, and on which side a document lies."""

from collections import Counter

import pytest

from pipeline.corpus import Corpus
from pipeline.corpus.seed_passages import REFUSALS, explain_refusals, quality
from pipeline.corpus.train_eval_split import side
from pipeline.types import Passage

FILL = "and it went on like that for a good many more words than anybody would have thought possible on that day"


def make_passage(text: str, title: str = "Thing") -> Passage:
    return Passage(id="d#0", document_id="d", title=title, text=text, start=0, end=len(text))


@pytest.mark.parametrize(
    ("text", "title", "reason"),
    [
        (f"The thing was made in 1920 by the firm of Arden, {FILL}.", "Thing", None),
        ("The thing was made in 1920.", "Thing", "too_short"),
        (f"Mercury may refer to: a planet, an element and a god, {FILL}. In 1920 too.", "Mercury", "disambiguation"),
        (f"The thing was made in 1920 by Arden, {FILL}.", "Mercury (disambiguation)", "disambiguation"),
        (f"It was made in 1920 by Arden, {FILL}. The word may refer to its colour.", "Mill", None),
        (f"The things were made in 1920 by Arden, {FILL}.", "List of things", "list"),
        ("\n".join(f"Entry {n} of the year: {n} apples" for n in range(9)), "Apples", "list"),
        (f"The thing is a thing of the kind that most things are, {FILL}.", "Thing", "no_fact"),
    ],
)
def test_a_passage_is_dropped_for_a_named_reason(text: str, title: str, reason: str | None) -> None:
    assert quality(make_passage(text, title)) == reason


ANCIENT = "这座古镇由僧人建于明朝，以石桥闻名，镇上的老街保存完好，每年吸引许多游客前来参观。"
RUSSIAN = (
    "Этот старый город стоит на берегу широкой реки, и его каменный мост, построенный монахами, знают все, кто хоть "
)
DISTRICT = (
    "Die Stadt Großwesel liegt an der Tarne und ist wegen ihrer alten steinernen Brücke, die Mönche bauten, weit über "
)


@pytest.mark.parametrize(
    ("text", "title", "reason"),
    [
        (ANCIENT * 2, "青石镇", None),
        ("这座古镇以石桥闻名。", "青石镇", "too_short"),
        (f"青石可以指：{ANCIENT * 2}", "青石", "disambiguation"),
        (ANCIENT * 2, "青石（消歧义）", "disambiguation"),
        (ANCIENT * 2, "古镇列表", "list"),
        ("\n".join(f"第{n}座古镇，石桥与老街，茶馆" for n in range(9)), "古镇", "list"),
        ("\n".join([ANCIENT] * 5), "古镇", None),
        (f"{RUSSIAN}раз бывал в этих местах летом или зимой.", "Город", None),
        (f"{DISTRICT}die Grenzen des Landes hinaus bekannt und gern besucht.", "Großwesel", None),
        (f"{DISTRICT}die Grenzen des Landes hinaus bekannt und gern besucht.", "Liste der Orte", "list"),
    ],
)
def test_passages_of_other_languages_follow_the_same_rules(text: str, title: str, reason: str | None) -> None:
    assert quality(make_passage(text, title)) == reason


PLAIN = {
    "de": "Wenn das Programm nicht mehr antwortet, warten Sie einen Augenblick und versuchen dann, die Datei erneut zu "
    "öffnen, denn meist liegt der Fehler nur daran, dass eine andere Anwendung sie gerade gesperrt hat",
    "fr": "Si le programme ne répond plus, attendez un instant et essayez ensuite de rouvrir le fichier, car souvent "
    "l'erreur vient seulement de ce qu'une autre application le tient encore verrouillé pour elle seule",
    "ru": "Если программа больше не отвечает, подождите немного и попробуйте открыть файл ещё раз, потому что "
    "ошибка состоит лишь в том, что другое приложение держит его закрытым для всех остальных программ в это время",
}
NAMES = {
    "de": ("von Ada Höhn", "unter GNOME", "der Stadt Großwesel", "mit OpenOffice", "in Berlin"),
    "fr": ("d'Évreuil", "à Évreuil", "de la « Grande Baie »", "par Ada Hénault"),
    "ru": ("из Москвы", "по словам Анны Волковой"),
}


@pytest.mark.parametrize("language", PLAIN)
def test_names_are_recognized_by_the_rules_of_the_language(language: str) -> None:
    """A capital alone is no name in German, where every noun has one."""
    plain = PLAIN[language]
    assert quality(make_passage(f"{plain}."), language) == "no_fact"
    assert quality(make_passage(f"{plain}, 1641."), language) is None
    for name in NAMES[language]:
        assert quality(make_passage(f"{plain}, {name}."), language) is None, name


def test_scripts_without_capitals_have_the_benefit_of_the_doubt() -> None:
    assert quality(make_passage(ANCIENT * 2), "zh") is None
    assert (
        quality(make_passage("تقع البلدة على ضفة النهر وتشتهر بجسرها الحجري القديم الذي بناه الرهبان " * 3), "ar")
        is None
    )


def test_an_english_passage_follows_english_rules_in_any_corpus() -> None:
    english = f"The thing was made by the firm of Arden, {FILL}."
    assert [quality(make_passage(english), language) for language in ("en", "de", "zh")] == [None] * 3
    assert quality(make_passage(f"The thing was a thing of the kind that most things are, {FILL}."), "zh") == "no_fact"


@pytest.mark.parametrize(
    ("text", "title", "language"),
    [
        (f"青石には、以下のものを指す。{ANCIENT * 2}", "青石", "ja"),
        (f"{PLAIN['fr']}.", "Liste d'Évreuil", "fr"),
        ("قد تشير الزيتونة إلى بلدة أو شجرة أو رواية قديمة كتبها أحد الرهبان " * 3, "الزيتونة", "ar"),
        ("تقع البلدة على ضفة النهر وتشتهر بجسرها الحجري القديم " * 4, "قائمة البلدات", "ar"),
    ],
)
def test_lists_and_disambiguations_are_recognized_in_each_language(text: str, title: str, language: str) -> None:
    assert quality(make_passage(text, title), language) in ("list", "disambiguation")


def test_the_filter_keeps_articles(tiny: Corpus) -> None:
    assert Counter(map(quality, tiny.passages)) == {None: 41}


def test_a_twentieth_of_the_documents_is_held_out() -> None:
    held_out = sum(side(f"document {n}") == "eval" for n in range(20_000))
    assert 900 < held_out < 1100


def test_a_document_never_changes_its_side() -> None:
    # Written down: a change here moves documents between splits of data sets that are out already.
    assert [n for n in range(100) if side(f"d{n}") == "eval"] == EVAL


EVAL = [4, 5, 11, 15, 49, 58, 77, 96, 99]


def test_every_refusal_is_explained_in_words() -> None:
    assert explain_refusals({"too_short": 2, "list": 1200, "disambiguation": 0, "no_fact": 1}).startswith(
        "list 1,200: most of its lines are short and end without a full stop, as in lists, tables and verse"
    )
    bodies = ("Too short.", f"Mill may refer to a mill, {FILL}", "one\ntwo\n" * 20, "of no name " * 20)
    assert {quality(make_passage(body)) for body in bodies} == REFUSALS.keys()
