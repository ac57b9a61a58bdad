"""Which of Lucene's analysers cuts the texts of a language into the words that are indexed.

Anserini takes an analyser by the name under which it stands in its `AnalyzerMap`; those of Lucene that it lacks are put
there.
"""

from functools import cache
from typing import Any

from pipeline.corpus import jvm

ENGLISH = "english"
"""Anserini's own; of corpora whose language nobody knows too."""
_STANDARD = "standard"
_LUCENE = "org.apache.lucene.analysis"
_BY_LANGUAGE = {
    "ar": "arabic", "bg": "bulgarian", "bn": "bengali", "ca": "catalan", "ckb": "sorani", "cs": "czech",
    "da": "danish", "de": "german", "el": "greek", "en": ENGLISH, "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "gl": "galician", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "ja": "japanese", "ko": "cjk",
    "lt": "lithuanian", "lv": "latvian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "nb": "norwegian", "nn": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "te": "telugu", "tr": "turkish", "uk": "ukrainian",
    "unknown": ENGLISH, "zh": "cjk",
}  # fmt: skip
_CLASSES = {
    "cjk": "cjk.CJKAnalyzer",
    "czech": "cz.CzechAnalyzer",
    "polish": "morfologik.MorfologikAnalyzer",
    "ukrainian": "uk.UkrainianMorfologikAnalyzer",
    _STANDARD: "standard.StandardAnalyzer",
}
"""Of the others code and name say it: `de.GermanAnalyzer`."""


def analyser(language: str) -> str:
    """The name of the analyser for a language, given by a code such as `de` or `pt-BR`; `standard`, which knows no
    stems, for one that has none of its own.

    Thai is one of those: the Java that is shipped knows no Thai words, so `standard` takes for one whatever stands
    between two blanks.
    """
    return _BY_LANGUAGE.get(language.partition("-")[0], _STANDARD)


def options(name: str) -> list[str]:
    """What Anserini's indexer is to be told. On the JVM's thread only."""
    if name == ENGLISH:
        return []
    _known(name)
    return ["-language", name]


@cache
def java_analyser(name: str) -> Any:
    """Lucene's analyser of that name; None for Anserini's own, which is the default. On the JVM's thread only."""
    if name == ENGLISH:
        return None
    _known(name)
    return jvm.java("io.anserini.analysis.AnalyzerMap").getLanguageSpecificAnalyzer(name)


def code(name: str) -> str:
    """The language that an analyser is for, the first of several; empty for `standard`."""
    return next((code for code, known in _BY_LANGUAGE.items() if known == name), "")


def _known(name: str) -> None:
    path = _CLASSES.get(name, f"{code(name)}.{name.capitalize()}Analyzer")
    jvm.java("io.anserini.analysis.AnalyzerMap").analyzerMap.put(name, f"{_LUCENE}.{path}")
