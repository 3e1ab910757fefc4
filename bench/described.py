"""The delay of an answer of a program that is described in TOML and writes a record:
`python -m bench.described`. As bench.latency, beside the bare bot in the same run.
"""

import json
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from bench.latency import measure, options
from bench.rig import Asked, run

PROGRAM = """
import json, re, sys
from pathlib import Path
print("> ", end="", flush=True)
for line in sys.stdin:
    text = re.findall(r"echo (word \\d+)", line)[-1]
    with (Path.home() / "record.jsonl").open("a") as record:
        record.write(json.dumps({"role": "agent", "text": text}) + "\\n")
    print(f"{text}\\n> ", end="", flush=True)
"""
TABLES = """
[agents.demo]
profile = "generic"
[agents.demo.settings]
command = {command}
ready = "^>"
[agents.demo.settings.record]
file = "record.jsonl"
reply = {{ role = "agent" }}
text = "text"
"""


def main() -> None:
    """One run."""
    parser = ArgumentParser(description=__doc__)
    options(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as folder:
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        command = json.dumps([sys.executable, str(program)])
        run(measure(given, Asked(agents=TABLES.format(command=command))))


if __name__ == "__main__":
    main()
