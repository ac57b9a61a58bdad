"""The solver's own word lists: what kind of thing a noun asks for, which words tell a relation, and the nations.

Drawn up by hand from general knowledge and the gold questions of HotpotQA, 2WikiMultihopQA and MuSiQue alone.
"""

import re
from functools import lru_cache

from pipeline.text import words

STOP = frozenset(
    "a an the of in on at by to from for with and or is are was were be been being am do does did has have had will "
    "would can could may might shall should must that which who whom whose what when where why how this these those "
    "it its he his him she her they their them there as into than then also both either one ones any some such same "
    "not no if so but about during after before under over between s t i you we us our your own name known term "
    "many much".split()
)
_PERSON = frozenset(
    "who person man woman human boy girl actor actress singer king queen prince princess emperor empress duke earl "
    "count husband wife spouse father mother parent son daughter child brother sister sibling uncle aunt cousin "
    "nephew niece grandfather grandmother grandson granddaughter politician musician president premier coach "
    "guitarist drummer artist poet chef general saint bishop pope star host monarch ruler individual politician "
    "lawyer architect journalist scientist biologist chemist mathematician cricketer athlete wrestler swimmer model "
    "rapper dj captain governor mayor senator minister chairman ceo founder figure character receiver winner leader "
    "owner partner stepmother stepfather in-law student teacher chancellor commander officer admiral judge fellow "
    "hero nobleman noblewoman spy successor predecessor friend".split()
)
_PLACE = frozenset(
    "where place birthplace city town village country nation state county province region district territory "
    "continent island river lake mountain peak sea ocean bay capital municipality township commune borough parish "
    "area location neighborhood neighbourhood suburb community settlement hometown homeland republic kingdom empire "
    "prefecture canton land hamlet desert valley waterfall park peninsula port range coast canal creek reservoir "
    "department governorate oblast raion voivodeship nationality citizenship residence".split()
)
_ORG = frozenset(
    "band group team club company organization organisation university college school institution institute academy "
    "church party agency network station label publisher league association corporation firm bank airline museum "
    "library hospital newspaper magazine journal orchestra choir army navy union studio franchise manufacturer "
    "broadcaster committee council brand duo trio employer department federation society foundation regiment "
    "division tribe".split()
)
_WORK = frozenset(
    "film movie song album book novel series show game play opera musical single episode poem story painting work "
    "comic manga soundtrack sitcom drama documentary sequel trilogy symphony cartoon program programme magazine "
    "ballet".split()
)
TIED = frozenset(
    "birthplace nationality citizenship hometown capital birth origin residence label publisher network employer "
    "broadcaster owner successor predecessor studio manufacturer sequel location area territory".split()
)
"""Heads of those kinds that say a relation, not only what kind of thing is meant."""
_BARE = frozenset(
    "who what which when where how why person man woman human boy girl one thing individual year date day "
    "many much".split()
)
_MORE = re.compile(r"(?:er|or|ist|ian|man|woman|eer)$")
_NOT_PERSON = frozenset(
    "number order water river power year under center tower paper member letter sister color flower computer "
    "chapter weather quarter manner matter offer cover border shoulder summer winter corner order layer master "
    "senator error factor sector motor minor major interior exterior labor harbor harbour meter gender murder "
    "powder transfer other another former latter either disaster cluster register theater theatre charter cancer "
    "answer fever liver list".split()
)
KINDS = ("person", "place", "org", "work", "date", "year", "number", "thing")


def kind(head: str) -> str:
    """Which kind of answer a head noun asks for; `thing` where the word tells nothing."""
    word = singular(head.casefold().split()[-1]) if head.split() else ""
    for name, members in (("person", _PERSON), ("place", _PLACE), ("org", _ORG), ("work", _WORK)):
        if word in members:
            return name
    if word in ("date", "birthday", "birthdate", "when", "day", "month"):
        return "date"
    if word in ("year", "decade"):
        return "year"
    if word in ("population", "percentage", "number", "amount", "count", "percent", "total", "length", "height"):
        return "number"
    return "person" if _MORE.search(word) and word not in _NOT_PERSON and len(word) > 4 else "thing"


def plain(head: str) -> bool:
    """Does the noun only say what kind of thing is meant ("a town that ..."), no relation ("the mother of ...")?"""
    return head not in TIED and (head in _PLACE or head in _ORG or head in _WORK or head in _BARE)


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4 and word not in ("series", "species"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "series")) and len(word) > 3:
        return word[:-1]
    return word


