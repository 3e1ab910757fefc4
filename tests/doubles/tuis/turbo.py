"""A full-screen program that draws all of itself 20 times a second, by absolute addressing."""

import os
import re
import select
import shutil
import termios
import threading
import time
import tty

from replies import asked, reply_to, wrapped

cols, rows = shutil.get_terminal_size()
log: list[str] = []
state = {"frame": 0, "held": b"", "busy": False, "stop": False, "asks": "", "paste": False}


def say(mark: str, text: str, blank: str = "   ") -> None:
    for number, line in enumerate(text.split("\n")):
        begin = blank if number else mark
        first, *more = wrapped(line, cols - 8)
        log.append(begin + first)
        log.extend(blank + part for part in more)
    log.append("")


def draw() -> None:
    state["frame"] += 1
    spinner = "◐◓◑◒"[state["frame"] % 4]
    shown = log[-(rows - 6) :]
    status = f" {spinner} computing" if state["busy"] else " READY"
    if state["asks"]:
        status = " waiting for you"
    body = [f" turbo · frame {state['frame']} · {time.strftime('%H:%M:%S')}", "", *shown]
    body += [""] * (rows - 3 - len(body))
    held = state["held"].decode(errors="replace").split("\n")[-1][-(cols - 10) :]
    body += [status, f" ❯ {held}", " ctrl-c stops · ctrl-d leaves"]
    text = "".join(f"\x1b[{y};1H{row}\x1b[K" for y, row in enumerate(body, 1))
    os.write(1, f"\x1b[?2026h{text}\x1b[?2026l".encode())


def answer(text: str) -> None:
    say(" ┆ ", text, " ┆ ")
    text = asked(text)
    if "perm" in text:
        log.append(" Write to notes.txt?  [y] yes  [n] no")
        state["asks"] = "?"
        while state["asks"] == "?" and not state["stop"]:
            time.sleep(0.02)
        said = state["asks"]
        log.pop()
        state["asks"] = ""
        with open("ANSWERED", "a") as file:
            file.write(f"{said}\n")
        say(" ▸ ", f"answered {said}")
    else:
        until = time.time() + (8 if "slow" in text else 1)
        while time.time() < until and not state["stop"]:
            time.sleep(0.02)
        say(" ▸ ", "Stopped." if state["stop"] else reply_to(text.replace("slow", "")))
    state["busy"] = False


def take(data: bytes) -> bool:
    """False when it is to end."""
    for at in data:
        char = bytes([at])
        if state["asks"] == "?" and char in (b"y", b"n"):
            state["asks"] = char.decode()
        elif char == b"\x03":
            state["stop"] = True
        elif char == b"\x04":
            return False
        elif char == b"\r" and not state["busy"]:
            text, state["held"] = state["held"].decode(errors="replace"), b""
            state.update(busy=True, stop=False)
            threading.Thread(target=answer, args=(text,), daemon=True).start()
        elif not state["busy"]:
            state["held"] += b"\n" if at == 10 else char
    return True


def main() -> None:
    before = termios.tcgetattr(0)
    tty.setraw(0)
    os.write(1, b"\x1b[?1049h\x1b[?2004h\x1b[?25l")
    going = True
    try:
        while going:
            draw()
            if select.select([0], [], [], 0.05)[0]:
                data = os.read(0, 65536)
                going = take(re.sub(rb"\x1b\[20[01]~", b"", data))
                time.sleep(0.01)
    finally:
        os.write(1, b"\x1b[?2004l\x1b[?1049l\x1b[?25h")
        termios.tcsetattr(0, termios.TCSADRAIN, before)


main()
