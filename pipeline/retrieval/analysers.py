"""Choose the Lucene analyser that tokenises the texts of a language.

Anserini looks an analyser up by name in its `AnalyzerMap`. This module registers the ones that are missing there.
"""

from functools import cache
from typing import Any

from pipeline.corpus import jvm

ENGLISH = "english"
"""Anserini's default, also used if the language of a corpus is unknown."""
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
"""Class names of the exceptions. All others follow from code and name, such as `de.GermanAnalyzer`."""


def analyser_for(language: str) -> str:
    """Return the name of the analyser for a language code such as `de` or `pt-BR`.

    A language without an analyser gets `standard`, which does not stem. Thai is one of them: the bundled Java has no
    Thai word breaker, so `standard` treats everything between two blanks as one word.
    """
    return _BY_LANGUAGE.get(language.partition("-")[0], _STANDARD)


def indexer_options(name: str) -> list[str]:
    """Return the options for Anserini's indexer. Call it only on the JVM's thread."""
    if name == ENGLISH:
        return []
    _register(name)
    return ["-language", name]


@cache
def java_analyser(name: str) -> Any:
    """Return Lucene's analyser of that name, or None for Anserini's default. Call it only on the JVM's thread."""
    if name == ENGLISH:
        return None
    _register(name)
    return jvm.java("io.anserini.analysis.AnalyzerMap").getLanguageSpecificAnalyzer(name)


def language_of(name: str) -> str:
    """Return the (first) language that an analyser is for; empty for `standard`."""
    return next((code for code, analyser_name in _BY_LANGUAGE.items() if analyser_name == name), "")


def _register(name: str) -> None:
    path = _CLASSES.get(name, f"{language_of(name)}.{name.capitalize()}Analyzer")
    jvm.java("io.anserini.analysis.AnalyzerMap").analyzerMap.put(name, f"{_LUCENE}.{path}")