_IRREGULAR = dict(
    pair.split(":")
    for pair in (
        "wrote:write written:write writer:write writing:write won:win winner:win winning:win led:lead leader:lead "
        "sang:sing sung:sing singer:sing born:birth birth:birth birthplace:birth birthday:birth birthdate:birth "
        "died:death dies:death die:death dead:death death:death dying:death built:build began:begin begun:begin "
        "fought:fight held:hold made:make maker:make ran:run taught:teach teacher:teach grew:grow founded:found "
        "founder:found founding:found foundation:found married:marry marriage:marry marry:marry marries:marry "
        "spoke:speak spoken:speak became:become bought:buy sold:sell chose:choose chosen:choose gave:give "
        "given:give took:take taken:take went:go left:leave lost:lose met:meet paid:pay said:say sent:send "
        "stood:stand thought:think wore:wear worn:wear lives:live living:live lived:live life:live starring:star "
        "starred:star stars:star star:star flew:fly directed:direct director:direct directing:direct "
        "direction:direct directs:direct composed:compos composer:compos composition:compos published:publish "
        "publisher:publish publication:publish located:locat location:locat location:locat headquarters:headquarter "
        "headquartered:headquarter belongs:belong owner:own owned:own owns:own creator:creat created:creat "
        "creation:creat invented:invent inventor:invent performed:perform performer:perform performing:perform "
        "produced:produc producer:produc production:produc designed:design designer:design educated:educat "
        "education:educat attended:attend nationality:national citizen:citizen citizenship:citizen cities:city "
        "countries:country"
    ).split()
)
_SUFFIX = re.compile(r"(?:ations?|ings?|ers?|ors?|edly|ed|es|s|ly|e|y|ies|ied)$")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A rough stem, the same for verb and agent noun ("directed", "director")."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 5 or word.isdigit():
        return singular(word) if len(word) > 3 else word
    cut = _SUFFIX.sub("", word, count=1)
    if len(cut) < 3:
        cut = word
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls" else cut


def stems(text: str) -> tuple[str, ...]:
    """Stems of the content words, in order."""
    return tuple(stem(word) for word in words(text) if word not in STOP)


# Words of a question (stems) → stems that state the same relation in an article.
RELATED = {
    key: frozenset(value.split())
    for key, value in {
        "perform": "sing record releas single album song perform artist band musician",
        "author": "write novel author publish",
        "write": "author write novel written",
        "compos": "music compos score songwrit write",
        "spous": "marry wife husband spous",
        "wife": "marry spous",
        "husband": "marry wife spous",
        "marry": "wife husband spous",
        "father": "son daught child father",
        "mother": "son daught child birth mother",
        "parent": "son daught child birth",
        "child": "son daught child father mother",
        "son": "child father mother",
        "daught": "child father mother",
        "sibl": "broth sist",
        "broth": "sibl sist",
        "sist": "sibl broth",
        "country": "nation republic national",
        "citizen": "national",
        "national": "national",
        "educat": "attend graduat studi university college school alma",
        "attend": "educat graduat studi university college school",
        "graduat": "educat attend studi university college school",
        "studi": "educat attend graduat",
        "alma": "educat attend graduat studi",
        "employ": "work teach professor",
        "work": "employ",
        "found": "establish creat form start form",
        "establish": "found creat form",
        "creat": "found establish invent design",
        "form": "found establish",
        "start": "begin found establish launch",
        "begin": "start launch",
        "releas": "publish premier issu",
        "publish": "releas issu",
        "premier": "releas debut",
        "locat": "situat lie headquarter base",
        "situat": "locat lie",
        "headquarter": "base locat",
        "base": "headquarter locat",
        "own": "acquir buy subsidi parent",
        "play": "star portray appear role play",
        "portray": "play star role",
        "star": "play portray role featur cast",
        "featur": "star",
        "death": "death kill",
        "caus": "heart cancer attack suicid kill accident stroke",
        "birth": "birth nativ",
        "bury": "inter cemet grave",
        "capital": "capital",
        "border": "bound adjac neighbor neighbour",
        "popul": "inhabit popul resid census peopl",
        "inhabit": "popul resid",
        "peopl": "popul inhabit",
        "belong": "member",
        "member": "belong join",
        "team": "play club",
        "genre": "music",
        "label": "record releas",
        "distribut": "releas",
        "character": "role play",
        "flow": "tributari mouth empt drain",
        "mouth": "flow empt tributari",
        "tributari": "flow empt",
        "win": "award receiv champion",
        "award": "win receiv honor honour",
        "die": "death",
        "make": "record creat produc",
        "tall": "height metre foot",
        "high": "elevation height",
        "elevat": "elevation altitud",
        "us": "united",
        "begun": "start",
        "charge": "president premier minist leader",
        "ruler": "king emperor president",
        "rul": "king emperor govern",
        "gave": "give",
        "succeed": "successor follow",
    }.items()
}


_MEANINGS: dict[str, frozenset[str]] = {}
for _key, _values in RELATED.items():
    _MEANINGS[stem(_key)] = _MEANINGS.get(stem(_key), frozenset()) | _values | {stem(value) for value in _values}


@lru_cache(maxsize=65536)
def meanings(question_stem: str) -> frozenset[str]:
    """The stem itself and those that may stand for it in an article."""
    return _MEANINGS.get(question_stem, frozenset()) | {question_stem}
