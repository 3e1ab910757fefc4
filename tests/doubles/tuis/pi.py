"""The program of the documentation's examples: a prompt, a sign of work, a record."""

import json
import os
import sys
import time
from pathlib import Path

from replies import asked, reply_to

assert sys.argv[1:] == ["--no-color"]
record = Path(os.environ["HOME"], ".pi/sessions/here/1.jsonl")
record.parent.mkdir(parents=True, exist_ok=True)


def note(**row: object) -> None:
    with record.open("a") as file:
        file.write(f"{json.dumps(row)}\n")


while True:
    try:
        text = input("> ")
    except EOFError:
        break
    print("thinking", end="", flush=True)
    time.sleep(0.3)
    print("\r\x1b[K", end="")
    said = reply_to(asked(text))
    if "perm" in text:
        said = f"answered {input('Allow this? [y/N] ')}"
    print("● " + said.replace("\n", "\n  ") + "\n", flush=True)
    content = [{"text": f"**{said}**"}]
    note(type="message", message={"role": "assistant", "content": content})
    note(type="turn_end")
