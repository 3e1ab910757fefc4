"""A curses program: prompts behind a bar, answers below a name, an input box, a status line."""

import curses
import os
import threading
import time

from replies import asked, reply_to, wrapped

os.environ.setdefault("ESCDELAY", "25")


class Ledger:
    def __init__(self, window):
        self.window = window
        self.rows = []
        self.held = ""
        self.busy = self.stop = False
        self.asks = self.said = None
        self.width = window.getmaxyx()[1] - 6

    def draw(self):
        height, width = self.window.getmaxyx()
        self.window.erase()
        self.window.addstr(0, 0, " LEDGER ".ljust(width - 1), curses.A_REVERSE)
        for y, row in enumerate(self.rows[-(height - 6) :], 1):
            self.window.addstr(y, 0, row[: width - 1])
        status = f"  thinking{'.' * (int(time.time() * 3) % 4)}" if self.busy else "  idle"
        self.window.addstr(height - 4, 0, status, curses.A_DIM)
        self.window.addstr(height - 3, 0, "  ┌" + "─" * (width - 6) + "┐")
        self.window.addstr(height - 2, 0, f"  │ {self.held[-(width - 10) :]}")
        self.window.addstr(height - 1, 0, "  └" + "─" * (width - 6) + "┘")
        self.window.refresh()

    def say(self, text, mark=""):
        for paragraph in text.split("\n"):
            for line in wrapped(paragraph, self.width):
                self.rows.append(f"  {mark}{line}")
        self.rows.append("")

    def answer(self, text):
        self.say(text, "┊ ")
        text = asked(text)
        self.rows.append("  ledger:")
        if "perm" in text:
            self.asks = "Delete old.csv?"
            kept = [*self.rows]
            self.rows += ["  Delete old.csv?", "    yes (y)", "    no (n)"]
            while self.asks:
                time.sleep(0.02)
            self.rows = kept
            with open("ANSWERED", "a") as file:
                file.write(f"{self.said}\n")
            self.say(f"answered {self.said}")
        else:
            end = time.time() + (8 if "slow" in text else 0.8)
            while time.time() < end and not self.stop:
                time.sleep(0.02)
            self.say("Stopped." if self.stop else reply_to(text.replace("slow", "")))
        self.busy = False

    def run(self):
        curses.curs_set(0)
        self.window.timeout(100)
        while True:
            self.draw()
            try:
                key = self.window.get_wch()
            except curses.error:
                continue
            if self.asks:
                if key in ("y", "n"):
                    self.said, self.asks = key, None
            elif key in ("\n", "\r"):
                if not self.busy:
                    text, self.held = self.held, ""
                    self.busy, self.stop = True, False
                    threading.Thread(target=self.answer, args=(text,), daemon=True).start()
            elif key == "\x1b":
                self.stop = True
            elif isinstance(key, str) and key.isprintable():
                self.held += key
                self.window.timeout(0)
                continue
            self.window.timeout(100)


curses.wrapper(lambda window: Ledger(window).run())
