"""The newest releases of all agents through the tests of the pinned ones: what broke?

    python -m tests.every_agent.latest [--only NAME ...] [--folder FOLDER] [PYTEST ARGUMENT ...]

Installs them into a folder of their own (`newest` beside this file, kept for the next time), runs
the tests with them, and prints a row for each agent. It fails only if it can't do that: what a
release broke is work to plan, and no reason to hold up a change.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parent
PINNED = (FOLDER / "package.json", FOLDER.parent / "agents" / "package.json")
NAMES = {
    "@anthropic-ai/claude-code": "claude-code",
    "@github/copilot": "copilot",
    "@google/gemini-cli": "gemini",
    "@openai/codex": "codex",
    "@qwen-code/qwen-code": "qwen",
    "opencode-ai": "opencode",
}
_REQUIREMENT = re.compile(r"([\w.-]+)(\[\w+\])?==(\S+)")
Outcome = Mapping[str, Sequence[str]]


# ── Installing ──────────────────────────────────────────────────────────────────────────


def pinned() -> dict[str, str]:
    """The version of each agent that the other runs have."""
    found = {path.stem: path.read_text("utf-8").strip() for path in requirements()}
    versions = {name: line.partition("==")[2] for name, line in found.items()}
    for path in PINNED:
        packages = json.loads(path.read_text("utf-8"))["dependencies"]
        versions |= {NAMES[one]: version for one, version in packages.items() if one in NAMES}
    return versions


def requirements() -> list[Path]:
    """The files that name what comes from Python."""
    return sorted((FOLDER / "requirements").glob("*.in"))


async def carried_out(*argv: str | Path, cwd: Path) -> bool:
    """True when the command did what it should; else its last words are printed."""
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told, _ = await process.communicate()
    if process.returncode:
        print(f"{argv[0]}: {told.decode('utf-8', 'replace')[-2000:]}", file=sys.stderr)
    return process.returncode == 0


async def from_node(folder: Path, chosen: Iterable[str]) -> dict[str, str]:
    """The version of each agent from npm that is there now."""
    wanted: dict[str, dict[str, str]] = {"dependencies": {}, "optionalDependencies": {}}
    for path in PINNED:
        package = json.loads(path.read_text("utf-8"))
        for name, version in package["dependencies"].items():
            if NAMES.get(name, "") in chosen:
                wanted["dependencies"][name] = "latest"
            elif name not in NAMES:  # what drives an agent of these
                wanted["optionalDependencies"][name] = version
        wanted["optionalDependencies"] |= package.get("optionalDependencies", {})
    if not wanted["dependencies"]:
        return {}
    (folder / "package.json").write_text(json.dumps({"private": True, **wanted}), "utf-8")
    shutil.copy(FOLDER / ".npmrc", folder / ".npmrc")
    (folder / "package-lock.json").unlink(missing_ok=True)
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    if not await carried_out("npm", "install", *quiet, cwd=folder):
        return {}
    return {
        NAMES[name]: json.loads((folder / "node_modules" / name / "package.json").read_text())[
            "version"
        ]
        for name in wanted["dependencies"]
    }


async def from_python(folder: Path, requirement: Path) -> dict[str, str]:
    """The same for one from PyPI, in a venv of its own with the Python of the pinned one."""
    name, venv = requirement.stem, folder / "venvs" / requirement.stem
    match = _REQUIREMENT.match(requirement.read_text("utf-8"))
    assert match, requirement
    base = FOLDER / "venvs" / name / "bin" / "python"
    python = venv / "bin" / "python"
    if not python.exists() and not await carried_out(base, "-m", "venv", venv, cwd=folder):
        return {}
    wanted = f"{match[1]}{match[2] or ''}"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--upgrade")
    if not await carried_out(*pip, "--upgrade-strategy=eager", wanted, cwd=folder):
        return {}
    code = f"from importlib.metadata import version; print(version({match[1]!r}))"
    return {name: subprocess.check_output([python, "-c", code], text=True).strip()}


async def installed(folder: Path, chosen: Iterable[str]) -> dict[str, str]:
    """The versions of all that could be installed."""
    folder.mkdir(parents=True, exist_ok=True)
    python = [path for path in requirements() if path.stem in chosen]
    found = await asyncio.gather(
        from_node(folder, chosen), *(from_python(folder, path) for path in python)
    )
    return {name: version for one in found for name, version in one.items()}


# ── Testing ─────────────────────────────────────────────────────────────────────────────


def outcomes(report: Path, names: Iterable[str]) -> Mapping[str, Outcome]:
    """The tests of each agent: passed, failed, skipped."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for case in ElementTree.parse(report).iter("testcase"):
        test, _, parameters = str(case.get("name")).partition("[")
        whole = f"{case.get('classname')} [{parameters}"
        name = next((name for name in names if re.search(rf"[\[_-]{name}\b", whole)), "")
        kinds = {child.tag for child in case}
        kind = "failed" if kinds & {"failure", "error"} else "passed"
        found[name]["skipped" if "skipped" in kinds else kind].append(f"{test}[{parameters}")
    return found


def table(
    before: Mapping[str, str], now: Mapping[str, str], found: Mapping[str, Outcome]
) -> Iterable[str]:
    """A row for each agent, then the names of what failed."""
    yield f"{'agent':<12} {'pinned':<10} {'newest':<10} passed failed skipped"
    for name, version in sorted(before.items()):
        count = Counter({kind: len(tests) for kind, tests in found.get(name, {}).items()})
        newest = now.get(name, "not installed")
        counts = f"{count['passed']:>6} {count['failed']:>6} {count['skipped']:>7}"
        yield f"{name:<12} {version:<10} {newest:<10} {counts if name in now else ''}".rstrip()
    for name in sorted(found):
        yield from (f"✗ {name}: {test}" for test in sorted(found[name].get("failed", ())))


def main() -> None:
    """Install, test, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER / "newest")
    parser.add_argument("--only", action="append", metavar="NAME", choices=sorted(pinned()))
    given, arguments = parser.parse_known_args()
    before = {name: v for name, v in pinned().items() if name in (given.only or pinned())}
    folder = given.folder.resolve()
    now = asyncio.run(installed(folder, before))
    if not now:
        sys.exit("nothing could be installed")
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    pattern = " or ".join(name.replace("-", " and ") for name in now)
    chosen = ("-k", pattern) if given.only else ()
    words = ("-n", "3", "--dist", "loadgroup", "--tb=short", f"--junitxml={report}", *chosen)
    subprocess.run(
        [sys.executable, "-m", "pytest", FOLDER, *words, *arguments],
        env={**os.environ, "MOOT_TEST_AGENTS": str(folder), "CI": ""},
        check=False,
    )
    if not report.exists():
        sys.exit("the tests could not be run")
    print("\n".join(table(before, now, outcomes(report, before))))


if __name__ == "__main__":
    main()
