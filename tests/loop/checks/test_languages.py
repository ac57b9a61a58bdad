"""A sound draft passes every check in any language, and a faulty one fails as an English one would."""

from typing import Any, NamedTuple, cast

import pytest

from pipeline.agents.grading import find_hop_steps, is_supported
from pipeline.agents.judge import NearMiss, decide
from pipeline.corpus import Corpus
from pipeline.loop.rival_answer import find_rival
from pipeline.loop.wording_review import find_faults
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.types import AnswerType, Draft, Passage
from tests.graph_drafts import chained, changed
from tests.loop.rollouts import make_rollout
from tests.passages import InMemory, hop, passage

K = 5


class Case(NamedTuple):
    """A corpus, a question over its first passages with one hop each, and what would spoil it."""

    passages: tuple[Passage, ...]
    question: str
    sub_questions: tuple[str, ...]
    answers: tuple[str, ...]
    kind: AnswerType
    rival: Passage
    """Gives another answer to the last hop."""
    other_writing: str
    """The answer as a solver may write it."""
    wrong: str


CHINESE = Case(
    passages=(
        passage("f", "灯塔湾", "《灯塔湾》是一部1962年的黑白电影。影片由林秋白导演，在海边小镇取景。"),
        passage("l", "林秋白", "林秋白是一位画家和电影人。他出生于青石镇，早年学习油画。"),
        passage("q", "青石镇", "青石镇坐落在沅水河畔。这座古镇由僧人建于1641年10月3日，以石桥闻名。"),
        passage("m", "白鹭镇", "白鹭镇是一座渔村。村民大多以捕鱼为生，每年举办龙舟比赛。"),
        passage("t", "天文台", "山顶的天文台是谁都可以参观的。晴朗的夜晚在那里可以看到银河。"),
        passage("s", "老街", "老街的茶馆是本地人的去处。客人在家里也能喝到这里的茶。"),
        passage("w", "钟楼", "钟楼始终是全城最高的建筑。它于何年失火，史书里没有记载。"),
    ),
    question="执导《灯塔湾》的那位艺术家，他的故乡是哪一天奠基的？",
    sub_questions=("《灯塔湾》的导演是谁？", "林秋白的老家在哪里？", "青石镇始建于何时？"),
    answers=("林秋白", "青石镇", "1641年10月3日"),
    kind=AnswerType.DATE,
    rival=passage("r", "沅水古镇志", "据县志记载，青石镇这座古镇由僧人建于1702年5月1日，以石桥闻名。"),
    other_writing="１６４１年１０月３日。",
    wrong="1641年10月4日",
)
GERMAN = Case(
    passages=(
        passage("f", "Leuchtturmbucht", "Leuchtturmbucht ist ein Stummfilm. Regie führte die Malerin Ada Höhn."),
        passage("h", "Ada Höhn", "Ada Höhn war eine Malerin. Aufgewachsen ist Ada Höhn in Großwesel."),
        passage(
            "g",
            "Großwesel",
            "Großwesel liegt an der Tarne. Das Stadtrecht erhielt Großwesel am 3. Oktober 1641 durch Mönche.",
        ),
        passage("x", "Kleinwesel", "Kleinwesel ist ein Dorf mit z.B. zwei Mühlen. Ölmühlen gibt es dort seit 1702."),
        passage("y", "Tarne", "Die Tarne ist ein Fluss. Über ihn führen 1.234.567 Steine einer alten Brücke."),
    ),
    question="Wann wurde der Ort, aus dem die Regisseurin von Leuchtturmbucht stammt, zur Stadt erhoben?",
    sub_questions=("Wer drehte Leuchtturmbucht?", "Woher kommt Ada Höhn?", "An welchem Tag wurde Großwesel zur Stadt?"),
    answers=("Ada Höhn", "Großwesel", "3. Oktober 1641"),
    kind=AnswerType.DATE,
    rival=passage(
        "r", "Chronik von Großwesel", "Das Stadtrecht erhielt Großwesel am 5. Mai 1702 durch Mönche des Klosters."
    ),
    other_writing="3. OKTOBER 1641.",
    wrong="4. Oktober 1641",
)
FRENCH = Case(
    passages=(
        passage(
            "f", "Baie du Phare", "Baie du Phare est un film muet. La mise en scène est de la peintre Ada Hénault."
        ),
        passage("h", "Ada Hénault", "Ada Hénault était une peintre. Son enfance se passa à Évreuil."),
        passage(
            "g", "Évreuil", "Évreuil borde la Tarne. La charte d'Évreuil fut accordée le 3 octobre 1641 aux moines."
        ),
        passage("x", "Petit-Évre", "Petit-Évre est un hameau avec deux moulins. On y fait de l'huile depuis 1702."),
        passage("y", "Tarne", "La Tarne est une rivière. Un vieux pont de pierre la franchit."),
    ),
    question="Quand la ville d'où vient la réalisatrice de Baie du Phare obtint-elle ses droits ?",
    sub_questions=(
        "Qui tourna Baie du Phare ?",
        "D'où vient Ada Hénault ?",
        "Quel jour Évreuil devint-elle une ville ?",
    ),
    answers=("Ada Hénault", "Évreuil", "3 octobre 1641"),
    kind=AnswerType.DATE,
    rival=passage("r", "Chronique", "La charte d'Évreuil fut accordée le 5 mai 1702 aux moines de l'abbaye."),
    other_writing="3 OCTOBRE 1641.",
    wrong="4 octobre 1641",
)
JAPANESE = Case(
    passages=(
        passage("f", "灯台湾", "『灯台湾』は1962年の白黒映画である。監督は林秋子が務め、海辺の村で撮影された。"),
        passage("l", "林秋子", "林秋子は画家である。生まれは青石町で、若い頃に油絵を学んだ。"),
        passage(
            "q", "青石町", "青石町は沅川のほとりにある。町は1641年10月3日に僧侶たちによって開かれ、石橋で知られる。"
        ),
        passage("m", "白鷺村", "白鷺村は漁村である。住民の多くは漁業で暮らし、毎年祭りを開く。"),
        passage("t", "天文台", "山の上の天文台は誰でも見学できる。どこからでも見える故郷の星空がある。"),
        passage("s", "茶店", "古い茶店はいつも客で混む。女性の客は家でもこの茶を飲み、故郷を思う。"),
        passage("w", "鐘楼", "鐘楼はいつ焼けたか記録がない。何年何月に成立したかも知られない。"),
    ),
    question="『灯台湾』を撮った女性の故郷は、何年何月何日に成立したか？",
    sub_questions=("『灯台湾』を撮ったのは誰か？", "林秋子の故郷はどこか？", "青石町はいつ成立したか？"),
    answers=("林秋子", "青石町", "1641年10月3日"),
    kind=AnswerType.DATE,
    rival=passage("r", "町誌", "記録では、青石町の町は1702年5月1日に僧侶たちによって開かれ、石橋で知られるという。"),
    other_writing="１６４１年１０月３日。",
    wrong="1641年10月4日",
)
ARABIC = Case(
    passages=(
        passage("f", "خليج المنارة", "خليج المنارة فيلم صامت قديم. أخرجته الرسامة ليلى الحسن على الساحل."),
        passage("h", "ليلى الحسن", "ليلى الحسن رسامة معروفة. كانت طفولتها بالزيتونة بين أشجار كثيرة."),
        passage(
            "g", "الزيتونة", "الزيتونة بلدة على نهر صغير. نالت الزيتونة ميثاقها من الرهبان في 3 أكتوبر 1641 قرب الجسر."
        ),
        passage("x", "القصبة", "القصبة قرية فيها طاحونتان. يصنع أهلها الزيت منذ 1702."),
        passage("y", "النهر", "هذا النهر طويل وعميق. عليه جسر قديم من الحجر."),
    ),
    question="متى صارت موطن مخرجة خليج المنارة مدينة؟",
    sub_questions=("من صور خليج المنارة؟", "ما موطن ليلى الحسن؟", "متى صارت الزيتونة مدينة؟"),
    answers=("ليلى الحسن", "الزيتونة", "3 أكتوبر 1641"),
    kind=AnswerType.DATE,
    rival=passage("r", "سجل", "نالت الزيتونة ميثاقها من الرهبان في ٥ مايو ١٧٠٢ قرب الجسر القديم."),
    other_writing="٣ أكتوبر ١٦٤١.",
    wrong="4 أكتوبر 1641",
)
ALL = {"Chinese": CHINESE, "German": GERMAN, "French": FRENCH, "Japanese": JAPANESE, "Arabic": ARABIC}
CASES = pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())


