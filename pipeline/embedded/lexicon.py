"""The generator's words: what sort of thing a noun names, the forms of verbs, and what is too common to ask about.

The nouns are the heads of first sentences in English Wikipedia, by frequency; verb forms beyond the irregular ones come
from the lexicon in TextBlob's wheel.
"""

from functools import cache, lru_cache

PERSON, PLACE, GROUP, WORK, EVENT, OTHER = "person", "place", "group", "work", "event", "other"

_NOUNS = {
    PERSON: """person man woman boy girl actor actress singer footballer politician coach golfer writer
        filmmaker novelist
        composer driver pitcher racer musician rapper cyclist comedian wrestler author businessman businesswoman
        executive playwright architect artist skier outfielder runner drummer athlete linebacker quarterback lawyer poet
        cricketer receiver attorney soldier vocalist sculptor official pianist jurist defenceman defenseman
        skater engineer
        bassist swimmer songwriter statesman sprinter guitarist bishop judge cartoonist wife dancer journalist boxer
        clergyman critic professor referee fielder illustrator trumpeter entrepreneur defender mobster goaltender tenor
        chef presenter striker chemist activist physicist brother editor socialite founder king queen emperor prince
        princess duke model philosopher mathematician historian economist priest general admiral officer scientist
        midfielder goalkeeper forward catcher baseman shortstop lineman player personality celebrity host
        anchor saxophonist
        screenwriter director producer senator governor president mayor diplomat explorer painter photographer biologist
        rower fencer gymnast diver jockey sailor umpire manager businessperson martial theologian monarch ruler noble
        nobleman aristocrat heiress pope saint missionary spy aviator astronaut pilot inventor nurse physician surgeon
        soprano baritone conductor violinist cellist organist essayist biographer translator publisher magnate
        philanthropist activist suffragist reformer revolutionary dictator warlord commander settler cornerback
        fullback halfback tackle guard kicker punter infielder winger centre-back speedskater biathlete snowboarder
        surfer bowler batsman all-rounder wicket-keeper disc-jockey dj deejay animator puppeteer magician impressionist
        broadcaster sportscaster anchorman reporter columnist blogger youtuber developer programmer designer
        investor banker
        financier industrialist merchant sociologist psychologist anthropologist archaeologist linguist
        astronomer geologist
        botanist zoologist naturalist rabbi imam monk nun abbot cardinal archbishop preacher pastor evangelist cleric
        barrister solicitor prosecutor criminal outlaw gangster pirate murderer racing-driver wrestler strongman
        weightlifter bodybuilder triathlete marathoner pole-vaulter hurdler jumper thrower lyricist arranger
        multi-instrumentalist
        bandleader crooner violist harpist flautist percussionist keyboardist""",
    PLACE: """city town village hamlet county district region province state country island river lake mountain
        hill valley
        suburb borough neighborhood neighbourhood municipality commune township prefecture territory area archipelago
        peninsula bay strait sea ocean desert forest park stadium arena ground venue building house castle palace
        church cathedral temple mosque monastery abbey museum theatre theater hall hospital hotel airport station
        street road highway bridge dam mall skyscraper tower fortress fort resort campus cemetery capital parish
        settlement community location site port harbor harbour canal coast beach cape glacier peak volcano canyon
        garden zoo square market plaza center centre complex facility gallery library circuit track raceway speedway
        ballpark racecourse racetrack course reservoir inlet estuary creek stream tributary plateau subregion arm
        emirate kingdom empire oblast voivodeship department governorate seat barony locality ward constituency
        manor mansion estate farm ranch mill lighthouse observatory prison jail crater pass landform metropolis""",
    GROUP: """band group team club company corporation university college school institute academy organization
        organisation organizer organiser
        agency association league conference party label duo trio quartet orchestra choir ensemble studio
        network channel
        airline conglomerate publisher body union federation council committee ministry regiment battalion squadron
        unit wing corps army navy force division brigade fleet court church-body foundation society charity bank
        brand manufacturer retailer chain firm business institution seminary franchise dynasty family tribe people
        government department-store service provider promotion troupe newspaper station-network supergroup boyband
        boy-band girl-group crew gang militia alliance coalition board commission bureau""",
    WORK: """film movie series song album novel book game single play opera musical sitcom miniseries show soundtrack
        documentary drama comedy episode cartoon magazine newspaper story poem painting sculpture artwork trilogy
        franchise program programme broadcast production collection anthology record track ep mixtape compilation
        symphony concerto ballet telenovela anime manga comic webcomic strip thriller western remake sequel prequel
        adaptation podcast journal video demo suite cantata hymn anthem telefilm featurette short biopic
        romance horror fantasy melodrama whodunit""",
    EVENT: """tournament competition championship season race event edition battle war match final cup festival ceremony
        pageant election campaign draft tour game-event round stage playoff games siege treaty conflict operation
        massacre earthquake hurricane storm fire accident disaster crash riot protest revolution rebellion contest
        meet grand-prix olympics bowl title conference-event expedition""",
}  # fmt: skip
KIND = {noun: kind for kind, nouns in reversed(_NOUNS.items()) for noun in nouns.split()}
_NOT_PEOPLE = frozenset(
    """character river theater theatre center number chapter tower order cover tour container coaster newspaper computer
    cruiser carrier destroyer bomber fighter thriller chamber quarter border water power liner steamer order matter
    super computer trailer speaker cancer disorder fiber sensor motor tractor reactor factor sector error mirror color
    flavor monitor indicator list twist assist woman's processor operator-system sister-ship master semester
        manuscript""".split()
)

