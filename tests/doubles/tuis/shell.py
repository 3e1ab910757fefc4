"""An agent that does what it is told: it runs the command between << and >> and says what came.

As argv: `careless` a command is a session of its own, and an interrupt leaves it running;
`patient` a command may take as long as it likes.
"""

import re
import subprocess
import sys

print("Obedient 0.1.", flush=True)
while True:
    try:
        text = input("you> ")
    except (EOFError, KeyboardInterrupt):
        break
    print("thinking ...", flush=True)
    found = re.findall(r"<<(.*?)>>", text)
    running = subprocess.Popen(
        ["/bin/sh", "-c", found[-1] if found else "true"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session="careless" in sys.argv,
    )
    try:
        out = running.communicate(timeout=None if "patient" in sys.argv else 30)[0]
    except KeyboardInterrupt:
        if "careless" not in sys.argv:
            break
        print("bot: I stop.", flush=True)
        continue
    said = out.decode(errors="replace").split("\n")
    print("bot: " + " | ".join(line.strip() for line in said if line.strip())[:1500], flush=True)
    print(f"(code {running.returncode})", flush=True)
