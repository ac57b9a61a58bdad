"""Recognises answers which say that there is no answer. Standard library only: data sets get a copy for their reward.

The whole answer must say so. An answer that names anything else too ("not found, but I guess Paris") is an answer, and
so is a bare "none", "nobody" or "0".
"""

import re
import unicodedata

NOT_FOUND = "not found"
"""What a solver answers if it believes that the corpus does not contain the answer."""
_CANNOT = r"(?:can ?not|cant|could ?not|couldnt|was not able to|were not able to|was unable to|am unable to|unable to)"
_FOUND = (
    r"(?:found|answered|determined|established|identified|located|verified|confirmed|stated|mentioned|given|specified"
    r"|provided|known|available|answerable|present)"
)
_THING = r"(?:answers?|information|evidence|results?|match(?:es)?|data|passages?|documents?)"
_QUESTION = r"(?:the|this|that|your) question"
_SUBJECT = rf"(?:(?:the|an?|any) )?(?:(?:correct|final|requested) )?(?:answer|information|it|this|{_QUESTION})"
_WHERE = (
    r"(?: (?:in|by|from|within|with|on|based on|given|using) (?:(?:the|this|these|any) )?"
    r"(?:(?:available|given|provided|closed|retrieved|search) )*"
    r"(?:corpus|passages?|documents?|contexts?|sources?|texts?|information|evidence|search(?:es)?|results?|index|data))?"
)
_REFUSAL = re.compile(
    rf"(?:(?:{_SUBJECT} )?(?:(?:is|was|has|could|can) )?not (?:be |been )?{_FOUND}"
    rf"|(?:{_SUBJECT} )?(?:can ?not|cant|couldnt|could not) be {_FOUND}"
    rf"|(?:(?:there (?:is|was|are)|i (?:have )?found|found) )?no (?:such |clear |definitive |known |valid )?{_THING}"
    rf"(?: to {_QUESTION})?(?: (?:is|was|were|could|can|be|been|exists?|{_FOUND}))*"
    rf"|(?:{_SUBJECT} is )?(?:unknown|unanswerable|undetermined|indeterminate|unavailable)"
    rf"|(?:i|we) (?:do not|dont) know(?: the answer)?"
    rf"|(?:(?:i|we) )?{_CANNOT} (?:find|answer|determine|identify|locate) (?:it|{_SUBJECT})(?: to {_QUESTION})?"
    rf"|(?:insufficient|not enough) (?:information|evidence|data)(?: to answer(?: {_QUESTION})?)?"
    rf"|n a){_WHERE}"
)
_ELSEWHERE = (
    "nicht gefunden/keine antwort/keine antwort gefunden/antwort nicht gefunden/nicht auffindbar/"
    "nicht beantwortbar/unbekannt/introuvable/non trouvé/pas trouvé/aucune réponse/réponse introuvable/"
    "sans réponse/inconnu/inconnue/no encontrado/no encontrada/no se encontró/no se encuentra/sin respuesta/"
    "no hay respuesta/desconocido/desconocida/non trovato/non trovata/nessuna risposta/sconosciuto/"
    "não encontrado/não encontrada/sem resposta/desconhecido/niet gevonden/geen antwoord/onbekend/"
    "nie znaleziono/brak odpowiedzi/bulunamadı/cevap yok/bilinmiyor/не найдено/не найден/ответ не найден/"
    "нет ответа/неизвестно/غير موجود/لم يتم العثور عليه/لا توجد إجابة/غير معروف/नहीं मिला/未找到/找不到/"
    "没有找到/沒有找到/没有答案/沒有答案/无法回答/無法回答/找不到答案/未找到答案/未知/見つかりません/"
    "見つかりませんでした/該当なし/答えなし/回答なし/不明/찾을 수 없음/찾을 수 없습니다/답 없음/알 수 없음"
)


def refuses(answer: str) -> bool:
    """Return whether the whole answer says that there is none: in English, or in fixed phrases of other languages."""
    words = _bare_words(answer) if len(answer) <= 200 else ""
    return words in _SET_PHRASES or _REFUSAL.fullmatch(words) is not None


def _bare_words(text: str) -> str:
    folded = unicodedata.normalize("NFKD", re.sub("['’]", "", text).casefold())
    letters = "".join(c if c.isalnum() else "" if unicodedata.combining(c) else " " for c in folded)
    return " ".join(letters.split())


_SET_PHRASES = frozenset(map(_bare_words, _ELSEWHERE.split("/")))
