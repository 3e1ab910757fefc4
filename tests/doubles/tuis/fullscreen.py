"""A full-screen program with curses: a conversation, a status line, an input box."""

import curses
import textwrap
import threading
import time

from replies import reply_to


class Chat:
    def __init__(self, window):
        self.window = window
        self.rows = []
        self.held = ""
        self.busy = self.stop = False
        self.asks = None

    def draw(self):
        height, width = self.window.getmaxyx()
        self.window.erase()
        for y, row in enumerate(self.rows[-(height - 4) :]):
            self.window.addstr(y, 0, row[: width - 1])
        status = f"{'|/-'[int(time.time() * 10) % 3]} working" if self.busy else "ready"
        self.window.addstr(height - 4, 0, status, curses.A_DIM)
        self.window.addstr(height - 3, 0, "+" + "-" * (width - 2) + "+")
        self.window.addstr(height - 2, 0, f"| > {self.held[-(width - 6) :]}")
        self.window.refresh()

    def say(self, mark, text, width):
        for paragraph in text.split("\n"):
            for line in textwrap.wrap(paragraph, width - 6) or [""]:
                self.rows.append(mark + line)
                mark = "  "
        self.rows.append("")

    def answer(self, text, width):
        if "touch" in text:
            self.asks = 0
            self.rows += ["Run this command?", "  touch x", "", "> Allow", "  Deny"]
            while self.asks is not None:
                time.sleep(0.02)
            del self.rows[-5:]
            done = "It is there." if self.allowed else "Then not."
            if self.allowed:
                open("x", "w").close()
            self.say("* ", done, width)
        else:
            said = reply_to(text)
            if not self.stop:
                self.say("* ", said, width)
        self.busy = False

    def run(self):
        self.window.timeout(50)
        width = self.window.getmaxyx()[1]
        while True:
            self.draw()
            try:
                key = self.window.get_wch()
            except curses.error:
                continue
            if self.asks is not None:
                if key in (curses.KEY_UP, curses.KEY_DOWN):
                    self.asks = (self.asks + 1) % 2
                    marks = ("> ", "  ") if not self.asks else ("  ", "> ")
                    self.rows[-2:] = [marks[0] + "Allow", marks[1] + "Deny"]
                elif key in ("\n", "\r"):
                    self.allowed, self.asks = self.asks == 0, None
            elif key in ("\n", "\r"):
                text, self.held = self.held, ""
                self.rows += [f"you: {text[: width - 10]}", ""]
                self.busy, self.stop = True, False
                threading.Thread(target=self.answer, args=(text, width), daemon=True).start()
            elif key == "\x1b":
                self.stop, self.busy = True, False
                self.rows.append("(stopped)")
            elif isinstance(key, str) and key.isprintable():
                self.held += key


curses.wrapper(lambda window: Chat(window).run())
