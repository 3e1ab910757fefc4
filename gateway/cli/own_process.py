"""Moot's own process, which other programs of its account may not look into."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping

from gateway.core.redaction import secrets_in

OURS = "MOOT_"
_PROXY = "_proxy"  # libraries read these where they call somebody
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE


def seal() -> Mapping[str, str]:
    """The environment as it was; its secrets are gone from this process, which from now on no
    other one may trace or read the memory of, unless it is root's.

    /proc shows the environment that a program was started with, whatever it has removed from it
    since, so these bytes are overwritten.
    """
    environment = dict(os.environ)
    secret = list(_secret_names(environment))
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        library.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        _overwrite(library, {os.fsencode(name) for name in secret})
    for name in secret:
        del os.environ[name]
    return environment


def _secret_names(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        told = name.startswith(OURS) or any(secrets_in({name: value}))
        if told and not name.lower().endswith(_PROXY):
            yield name


def _overwrite(library: ctypes.CDLL, names: set[bytes]) -> None:
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(library, "environ")
    at = 0
    while entry := entries[at]:
        name, _, value = ctypes.string_at(entry).partition(b"=")
        if name in names:
            ctypes.memset(entry + len(name) + 1, 0, len(value))
        at += 1
