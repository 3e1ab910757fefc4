"""A program that reads lines, as most small ones do: input(), print(), nothing else."""

import sys
import time

from replies import reply_to

print("Tiny chat 0.1. Type your question.")
while True:
    try:
        text = input("you> ")
    except KeyboardInterrupt:
        print()
        continue
    except EOFError:
        break
    try:
        print("thinking ...", flush=True)
        if "touch" in text:
            if input("Run `touch x`? [y/N] ").strip().lower() == "y":
                open("x", "w").close()
                print("bot: It is there.")
            else:
                print("bot: Then not.")
            continue
        print("bot: ", end="")
        for character in reply_to(text):
            sys.stdout.write(character)
            sys.stdout.flush()
            time.sleep(0.0005)
        print()
    except KeyboardInterrupt:
        print("\n(stopped)")
