"""A program in the main screen whose only sign of work is a spinner in its window title."""

import os
import re
import select
import shutil
import termios
import textwrap
import time
import tty

from replies import asked, reply_to

cols = shutil.get_terminal_size().columns
os.set_blocking(0, True)
tty.setraw(0)
mode = termios.tcgetattr(0)
mode[1] |= termios.OPOST | termios.ONLCR
termios.tcsetattr(0, termios.TCSANOW, mode)
held = b""


def out(text: str) -> None:
    os.write(1, text.encode())


def title(text: str) -> None:
    out(f"\x1b]0;{text}\x07")


def keys(timeout: float | None = None) -> bytes:
    if timeout is not None and not select.select([0], [], [], timeout)[0]:
        return b""
    return os.read(0, 65536)


def answer(text: str) -> str:
    for frame in range(20 if "slow" not in text else 200):
        title(f"{'⠋⠙⠹⠸⠼⠴'[frame % 6]} titled")
        if b"\x1b" in keys(0.05):
            return "Stopped."
    if "perm" not in text:
        return reply_to(text.replace("slow", ""))
    title("? titled")
    out("Allow network access?\n 1. Yes\n 2. No\n")
    while (key := keys()) not in (b"1", b"2"):
        pass
    out("\x1b[3A\x1b[J")
    with open("ANSWERED", "a") as file:
        file.write(f"{key.decode()}\n")
    return f"answered {key.decode()}"


title("titled")
out("\x1b[?2004htitled 2.0\n\n» ")
while True:
    while not held.endswith(b"\r"):
        data = keys()
        held += data
    text = re.sub(r"\x1b\[20[01]~", "", held.decode(errors="replace")).rstrip("\r")
    held = b""
    first, *more = text.split("\n")
    out(first + "\n" + "".join(f"  {line}\n" for line in more) + "\n")
    said = answer(asked(text))
    for line in said.split("\n"):
        for part in textwrap.wrap(line, cols - 4, drop_whitespace=True) or [""]:
            out(f"  {part}\n")
    out("\n» ")
    time.sleep(0.01)
    title("titled")
