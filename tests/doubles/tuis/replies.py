"""What the programs answer."""

import re
import time
import unicodedata

LONG = "\n".join(f"Line {n} of the long answer, with some words." for n in range(1, 201))


def asked(text: str) -> str:
    """The last message of a person in a prompt of Moot; else the whole text. ASKED holds each."""
    said = text.partition("[CURRENT INVOCATION]")[0]
    found = re.findall(
        r"\[\d\d:\d\d \| (?!ash\])[^\]]*\] (.*?)(?=\[\d\d:\d\d \||$)", said, re.DOTALL
    )
    asked = ([text] + [words for words in found if not words.startswith("!")])[-1]
    with open("ASKED", "a") as file:
        file.write(f"{asked}\n")
    return asked


def reply_to(text: str) -> str:
    """The answer to a prompt, whatever stands around the words."""
    if "slow" in text:
        time.sleep(5)
    if "long" in text:
        return LONG
    if "code" in text:
        return "Look:\n\n```py\ndef f():\n    return 1\n```\n\nThat is all."
    if "wide" in text:
        return "漢字かな and 👩‍👩‍👧 and " + "words " * 60 + "end."
    if match := re.search(r"say (\w+)", text):
        return f"You said {match[1]}."
    return "Hello."


def columns(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.category(char) in ("Mn", "Cf") for char in text)
    return len(text) + wide - marks


def wrapped(text: str, width: int) -> list[str]:
    """Words broken at blanks, and within where they are longer."""
    out, line = [], ""
    for word in re.findall(r"\s*\S+|\s+$", text):
        if line and columns(line + word) > width:
            out.append(line)
            line, word = "", word.lstrip()
        while columns(line + word) > width:
            cut = next(n for n in range(len(word), 0, -1) if columns(line + word[:n]) <= width)
            out.append(line + word[:cut])
            line, word = "", word[cut:]
        line += word
    return [*out, line]
