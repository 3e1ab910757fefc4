"""A program in raw mode that draws below what it said: pastes marked, a box, a spinner."""

import os
import re
import select
import termios
import time
import tty

from replies import reply_to

os.set_blocking(0, True)
tty.setraw(0)
mode = termios.tcgetattr(0)
mode[1] |= termios.OPOST | termios.ONLCR
termios.tcsetattr(0, termios.TCSANOW, mode)


def out(text):
    os.write(1, text.encode())


def box(text=""):
    out(
        "\x1b[2m╭" + "─" * 60 + "╮\x1b[m\r\n│ › " + text + "\r\n\x1b[2m╰" + "─" * 60 + "╯\x1b[m\r\n"
    )


def unbox():
    out("\x1b[3A\x1b[J")


def read(timeout=None):
    if timeout is not None and not select.select([0], [], [], timeout)[0]:
        return b""
    return os.read(0, 65536)


def question():
    out("\r\n\x1b[1mAllow `touch x`?\x1b[m\r\n  1. Yes\r\n❯ 2. No\r\n")
    while True:
        key = read()
        if key in (b"1", b"2"):
            out("\x1b[4A\x1b[J")
            return key == b"1"


out("\x1b[?2004h\x1b]0;boxed - idle\x07")
box()
held = b""
while True:
    held += read()
    while b"\x1b[200~" in held and b"\x1b[201~" not in held:
        held += read()
    if not held.endswith(b"\r"):
        continue
    text = re.sub(r"\x1b\[20[01]~", "", held.decode()).rstrip("\r")
    held = b""
    unbox()
    out("\x1b[7m› " + text.split("\n")[0][:50] + "\x1b[m\n")
    out("".join(f"  {line[:60]}\n" for line in text.split("\n")[1:]) + "\n")
    stopped = False
    for frame in range(12 if "slow" not in text else 120):
        out(f"\r\x1b[K{'⠋⠙⠹⠸'[frame % 4]} Working… (esc to interrupt)")
        if read(0.05) == b"\x1b":
            stopped = True
            break
    out("\r\x1b[K")
    if stopped:
        out("■ Interrupted\n\n")
    elif "touch" in text:
        if question():
            open("x", "w").close()
            out("● It is there.\n\n")
        else:
            out("● Then not.\n\n")
    else:
        mark = "● "
        for line in reply_to(text.replace("slow", "")).split("\n"):
            out(f"{mark}{line}\n")
            mark = "  "
            time.sleep(0.002)
        out("\n")
    box()
