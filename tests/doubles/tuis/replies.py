"""What the programs answer."""

import re
import time

LONG = "\n".join(f"Line {n} of the long answer, with some words." for n in range(1, 201))


def asked(text: str) -> str:
    """The last message of a person in a prompt of Moot; else the whole text."""
    said = text.partition("[CURRENT INVOCATION]")[0]
    found = re.findall(
        r"\[\d\d:\d\d \| (?!ash\])[^\]]*\] (.*?)(?=\[\d\d:\d\d \||$)", said, re.DOTALL
    )
    return ([text] + [words for words in found if not words.startswith("!")])[-1]


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
