"""The occasion in one line, for an agent that is called by API, and whether it needs to think."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from composer.guard import clean, label
from composer.scene import local
from contract.looks import normalized

_OTHER_FIELDS = str.maketrans(",=", ";:")  # would begin a further field of the line


def platform_context(
    platform: str, at: datetime, where: tzinfo, *, user: str = "", role: str = ""
) -> str:
    """`[Context: Platform=slack, User=..., Role=..., Current time for user: ...]`.

    where: the user's time zone. An empty user or role is left out.
    """
    there = local(at, where)
    half, hour = ("AM", "PM")[there.hour >= 12], there.hour % 12 or 12
    time = f"{there:%Y-%m-%d} {hour:02d}:{there.minute:02d} {half} ({there.tzname()})"
    named = {"Platform": platform, "User": user, "Role": role}
    values = {name: label(value).translate(_OTHER_FIELDS) for name, value in named.items()}
    fields = [f"{name}={value}" for name, value in values.items() if value]
    return f"[Context: {', '.join((*fields, f'Current time for user: {time}'))}]"


# ── Small talk ──────────────────────────────────────────────────────────────────────────

SMALL_TALK_CHARS = 80

_GREETINGS = (
    r"hi+|hey+|hello+|hiya|howdy|yo|greetings|welcome|morning|good (?:morning|afternoon|evening"
    r"|night|day)|bye(?: ?bye)*+|goodbye|see (?:you|ya)(?: (?:later|soon|tomorrow))?|take care"
    r"|how are (?:you|things)(?: doing)?|how(?: i|')s it going|what(?: i|')s up|nice to meet you"
    r"|hallo|hola|bonjour|salut|ciao|selamat (?:pagi|siang|sore|malam)"
)
_THANKS = (
    r"thanks?|thank you|thx|ty|tysm|cheers|much appreciated|appreciate (?:it|that)|thanks a (?:lot"
    r"|million|ton|bunch)|many thanks|(?:you are|you're|ur) welcome|no (?:problem|worries)"
    r"|danke|merci|gracias|terima kasih|makasih|obrigad[oa]|grazie"
)
_ACKNOWLEDGEMENTS = (
    r"ok(?:ay)?|okie|k|kk|cool|great|nice|perfect|awesome|excellent|wonderful|lovely|alright"
    r"|all right|all good|sounds good|looks good|good|got it|gotcha|understood|noted|i see"
    r"|makes sense|fair enough|roger(?: that)?|will do|well done|good job|nice work|lgtm"
    r"|(?:ha){2,}h?|lol|oke|siap"
)
_WITH_THEM = (
    r"there|all|everyone|everybody|team|folks|guys|friend|mate|again|you(?: (?:all|too|guys))?"
    r"|so much|very much|a lot|so|very|really|for (?:that|this|it|the help|your help)|and|oh|ah"
    r"|today|my|man|then|that's|that is"
)
_PHRASES = re.compile(
    rf"(?:(?:{_WITH_THEM}) )*(?:{_GREETINGS}|{_THANKS}|{_ACKNOWLEDGEMENTS})"
    rf"(?: (?:{_GREETINGS}|{_THANKS}|{_ACKNOWLEDGEMENTS}|{_WITH_THEM}))*"
)
_ASKS_HOW_IT_GOES = re.compile(r"\b(?:how|what)\b")  # any other question wants an answer
_ADDRESS = re.compile(r"(?:<@[\w!|]+>|(?<!\S)@[\w.-]+)")
_SIGNS = re.compile(r"[^\w']+|_")
_SIGNIFICANT = re.compile(r"[`$#/\\=<>{}|~^%*\d]")  # code, paths, numbers: there is a matter


def is_small_talk(message: str) -> bool:
    """Return True if a message is a greeting, thanks or an acknowledgement and nothing else.

    In English, and the commonest words of some other languages. What is not known for sure is no
    small talk; a plain yes or no isn't either, for it answers a question that work hangs on.
    """
    text = _ADDRESS.sub(" ", clean(message[: 4 * SMALL_TALK_CHARS]))
    if len(text.strip()) > SMALL_TALK_CHARS or _SIGNIFICANT.search(text):
        return False
    folded = normalized("NFKC", text).casefold().replace("’", "'")
    if "?" in folded and not _ASKS_HOW_IT_GOES.search(folded):
        return False
    return _PHRASES.fullmatch(_SIGNS.sub(" ", folded).strip()) is not None
