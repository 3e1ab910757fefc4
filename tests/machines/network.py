"""A machine's own network stack, and a router to it that can stop passing anything on: no end of a
connection is told then, as where a cable is pulled behind a switch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

HOST, THERE = "10.77.1.2", "10.77.0.2"


@dataclass(frozen=True)
class Network:
    """One machine apart. python: runs Python on it."""

    router: str
    python: str
    host: str = HOST

    def passes(self, yes: bool) -> None:
        """Let the router pass packets on, or drop them."""
        _run(
            "ip", "netns", "exec", self.router, "sh", "-c",
            f"echo {int(yes)} > /proc/sys/net/ipv4/ip_forward",
        )  # fmt: skip


@contextmanager
def apart(folder: Path) -> Iterator[Network]:
    """Make one; the test is skipped where that is not possible."""
    number = os.getpid()
    machine, router = f"moot-m{number}", f"moot-r{number}"
    inner, outer = f"mi{number}", f"mo{number}"
    try:
        _make(machine, router, inner, outer)
        wrapper = folder / "python-there"
        wrapper.write_text(f'#!/bin/sh\nexec ip netns exec {machine} {sys.executable} "$@"\n')
        wrapper.chmod(0o755)
        yield Network(router, str(wrapper))
    finally:
        for name in (machine, router):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", outer], check=False, capture_output=True)


def _make(machine: str, router: str, inner: str, outer: str) -> None:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("it takes ip and root")
    try:
        for name in (machine, router):
            _run("ip", "netns", "add", name)
        _run("ip", "link", "add", inner, "netns", machine, "type", "veth",
             "peer", "name", "inner", "netns", router)  # fmt: skip
        _run("ip", "link", "add", outer, "type", "veth", "peer", "name", "outer", "netns", router)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces can be made here: {error.stderr}")
    for where, link, address in (
        (("-n", machine), inner, f"{THERE}/30"),
        (("-n", router), "inner", "10.77.0.1/30"),
        (("-n", router), "outer", "10.77.1.1/30"),
        ((), outer, f"{HOST}/30"),
    ):
        _run("ip", *where, "addr", "add", address, "dev", link)
        _run("ip", *where, "link", "set", link, "up")
    _run("ip", "-n", machine, "link", "set", "lo", "up")
    _run("ip", "-n", machine, "route", "add", "default", "via", "10.77.0.1")
    _run("ip", "route", "add", "10.77.0.0/30", "via", "10.77.1.1")
    Network(router, "").passes(True)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)
