"""The code that one warm Slack mention runs through: `python -m bench.mention`.

`moot run` itself runs in this process, in front of a double of Slack and with the demo agent. After
some mentions that warm it up, several are traced one after the other; the figures are those of the
one with the median number of calls. It is traced from the event on the socket until its reply is at
Slack and its turn is `posted`, in all threads, with all that goes on meanwhile. What follows for it
in the background (marks, the memory) until the process is quiet is told on a
line of its own, without a limit: how much of that falls into the moment differs.

It counts the product's code: every top-level folder or module that is neither tests nor bench.

- A function is a `def`, a method, a property or a lambda, told apart by file and first line.
- Comprehensions, generator expressions, class bodies and modules are no functions: a newer Python
  inlines some of them. What a dataclass writes by itself (its file is `<string>`) is not counted.
- A call is counted as a profiler does: a coroutine or a generator that goes on is entered again.
  How often they do varies by some percent. `begun` are the calls without that.
- A move is a call in another file than that of the call before it, in the same thread.
- The agent's own program is another process, and is not counted. The log is at WARNING: at INFO, as
  by default, every line of it costs some 75 calls more, which `--log INFO` shows.

    -v        every function with its calls, by file, and the forty that are called most
    --json    the same as JSON
    --check   exit code 1 above the limits
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import signal
import sqlite3
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from opcode import opmap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from bench.rig import Asked, TimedSlack, connected, tokens

ROOT = Path(__file__).parents[1]
LIMITS = {"files": 80, "functions": 350, "calls": 900}
ONCE = {
    "the home scope is decided": "home_scope",
    "a command is parsed": "parse_command",
    "addressing is decided": "unaddressed",
}
"""What should be done once a mention, and the name of the function that does it."""
NOT_PRODUCT = {"tests", "bench", "docs", "deploy", "requirements", "build", "dist"}
WARM_UP, TRACED = 3, 5
QUIET_S = 0.4  # nothing of the product was called for so long: the mention is over
MOST_S = 6.0  # for that; periodic work may never let it be quiet

_RESUME = opmap["RESUME"]
_NO_FUNCTION = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


# ── Tracing ─────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Trace:
    """The calls of one mention, in each thread's order."""

    calls: list[tuple[int, CodeType]] = field(default_factory=list)
    begun: int = 0

    def counted(self) -> Counter[CodeType]:
        """The calls of each function."""
        return Counter(code for _, code in self.calls)

    def files(self) -> set[str]:
        """The files that had a part in it."""
        return {code.co_filename for _, code in self.calls}

    def moves(self) -> int:
        """The moves from one file to another."""
        last: dict[int, str] = {}
        moves = 0
        for thread, code in self.calls:
            moves += last.get(thread, code.co_filename) != code.co_filename
            last[thread] = code.co_filename
        return moves

    def figures(self) -> dict[str, int]:
        """The figures that have limits, and the moves."""
        counted = self.counted()
        return {
            "files": len(self.files()),
            "functions": len(counted),
            "calls": counted.total(),
            "moves": self.moves(),
            "begun": self.begun,
        }

    def once(self) -> dict[str, int]:
        """The calls of each of ONCE."""
        names: Counter[str] = Counter()
        for code, times in self.counted().items():
            names[code.co_name] += times
        return {name: names[name] for name in ONCE.values()}


class Tracer:
    """Set as the profile function of every thread before any is started; counts while it has a
    trace to write to."""

    def __init__(self, product: Sequence[str]) -> None:
        self._product = tuple(product)
        self._known: dict[CodeType, bool] = {}
        self.trace: Trace | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        trace = self.trace
        if trace is None or event != "call":
            return
        code = frame.f_code
        ours = self._known.get(code)
        if ours is None:
            ours = self._known[code] = self._counts(code)
        if ours:
            trace.calls.append((threading.get_ident(), code))
            trace.begun += _begins(frame, code)

    def _counts(self, code: CodeType) -> bool:
        if code.co_name in _NO_FUNCTION or "__qualname__" in code.co_names[:2]:
            return False
        return code.co_filename.startswith(self._product)


def _begins(frame: FrameType, code: CodeType) -> bool:
    """True if that is a call, and no coroutine or generator that goes on."""
    at = frame.f_lasti
    if at < 0:
        return True
    return code.co_code[at] == _RESUME and code.co_code[at + 1] & 3 == 0


def product() -> list[str]:
    """The folders and files that make the product."""
    found = []
    for path in sorted(ROOT.iterdir()):
        if path.name.startswith(".") or path.name in NOT_PRODUCT:
            continue
        if path.suffix == ".py":
            found.append(str(path))
        elif path.is_dir() and any(path.rglob("*.py")):
            found.append(f"{path}{os.sep}")
    return found


# ── The mention ─────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Rehearsed:
    """The report of the thread with Slack: the traces, or what went wrong."""

    traces: list[tuple[Trace, Trace]] = field(default_factory=list)  # until posted; after it
    fault: BaseException | None = None


