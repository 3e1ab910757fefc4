"""The door of the program: whatever ends a command is a sentence with its remedy there.

Errors of the house say it themselves. What comes from outside has its words here, and no one reads
a traceback who didn't ask for it by `--debug`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress

from contract.errors import MootError
from contract.refusals import SAYS, why

MISTAKE, INTERRUPTED, UNREAD = 2, 130, 141
"""Exit codes: something to fix; Ctrl-C and a reader that is gone, as a shell tells them."""


def open_streams() -> None:
    """Make what is printed fit: a stream that is closed takes all, and one that knows no such
    letters gets their numbers."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def ended(error: BaseException, clean: Callable[[str], str], *, debug: bool) -> int:
    """Say why a command ended; gives its exit code. clean: takes the secrets out."""
    faults = list(_flat(error))
    if any(isinstance(fault, KeyboardInterrupt) for fault in faults):
        return INTERRUPTED
    if all(isinstance(fault, BrokenPipeError) for fault in faults):
        abandon_output()
        return UNREAD
    if debug:
        told = "".join(traceback.format_exception(error))
    else:
        told = "".join(f"moot: {line}\n" for line in dict.fromkeys(_lines(faults)))
    with suppress(OSError):
        sys.stderr.write(clean(told))
        sys.stderr.flush()
    return MISTAKE


def _lines(faults: list[BaseException]) -> Iterator[str]:
    for fault in faults:
        yield from sentence(fault).splitlines()


def abandon_output() -> None:
    """Let what nobody reads go nowhere, or the interpreter complains of it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ else 1)
        os.close(nowhere)


def foreseen(error: BaseException) -> bool:
    """True if there is a sentence for it that says what to do."""
    return all(_said(fault) is not None for fault in _flat(error))


def sentence(error: BaseException) -> str:
    """The error with its remedy, for whoever typed the command."""
    if (said := _said(error)) is not None:
        return said
    reason = (str(error).splitlines() or [""])[0][:200]
    return (
        f"this is a fault of Moot's own ({type(error).__name__}{f': {reason}' if reason else ''}); "
        "please report it with what `moot --debug` prints before the same command"
    )


def _said(error: BaseException) -> str | None:
    if (told := _of_database(error)) is not None:
        return told
    if isinstance(error, MootError):
        return error.say
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, ImportError):
        return f"the library {error.name or error} is missing or broken; install Moot again"
    if isinstance(error, UnicodeError):
        return "a text is not UTF-8; save it as UTF-8, and set LANG=C.UTF-8"
    if isinstance(error, MemoryError):
        return SAYS[errno.ENOMEM]
    if isinstance(error, EOFError):
        return "the input ended before everything was said; nothing was done"
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return "this account has no home folder; set HOME to a folder that it may write to"
    return None


def _of_database(error: BaseException) -> str | None:
    if "sqlalchemy" not in sys.modules and "sqlite3" not in sys.modules:
        return None
    from store.opening import working_fault

    fault = working_fault(error)
    return None if fault is None else f"the database: {fault}"


def _of_system(error: OSError) -> str:
    if error.filename is None and _is_nowhere():
        return "the folder that you are in was removed, or can't be read; go to another one: cd"
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{why(error)}"


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _flat(error: BaseException) -> Iterator[BaseException]:
    """The errors of a group of tasks, each once."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _flat(inner)
    else:
        yield error