SAME = tuple(
    frozenset(group.split())
    for group in (
        "film movie picture documentary drama comedy thriller sequel feature",
        "university school college institution institute academy",
        "stadium venue arena ground facility ballpark",
        "company firm corporation business",
        "series show program programme sitcom miniseries drama",
        "album record release soundtrack",
        "song single track",
        "team club franchise side",
        "band group duo trio quartet",
        "book novel",
        "game title",
        "tournament competition championship event",
        "city town municipality capital settlement",
    )
)
"""Heads that "the ..." may use for one and the same thing within a passage."""

VAGUE = frozenset(
    """name term list type kind form part one member version word concept phrase surname way thing set number series-of
    people american r d e first second third end subject level list-of title class
    example result selection process use method system status position role head jazz soccer""".split()
)
"""Heads that do not tell what the subject is."""

HUBS = frozenset(
    """united states|united kingdom|england|scotland|wales|ireland|great britain|canada|australia|new zealand|
india|china|japan|
    france|germany|italy|spain|russia|soviet union|brazil|mexico|argentina|europe|asia|africa|north america|
south america|
    america|earth|world war i|world war ii|english|french|german|spanish|hollywood|the beatles|netherlands|
belgium|poland|
    sweden|norway|denmark|finland|turkey|greece|portugal|switzerland|austria|south korea|north korea|pakistan|
israel|iran|
    egypt|south africa|nigeria|philippines|indonesia|thailand|vietnam|new york city|london|los angeles|new york|
california|
    texas|florida|illinois|ohio|pennsylvania|georgia|michigan|north carolina|new jersey|virginia|washington|arizona|
    massachusetts|tennessee|indiana|missouri|maryland|wisconsin|colorado|minnesota|south carolina|alabama|
louisiana|kentucky|
    oregon|oklahoma|connecticut|utah|iowa|nevada|arkansas|mississippi|kansas|new mexico|nebraska|idaho|hawaii|paris|
    internet|jesus|god|christianity|islam|latin|roman empire|cold war|chicago|european union|northern ireland|
hong kong""".replace("\n", "").split("|")
)
HUBS = frozenset(name.strip() for name in HUBS)
"""Names that half of any encyclopaedia leads to: no link and no answer."""

_PAST = """be was been|have had had|do did done|go went gone|write wrote written|win won won|lose lost lost|
sing sang sung|
begin began begun|become became become|lie lay lain|lead led led|leave left left|make made made|meet met met|
take took taken|
give gave given|get got got|hold held held|run ran run|see saw seen|speak spoke spoken|sell sold sold|send sent sent|
fight fought fought|find found found|fall fell fallen|rise rose risen|grow grew grown|draw drew drawn|fly flew flown|
break broke broken|bring brought brought|build built built|buy bought bought|teach taught taught|come came come|
choose chose chosen|drive drove driven|know knew known|feel felt felt|hear heard heard|keep kept kept|pay paid paid|
say said said|set set set|shoot shot shot|sit sat sat|spend spent spent|stand stood stood|swim swam swum|tell told told|
think thought thought|wear wore worn|beat beat beaten|bear bore born|cut cut cut|put put put|hit hit hit|
split split split|
undergo underwent undergone|undertake undertook undertaken|overcome overcame overcome|withdraw withdrew withdrawn|
rebuild rebuilt rebuilt|star starred starred|found founded founded|steal stole stolen|strike struck struck|
forbid forbade forbidden""".replace("\n", "")
_FORMS = [tuple(entry.split()) for entry in _PAST.split("|")]
_BASE = {form: forms[0] for forms in reversed(_FORMS) for form in forms} | {
    "found": "find",
    "founded": "found",
    "lay": "lie",
}
_PRETERITE = {forms[2]: forms[1] for forms in _FORMS}
_BE = {"is": "is", "are": "is", "was": "was", "were": "was"}


