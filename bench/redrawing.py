"""A program that draws all it shows ten times a second, as many agents do while they work.

    python -I -S bench/redrawing.py (record SESSION | screen)

It takes a pasted prompt that ends with `work SECONDS still AFTER redraw SECONDS`: works for so
long, drawing frames of about 2 KB, shows nothing new in the 2.6 s from AFTER on (0: never), answers
with the moment of its end on the machine's clock, and goes on drawing for the second time. With
`record` it writes a record and tells its state like the demo agent; with `screen` nothing but the
screen tells. What it wrote, with its times, is kept in HOME/output for the bench.
"""

import json
import os
import select
import struct
import sys
import termios
import time

COLUMNS = 120
FRAME_S = 0.1
STILL_S = 2.6  # replies of real programs had gaps of 2.7 s and more
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "and",
    "goes",
    "on",
    "to",
    "the",
    "next",
    "hill",
    "where",
    "it",
    "rests",
]
RULE = "─" * COLUMNS
STILL, BUSY = "  ? for help", "  esc to interrupt"


class Program:
    """Draws frames over one another: what is finished scrolls away above a live region."""

    def __init__(self, record: str) -> None:
        home = os.environ["HOME"]
        self.log = open(os.path.join(home, "output"), "ab", buffering=0)  # noqa: SIM115
        self.record = ""
        if record:
            os.makedirs(os.path.join(home, ".moot-demo"), exist_ok=True)
            self.record = os.path.join(home, ".moot-demo", f"{record}.jsonl")
        self.rows = 0  # of the live region
        self.frames = 0
        self.turn = 0

    def out(self, text: str) -> None:
        """Write it, and keep it with its time."""
        data = text.encode()
        self.log.write(struct.pack("!dI", time.monotonic(), len(data)) + data)
        while data:
            data = data[os.write(1, data) :]

    def frame(self, fresh: list[str], live: list[str], after: str = "") -> None:
        """Rows that stay, then the live region in place of the one before."""
        self.frames += 1
        up = f"\x1b[{self.rows}A" if self.rows else ""
        body = "".join(f"\x1b[2K{row}\r\n" for row in (*fresh, *live))
        self.rows = len(live)
        self.out(f"\x1b[?2026h\x1b[?25l{up}\r{body}\x1b[J\x1b[?25h{after}\x1b[?2026l")

    def box(self, footer: str, typed: str = "") -> list[str]:
        """The input box with its footer."""
        clock = time.strftime("%H:%M:%S")
        gauge = "\x1b[32m▰▰▰\x1b[0m\x1b[2m▱▱▱▱▱"
        foot = f"\x1b[2m{footer} · ctx 34% {gauge} · {clock}.{self.frames % 10}\x1b[0m"
        return [f"\x1b[90m{RULE}\x1b[0m", f"❯ {typed}", f"\x1b[90m{RULE}\x1b[0m", foot]

    def state(self, word: str) -> str:
        """The signals in its output by which a program with a record says how it is."""
        title = "✳" if word in ("idle", "done") else "⠋"
        return f"\x1b]7501;state={word}\x1b\\\x1b]0;{title} bench\a" if self.record else ""

    def write(self, **row: object) -> None:
        """Append to the record, if it keeps one."""
        if self.record:
            with open(self.record, "a", encoding="utf-8") as file:
                file.write(json.dumps({"turn": self.turn, **row}) + "\n")

    def work(self, prompt: str) -> float:
        """One turn; until when to go on drawing."""
        asked = prompt[prompt.rindex("work ") :].split()[:6]
        seconds, still, redraw = (float(word) for word in asked[1::2])
        self.turn += 1
        self.write(type="prompt")
        self.frame([f"❯ {' '.join(asked)}", ""], [], after=self.state("working"))
        began = time.monotonic()
        while (now := time.monotonic()) < began + seconds:
            if not (still and began + still < now < began + still + STILL_S):
                self.frame([], self.working(now - began))
            time.sleep(FRAME_S - (now - began) % FRAME_S)
        said = self.said(seconds)
        said[-1] = f"  The end was at {time.monotonic():.6f} exactly."
        self.write(type="reply", text="\n".join(row[2:] for row in said))
        self.write(type="end", how="done")
        self.frame([*said, ""], self.box(STILL), after=self.state("done"))
        return time.monotonic() + redraw

    def said(self, seconds: float) -> list[str]:
        """The reply's rows so far: one more each half second."""
        rows = [" ".join(WORDS[(n + i) % len(WORDS)] for i in range(16)) for n in range(10)]
        shown = rows[: min(6 + int(seconds), len(rows))]
        return [f"{'● ' if not n else '  '}{row}." for n, row in enumerate(shown)]

    def working(self, seconds: float) -> list[str]:
        """The live region in the middle of a turn."""
        spin = SPINNER[self.frames % len(SPINNER)]
        status = f"\x1b[38;2;215;119;87m{spin} Thinking…\x1b[0m \x1b[2m({seconds:.1f}s)\x1b[0m"
        said = [
            f"\x1b[39m{row[:40]}\x1b[1m{row[40:60]}\x1b[22m{row[60:]}" for row in self.said(seconds)
        ]
        return [*said, "", status, "", *self.box(BUSY)]


def main(kind: str, session: str = "") -> None:
    """Run until the terminal hangs up."""
    if cpu := os.environ.get("MOOT_BENCH_CPU"):
        os.sched_setaffinity(0, {int(cpu)})
    raw = termios.tcgetattr(0)
    raw[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
    raw[0] &= ~termios.ICRNL
    termios.tcsetattr(0, termios.TCSANOW, raw)
    program = Program(session if kind == "record" else "")
    program.out("\x1b[?2004h")
    program.frame(["The redrawing program", ""], program.box(STILL), after=program.state("idle"))
    typed, until = b"", 0.0
    while True:
        ready, _, _ = select.select([0], [], [], FRAME_S if time.monotonic() < until else None)
        if ready:
            typed += os.read(0, 65_536)
            if typed.endswith(b"\r"):
                prompt = typed.partition(b"\x1b[200~")[2].partition(b"\x1b[201~")[0].decode()
                typed, until = b"", program.work(prompt)
            else:
                program.frame([], program.box(STILL, "work"))
        else:
            program.frame([], program.box(STILL))


if __name__ == "__main__":
    main(*sys.argv[1:])