async def mentions(folder: Path, tracer: Tracer, ready: threading.Event, told: Rehearsed) -> None:
    """A Slack for a Moot that is started in `folder` once it is ready; mention after mention."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        asked = Asked()
        (folder / "moot.toml").write_text(asked.config(slack.api_url), encoding="utf-8")
        os.environ.update(tokens(slack))
        ready.set()
        await connected(slack)
        for number in range(WARM_UP):
            await slack.ask("C0GENERAL", asked.text, number)
            await _posted(folder, number + 1)
        await _quiet(Trace(), tracer)
        for number in range(WARM_UP, WARM_UP + TRACED):
            trace = Trace()
            tracer.trace = trace
            await slack.ask("C0GENERAL", asked.text, number)
            await _posted(folder, number + 1)
            after = Trace()
            await _quiet(after, tracer)
            told.traces.append((trace, after))


async def _posted(folder: Path, turns: int) -> None:
    """Until so many turns are posted, as the database says."""
    async with asyncio.timeout(30):
        while _turns_posted(folder) < turns:
            await asyncio.sleep(0.005)


def _turns_posted(folder: Path) -> int:
    with contextlib.closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        found = database.execute("SELECT count(*) FROM turns WHERE state = 'posted'").fetchone()
    return int(found[0])


async def _quiet(trace: Trace, tracer: Tracer) -> None:
    """Until nothing is called any more; the trace ends with it."""
    tracer.trace = trace
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(MOST_S):
            before = -1
            while before != (before := len(trace.calls)):
                await asyncio.sleep(QUIET_S)
    tracer.trace = None


def measure(level: str) -> tuple[Trace, Trace]:
    """Run Moot in this thread and Slack in another one; the traces of a typical mention, and of
    what followed it. level: of the log."""
    tracer, told, ready = Tracer(product()), Rehearsed(), threading.Event()
    module, _, name = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "scripts"
    ]["moot"].partition(":")
    main = getattr(import_module(module), name)
    before = Path.cwd(), sys.argv, dict(os.environ)
    with tempfile.TemporaryDirectory() as name, (Path(name) / "moot.log").open("w") as log:
        folder = Path(name)

        def slack() -> None:
            sys.setprofile(None)  # Slack's own work is none of the product's
            try:
                asyncio.run(mentions(folder, tracer, ready, told))
            except BaseException as fault:  # noqa: BLE001  (whoever waits for it raises it)
                told.fault = fault
            finally:
                ready.set()
                os.kill(os.getpid(), signal.SIGTERM)

        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until Moot has its own handler
        thread = threading.Thread(target=slack, name="slack")
        thread.start()
        ready.wait()
        os.chdir(folder)
        sys.argv = ["moot", "run", "--log", level]
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(log):
                main()
        except SystemExit:
            pass
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            os.chdir(before[0])
            sys.argv = before[1]
            os.environ.clear()
            os.environ.update(before[2])
        thread.join()
        if told.fault is not None:
            sys.stderr.write((folder / "moot.log").read_text())
            raise told.fault
    return sorted(told.traces, key=lambda pair: len(pair[0].calls))[len(told.traces) // 2]


# ── What is printed ─────────────────────────────────────────────────────────────────────────


def by_file(trace: Trace) -> Mapping[str, dict[str, int]]:
    """The calls of every function, by file; files and functions in the order of their calls."""
    found: dict[str, dict[str, int]] = {}
    for code, times in trace.counted().most_common():
        file = str(Path(code.co_filename).relative_to(ROOT))
        functions = found.setdefault(file, {})
        name = getattr(code, "co_qualname", code.co_name)
        functions[f"{name}:{code.co_firstlineno}"] = times
    return dict(sorted(found.items(), key=lambda item: -sum(item[1].values())))


def report(trace: Trace, after: Trace, *, verbose: bool) -> Iterator[str]:
    """The lines of the report."""
    figures = trace.figures()
    for name, value in figures.items():
        limit = f"   (limit {LIMITS[name]:,})" if name in LIMITS else ""
        yield f"{value:6,} {name}{limit}"
    yield "in the background then: " + ", ".join(f"{n:,} {of}" for of, n in after.figures().items())
    times = trace.once()
    for what, name in ONCE.items():
        yield f"{times[name]:6,} times {what} ({name})"
    rooms: dict[str, list[int]] = {}
    listed = by_file(trace)
    for file, functions in listed.items():
        room = rooms.setdefault(file.partition("/")[0], [0, 0, 0])
        for i, more in enumerate((1, len(functions), sum(functions.values()))):
            room[i] += more
    for name, (files, functions_, calls) in sorted(rooms.items(), key=lambda item: -item[1][2]):
        yield f"  {name:14} {files:4} files {functions_:5} functions {calls:6,} calls"
    if not verbose:
        return
    yield "\nThe forty that are called most"
    flat = ((times, f"{file} {name}") for file, of in listed.items() for name, times in of.items())
    yield from (f"{times:6,} {name}" for times, name in sorted(flat, reverse=True)[:40])
    for file, functions in listed.items():
        yield f"\n{file}: {len(functions)} functions, {sum(functions.values())} calls"
        yield from (f"{times:6,} {name}" for name, times in functions.items())


def main() -> int:
    """Measure and print; 1 above the limits, where they are checked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="every function")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--check", action="store_true", help="exit code 1 above the limits")
    parser.add_argument("--log", default="WARNING", help="the log's level")
    given = parser.parse_args()
    trace, after = measure(given.log)
    figures = trace.figures()
    over = [name for name, limit in LIMITS.items() if figures[name] > limit]
    if given.json:
        told: dict[str, Any] = {"figures": figures, "limits": LIMITS, "over": over}
        told["background"] = after.figures()
        told |= {"times": trace.once(), "files": by_file(trace)}
        print(json.dumps(told, indent=2))
    else:
        print("\n".join(report(trace, after, verbose=given.verbose)))
        if over:
            print(f"Above the limits: {', '.join(over)}")
    return int(bool(over and given.check))


if __name__ == "__main__":
    sys.exit(main())