@cache
def _lexicon() -> dict[str, str]:
    from textblob.en import lexicon

    return dict(lexicon)


_NO_E = tuple(f"{end}ed" for end in "nt nd st rt ct pt lt rd ld ss ch sh wn ck ll rm rk lk mp sk rn".split())
"""Before these no "e" was dropped: "presented" is no form of "presente", though the lexicon has that as well."""


@lru_cache(maxsize=4096)
def base(verb: str) -> str:
    """Infinitive of a preterite, participle or third person."""
    verb = verb.lower()
    if verb in _BASE:
        return _BASE[verb]
    if verb.startswith("co-"):
        return f"co-{base(verb.removeprefix('co-'))}"
    if verb in ("has", "does", "goes", "is", "are", "were"):
        return {"has": "have", "does": "do", "goes": "go"}.get(verb, "be")
    if verb.endswith(_NO_E) and verb[:-2] in _lexicon():
        return verb[:-2]
    for ending, other in (("ied", "y"), ("ies", "y"), ("ed", "e"), ("ed", ""), ("es", "e"), ("es", ""), ("s", "")):
        stem = verb.removesuffix(ending) + other
        if verb.endswith(ending) and stem in _lexicon():
            return stem
    if verb.endswith("ed") and len(verb) > 5 and verb[-3] == verb[-4]:
        return verb[:-3]
    return verb.removesuffix("ed") if verb.endswith("ed") else verb.removesuffix("s")


def preterite(participle: str) -> str:
    """ "written" → "wrote", "co-written" → "co-wrote"; regular participles are their own preterites."""
    verb = participle.lower().removeprefix("co-")
    return participle.lower()[: -len(verb)] + _PRETERITE.get(verb, verb)


def singular_be(word: str) -> str:
    return _BE.get(word.lower(), word.lower())


@lru_cache(maxsize=4096)
def kind(noun: str) -> str:
    """The coarse class of what a (lower-case) head noun names."""
    last = noun.lower().split("-")[-1] if noun.lower() not in KIND else noun.lower()
    if last in KIND:
        return KIND[last]
    if last in _NOT_PEOPLE:
        return OTHER
    return PERSON if last.endswith(("er", "or", "ist", "ian", "man", "woman", "ess")) and len(last) > 4 else OTHER


def same_thing(one: str, other: str) -> bool:
    """May the two head nouns stand for each other within one passage?"""
    return one == other or any(one in group and other in group for group in SAME)


def third_person(verb: str) -> str:
    """ "have" → "has", "carry" → "carries"."""
    first, _, rest = verb.partition(" ")
    if first == "have":
        first = "has"
    elif first.endswith("y") and first[-2:-1] not in "aeiou":
        first = f"{first[:-1]}ies"
    else:
        first = f"{first}{'es' if first.endswith(('s', 'sh', 'ch', 'x', 'o')) else 's'}"
    return f"{first} {rest}".strip()


def article(phrase: str) -> str:
    """`a` or `an`, by the first letter and the few words that sound otherwise."""
    word = phrase.lower().lstrip("\"'“‘")
    if word.startswith(("uni", "eu", "use", "usu", "one", "ut", "uk", "us ", "u.")) and not word.startswith(
        ("unin", "unim")
    ):
        return "a"
    if word.startswith(
        ("hour", "honor", "honour", "heir", "8", "11", "18", "mp", "nba", "nfl", "nhl", "fm", "ncaa", "mtv", "lp", "ep")
    ):
        return "an"
    return "an" if word[:1] in "aeiouáéíóäöü" else "a"
