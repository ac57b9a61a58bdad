"""Detects the language of a text or a corpus, and lists the commonest words of languages.

The demo model and some rules read English only. If nobody states the language of a corpus, the detected one decides how
it is indexed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pipeline.errors import UsageError
from pipeline.text import words
from pipeline.types import Passage

UNKNOWN = "unknown"
_SAMPLE = 200
_CONFIDENCE = 0.3
"""Below this confidence the language of a text is unknown: it may be code, a table or a few words."""
_COMMON = {
    "de": "der die das und ist den von mit sich des auf für nicht ein eine als auch werden aus dass sie nach wird bei "
    "einer um sind wie einem über einen zum war haben nur oder zur bis durch wurde im dem zu es an",
    "fr": "le la les des du et est une dans pour que qui par sur pas au plus avec sont aux ce cette il elle ou ne se "
    "comme en de un été vous être",
    "es": "el la los las del y que en una por con para se es su al como más pero fue sus ha son lo este de un",
    "pt": "o os as da do das dos e que em um uma para com não por se mais como foi ao na no são pelo pela de",
    "it": "il lo la gli i di e che in un una per con non del della dei delle si da al nel sono come alla è le",
    "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als bij door naar wordt uit of",
    "da": "og i at det en den til er som på de med af for ikke der var et har fra blev eller sig ved",
    "sv": "och att det som en på är av för med den till inte om ett har de var från vid eller sig i",
    "no": "og i det som en på er av for med til den at et har de ikke var fra ble eller seg ved",
    "fi": "ja on ei että se oli mutta myös joka kun tai ovat hän sen kuin voi ole",
    "hu": "a az és hogy nem is egy ez meg de volt mint vagy csak ha el kell",
    "pl": "i w na z się do jest nie że od po jego przez dla oraz był jako który są to",
    "cs": "a v na se je z do že s pro jako byl který nebo podle jeho od jsou to",
    "ro": "și în de la a cu pe din este care un o pentru nu sau fost prin mai ale",
    "tr": "ve bir bu için ile da de olarak olan daha gibi kadar sonra ise çok",
    "id": "yang dan di dari dengan untuk pada ini dalam adalah itu tidak oleh sebagai ke akan",
    "vi": "là của và các có cho trong không một những được với này để bạn như người từ khi đã sẽ",
    "ca": "el la els les del i que en una per amb és al com més de un dels són va",
    "ru": "и в не на что с по это как его из для был от также а к или о он",
    "uk": "і в не на що з та є до як від його це був для у або про за",
    "bg": "и на в се от за е са с да че който по като не през",
    "sr": "и у је на се да су за од са који као не или",
    "ar": "في من على إلى أن عن التي الذي هذا مع كان هذه ما لا أو",
    "fa": "و در به از که این را با است برای آن یک می تا",
    "ur": "کے کی میں ہے اور سے کا کو نے پر یہ ہیں",
}
_WORDS = {code: frozenset(words(common)) for code, common in _COMMON.items()}
_NONE = "zxx"
_OTHERS = ("en", "zh", "ja", "ko", "th", "el", "he", "hy", "ka", "hi", "bn", "ta", "te", _NONE)
"""Languages that are recognised besides those of `_COMMON`. The model knows more, but takes some English sentences for
Nigerian Pidgin."""


def common_words(code: str) -> frozenset[str]:
    """Return the commonest words of a language, folded; none if they are not known."""
    return _WORDS.get(code, frozenset())


_BEFORE_THINGS = {
    "de": "der die das des dem den ein eine einer im am in an bei zur zum",
    "fr": "le la les l d du des un une à en dans au aux",
    "es": "el la los las un una en del al",
    "pt": "o a os as um uma em no na do da",
    "it": "il lo la gli i un una in nel nella del della al alla",
    "nl": "de het een in op te",
}
_PARTICLES = {
    "zh": "的了在是由于於与與和及以其为為被有这這那之也都而就",
    "ja": "のはがをにでとももやへしてたられるいあそこ",
}


def before_things(code: str) -> frozenset[str]:
    """Return the words before names of things and places, but not of people, in English and in the language."""
    return frozenset(f"the a an in at near {_BEFORE_THINGS.get(code, '')}".split())


def fillers(code: str) -> Callable[[str], bool]:
    """Return a predicate for the terms of `text.terms` that have no meaning of their own in the language.

    English has none.
    """
    common, particles = common_words(code), frozenset(_PARTICLES.get(code, ""))
    match = all if code == "ja" else any  # a stem and its ending are one word in Japanese
    return lambda term: term in common or (bool(particles) and match(character in particles for character in term))


def is_english(passages: Sequence[Passage]) -> bool:
    """Return whether most passages of a sample are in English. The manifest is ignored."""
    sample = passages[:: len(passages) // _SAMPLE + 1]
    return 2 * sum(language_of(passage.text) == "en" for passage in sample) > len(sample)


def detect_language(texts: Sequence[str]) -> str:
    """Return the code of the language of most texts, or `unknown`.

    Texts of unknown language do not count, unless nearly all are.
    """
    counts = Counter(map(language_of, texts))
    del counts[UNKNOWN]
    if not counts:
        return UNKNOWN
    code, count = counts.most_common(1)[0]
    # A few passages of a corpus of tables or code may look like a language.
    return code if 2 * count > counts.total() and 5 * count > len(texts) else UNKNOWN


def language_of(text: str) -> str:
    """Return the code of the language of one passage, or `unknown`."""
    code, confidence = _identifier().classify(text)
    return str(code) if code != _NONE and confidence >= _CONFIDENCE else UNKNOWN


@cache
def _identifier() -> Any:
    # The model takes a second to load.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # the model is unpacked into a temporary file
        raise UsageError(f"the language cannot be detected ({error}); name it with --language CODE") from error
    identifier.set_languages([*_COMMON, *_OTHERS])
    return identifier
