"""`make run` in a checkout: a line for each step, and the link last."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HOUSE = Path(__file__).parents[1]
PYTHON = """#!/bin/sh
echo "python $*" >> "{log}"
case "$*" in "-m venv .venv")
  mkdir -p .venv/bin && cp "$0" .venv/bin/python
  printf '#!/bin/sh\\necho the link\\n' > .venv/bin/moot && chmod +x .venv/bin/moot;;
esac
"""


def make_run(folder: Path, python: Path) -> list[str]:
    done = subprocess.run(
        ["make", "run", f"PYTHON={python}"],
        cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_it_says_what_it_does_and_ends_with_what_moot_prints(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copyfile(HOUSE / name, tmp_path / name)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/run.txt").touch()
    python, log = tmp_path / "python3", tmp_path / "calls"
    python.write_text(PYTHON.format(log=log))
    python.chmod(0o755)
    first = make_run(tmp_path, python)
    assert [line[:5] for line in first[:3]] == ["[1/3]", "[2/3]", "[3/3]"]
    assert first[3:] == ["Starting Moot; Ctrl-C ends it.", "the link"]
    assert "-r requirements/run.txt" in log.read_text()
    assert make_run(tmp_path, python) == first[3:]  # what is set up is not set up again
