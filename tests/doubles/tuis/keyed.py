"""A program in raw mode that asks for permission by the keys y, a and n, its input row below.

What it was answered stands in the file ANSWERED. Every other key is ignored while it asks.
As argv: `mute` it asks without saying by which keys, and takes Enter for yes; `hasty` it goes on by
itself as soon as there is a file GO.
"""

import os
import re
import select
import shutil
import sys
import termios
import time
import tty

from replies import asked, reply_to

os.set_blocking(0, True)
tty.setraw(0)
mode = termios.tcgetattr(0)
mode[1] |= termios.OPOST | termios.ONLCR
termios.tcsetattr(0, termios.TCSANOW, mode)
MUTE = "mute" in sys.argv
ANSWERS = {b"\r": "yes", b"\x1b": "no"} if MUTE else {b"y": "yes", b"a": "ALWAYS", b"n": "no"}
rows: list[str] = []
held = b""


def draw(status: str = "") -> None:
    text = "\x1b[H" + "".join(
        f"{row}\x1b[K\n" for row in [*rows[4 - shutil.get_terminal_size().lines :], "", status]
    )
    os.write(1, f"{text}  > \x1b[K\n  keyed 1.0 · ctrl-c to quit\x1b[K\x1b[J".encode())


def keys(timeout: float | None = None) -> bytes:
    if timeout is not None and not select.select([0], [], [], timeout)[0]:
        return b""
    return os.read(0, 65536)


def ask() -> str:
    rows.append("  Run `rm -rf build`?" + ("" if MUTE else "   (y) yes   (a) always   (n) no"))
    draw()
    while True:
        if "hasty" in sys.argv and os.path.exists("GO"):
            rows.pop()
            return "nothing"
        for at in keys(0.1):
            if said := ANSWERS.get(bytes([at])):
                with open("ANSWERED", "a") as file:
                    file.write(f"{said}\n")
                rows.pop()
                return said


draw()
while True:
    while b"\r" not in held:
        held += keys()
    line, _, held = held.partition(b"\r")
    text = line.decode(errors="replace")
    rows += [f"  ┊ {text[at : at + 100]}" for at in range(0, len(text), 100)] + [""]
    text, stopped = asked(text), False
    for frame in range(6 if "slow" not in text else 200):
        draw(f"  {'-+*'[frame % 3]} working (esc to stop)")
        if keys(0.05) == b"\x1b":
            stopped = True
            break
    if stopped:
        said = "Stopped."
    elif "perm" in text:
        said = f"answered {ask()}"
    else:
        said = reply_to(re.sub("slow", "", text))
    rows += [f"  ◆ {line}" if not n else f"    {line}" for n, line in enumerate(said.split("\n"))]
    rows.append("")
    time.sleep(0.02)
    draw()