def make_draft(case: Case, **changes: Any) -> Draft:
    hops = [
        hop(source, answer, sub_question, second_sentence(source.text))
        for sub_question, answer, source in zip(case.sub_questions, case.answers, case.passages, strict=False)
    ]
    draft = chained(case.question, hops, answer=case.answers[-1], answer_type=case.kind, answer_precision="day")
    return changed(draft, **changes)


def second_sentence(text: str) -> str:
    return text.split("。", 1)[1] if "。" in text else text.split(". ", 1)[1]


async def run_checks(case: Case, draft: Draft, *extra: Passage) -> list[str]:
    retriever = Bm25Retriever(cast(Corpus, InMemory((*case.passages, *extra))))
    return [finding.check for finding in (*find_faults(draft), *await find_rival(draft, retriever, K))]


@CASES
async def test_a_right_draft_passes_every_check(case: Case) -> None:
    assert await run_checks(case, make_draft(case)) == []


@CASES
async def test_a_rival_in_the_corpus_is_reported(case: Case) -> None:
    assert await run_checks(case, make_draft(case), case.rival) == ["rival_answer"]


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (GERMAN, "Mönche brachten es fertig, dass am 5. Mai 1702 Großwesel Stadtrecht erhielt."),
        (CHINESE, "青石镇这古镇是僧人建的，时为1702年5月1日，石桥闻名。"),
    ],
    ids=["German", "Chinese"],
)
async def test_a_rival_may_use_other_function_words(case: Case, text: str) -> None:
    assert await run_checks(case, make_draft(case), passage("r", "Chronik", text)) == ["rival_answer"]


@CASES
async def test_a_wording_that_asks_nothing_or_tells_the_answer_fails(case: Case) -> None:
    tells = f"{case.question[:-1]} {case.answers[-1]}{case.question[-1]}"
    for question in (case.question[:-1] + ".", tells):
        assert await run_checks(case, make_draft(case, question=question)) == ["wording"]


@CASES
def test_answers_are_graded_alike(case: Case) -> None:
    gold = {"question": case.question, "answer": case.answers[-1], "answer_type": case.kind}
    assert decide(NearMiss(**gold, response=case.other_writing))
    assert not decide(NearMiss(**gold, response=case.wrong))


@CASES
def test_evidence_of_a_rollout_may_stand_in_other_passages(case: Case) -> None:
    draft, home = make_draft(case), case.passages[2]
    elsewhere = passage("z", "Z", home.text.replace("1641", "１６４１"))

    for source in (home, elsewhere):
        assert is_supported(draft, make_rollout([source]))
        assert find_hop_steps(draft, make_rollout([source]))[2] == 1
    assert not is_supported(draft, make_rollout([case.passages[3]]))
    assert find_hop_steps(draft, make_rollout([case.passages[3]])) == (None, None, None)
