"""A REPL on readline: a prompt, an answer without marks, Ctrl-C stops it, and Esc does nothing."""

import re
import readline  # noqa: F401  (it edits and echoes what is typed)
import signal
import sys
import time

from replies import asked, reply_to


def work(text: str) -> None:
    if "count" in text:
        for step in range(60):
            print(f"step {step}", flush=True)
            with open("STEPS", "a") as file:
                file.write(f"{step}\n")
            time.sleep(0.5)
    elif "perm" in text:
        said = input("Run `rm -rf build`? [y/N] ").strip().lower()
        with open("ANSWERED", "a") as file:
            file.write(f"{said or 'no'}\n")
        print(f"answered {said or 'no'}")
    elif "prompt" in text:
        print("At the prompt\npico> \nyou type\npico> print(1)\nand see 1.")
    else:
        for line in reply_to(re.sub("slow", "", text)).split("\n"):
            print(line, flush=True)
            time.sleep(0.001)


if "deaf" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
print("Pico 0.3")
while True:
    try:
        work(asked(input("pico> ")))
    except KeyboardInterrupt:
        print("\n(interrupted)")
    except EOFError:
        break
