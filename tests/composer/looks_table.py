"""The table contract/looks.txt, made of Unicode's confusables.txt and of characters' names.

`python -m tests.composer.looks_table confusables.txt` writes it. The file is a part of the data of
Unicode Technical Standard 39; its first lines say of which version.

A line of the table is what characters look like, in ASCII, and these characters as hexadecimal
numbers and ranges. One with a compatibility decomposition is only there where that is not what it
looks like, or where brackets or bars are in it.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import defaultdict
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parents[2] / "contract" / "looks.txt"
LAST = 0x110000
JAMO = {*range(0x1100, 0x1200), *range(0xA960, 0xA980), *range(0xD7B0, 0xD800)}
"""What Hangul syllables are made of."""
ENDS = "[]|"  # the forms of these are listed too, for they are looked for where they stand

# A letter in a box, a circle or a flag, a small capital, a letter with a stroke or a hook.
_LETTER = re.compile(
    r"(?:LATIN (?:CAPITAL|SMALL) LETTER|LATIN (?:CAPITAL )?LETTER SMALL CAPITAL"
    r"|REGIONAL INDICATOR SYMBOL LETTER|SQUARED LATIN CAPITAL LETTER)"
    r" (?:DOTLESS |SCRIPT |BARRED |LONG )?([A-Z])(?: WITH .*)?"
)
_WORD = re.compile(r"(?:NEGATIVE )?SQUARED ([A-Z]{1,4})")
_SEEN = re.compile(
    r"(?:CROSSED )?(?:NEGATIVE )?(?:CIRCLED|SQUARED) (?=LATIN)|(?:RAISED )?OUTLINED "
)

BY_HAND = {
    "[": "[⁅❲⟦⟬⦋⦍⦏〔〖〘〚【「『⌈⌊⎡⎢⎣⸢⸤⹕⹗⦗",
    "]": "]⁆❳⟧⟭⦌⦎⦐〕〗〙〛】」』⌉⌋⎤⎥⎦⸣⸥⹖⹘⦘",
    "|": "|¦│┃║╎╏┆┇┊┋∣∥ǀǁ❘❙❚‖⏐।॥丨〡ⵏ꘎︱￨￤▏▎▍▌▕▐▮⎸⎹︳",
    "(": "❨❪⟮⦅⦇⸨﴾",
    ")": "❩❫⟯⦆⦈⸩﴿",
    "{": "❴⦃",
    "}": "❵⦄",
    ",": "¸،、߸᠂᠈⸲⸴⹁⹌꘍꛵𝪇",
    '"': "«»❝❞〝〞〟⹂",
    ":": "∶꞉ː˸׃⁝⁚܃܄ःઃ︰᎓",
    "c": "©",
    "r": "®Яяᣴ",
    "p": "℗℘ᣖ",
    # Drawn like a Latin letter in capitals or small capitals.
    "a": "ⲀⲁΛλΔ∆",
    "n": "Ии",
    "b": "вβ",
    "h": "н",
    "k": "кκ",
    "l": "Լᣳ",
    "m": "мμ",
    "t": "тτ",
    "s": "Ѕѕᣵ",
    "i": "ӏͺ˛¡",
    "o": "ంಂംං",
    "8": "ଃ",
    "0": "🄍",
    "3": "ვ",
    "x": "хχ⮾",
    "z": "ζ",
    "e": "εєЄ€ⲈⲉƐɛᶓΞξ",
}
BY_HAND_OF = {sign: look for look, signs in BY_HAND.items() for sign in signs}


def confusables(text: str) -> dict[str, str]:
    """Each character, and what it may be taken for."""
    found = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split(";")
        if len(fields) >= 3:
            source, target = (
                "".join(chr(int(code, 16)) for code in field.split()) for field in fields[:2]
            )
            found[source] = target
    return found


class Looks:
    """What a character looks like."""

    def __init__(self, alike: dict[str, str]) -> None:
        self.alike = alike
        self.of = cache(self._of)

    def _of(self, sign: str) -> str | None:
        """In ASCII; None when it looks like nothing in it, or is it already, but for ENDS."""
        if sign.isascii():
            return sign if sign in ENDS else None
        if sign in BY_HAND_OF:
            return BY_HAND_OF[sign]
        plain = unicodedata.normalize("NFKD", sign)
        if len(plain) == 1 and plain in BY_HAND["["] + BY_HAND["]"] + BY_HAND["|"]:
            return BY_HAND_OF[plain]
        if (digit := unicodedata.digit(sign, None)) is not None:
            return str(digit)
        for one in (sign, sign.upper(), sign.lower()):
            if one in self.alike and (look := self._ascii(self.alike[one], {sign, one})):
                return look.lower()
        return self._by_name(sign)

    def _ascii(self, text: str, seen: set[str]) -> str:
        looks = []
        for sign in unicodedata.normalize("NFKD", text):
            if unicodedata.category(sign)[0] == "M":
                continue
            look = sign if sign.isascii() else None
            if look is None and sign not in seen:
                look = self._of(sign)
            if look is None:
                return ""
            looks.append(look)
        return "".join(looks)

    def _by_name(self, sign: str) -> str | None:
        name = _SEEN.sub("", unicodedata.name(sign, "")).removeprefix("MODIFIER LETTER ")
        if letter := _LETTER.fullmatch(name):
            return letter[1].lower()
        word = _WORD.fullmatch(unicodedata.name(sign, ""))
        return word[1].lower() if word else None


def table(text: str) -> dict[str, list[int]]:
    """What characters look like, and which do."""
    looks = Looks(confusables(text))
    found = defaultdict(list)
    for code in range(LAST):
        sign = chr(code)
        if sign in BY_HAND_OF:
            look: str | None = BY_HAND_OF[sign]
        elif unicodedata.category(sign)[0] in "MCZ" or code in JAMO:
            continue
        elif unicodedata.decomposition(sign).startswith("<"):
            look = _drawn(sign, looks)
        elif unicodedata.normalize("NFKD", sign) == sign:
            look = looks.of(sign)
        else:
            continue
        if look:
            found[look.strip()].append(code)
    return found


def _drawn(sign: str, looks: Looks) -> str | None:
    """The look of one with a compatibility decomposition; None where that is what it looks like."""
    plain = unicodedata.normalize("NFKD", sign)
    if len(plain) == 1:
        listed = (looks.of(plain) or plain) in ENDS or (not plain.isascii() and sign in looks.alike)
        return looks.of(sign) if listed else None
    if (digit := unicodedata.digit(sign, None)) is not None:
        return str(digit)
    if any((looks.of(one) or one) in ENDS for one in plain):
        return f"({plain[1].lower()})" if plain[1].isascii() else "()"
    return None


def ranges(codes: list[int]) -> str:
    """`61 63-65`."""
    parts: list[list[int]] = []
    for code in codes:
        if parts and parts[-1][1] == code - 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in parts)


def main() -> None:
    """Write the table."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
    version = "".join(re.findall(r"^# Version: (.*)$", text, re.MULTILINE))
    head = [
        "# What characters look like, made by `python -m tests.composer.looks_table`.",
        f"# Of confusables.txt {version}, © Unicode, Inc.: see looks.LICENSE.",
    ]
    rows = [f"{look} {ranges(codes)}" for look, codes in sorted(table(text).items())]
    TABLE.write_text("\n".join((*head, *rows)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
