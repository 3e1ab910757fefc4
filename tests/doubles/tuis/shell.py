"""An agent that does what it is told: it runs the command between << and >> and says what came."""

import re
import subprocess

print("Obedient 0.1.", flush=True)
while True:
    try:
        text = input("you> ")
    except (EOFError, KeyboardInterrupt):
        break
    print("thinking ...", flush=True)
    found = re.findall(r"<<(.*?)>>", text)
    ran = subprocess.run(
        ["/bin/sh", "-c", found[-1] if found else "true"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=30,
        check=False,
    )
    said = ran.stdout.decode(errors="replace").split("\n")
    print("bot: " + " | ".join(line.strip() for line in said if line.strip())[:1500], flush=True)
    print(f"(code {ran.returncode})", flush=True)
