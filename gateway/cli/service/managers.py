"""systemd and launchd: the files that they read, and the commands that they are given."""

from __future__ import annotations

import os
import plistlib
import pwd
import re
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from contract.errors import ConfigError

NAME = "moot"
LABEL = "moot.service"  # launchd's
ACCOUNT, ACCOUNT_HOME = "moot", "/var/lib/moot"  # of the machine's service
_WAIT_S = 180.0  # for Moot to be ready: its unit's TimeoutStartSec is 120
_HERE = Path(__file__).resolve().parent
UNITS = (_HERE / "moot.service", _HERE.parents[2] / "deploy" / "moot.service")
"""The unit, as a wheel and as a checkout has it."""

_FOR_ROOT = re.compile(
    r"(User|Group|WorkingDirectory|EnvironmentFile|StateDirectory\w*|ConfigurationDirectory"
    r"|NoNewPrivileges|\w*Capabilit\w*|Protect\w+|Private\w+|Restrict\w+|LockPersonality"
    r"|RemoveIPC|SystemCall\w+|After|Wants)="
)
"""Keys that a person's own service manager can't grant, or that keep agents from the person's own
files and programs, which is what such a service is for."""


class ServiceManager(ABC):
    """One program that keeps services. Each method raises ConfigError with its complaint."""

    file: Path
    next_steps: Sequence[str]

    @property
    def installed(self) -> bool:
        """True if its file is there."""
        return self.file.is_file()

    @abstractmethod
    def install(self, words: str, environment: Mapping[str, str]) -> Path:
        """Write its file and start it. words: behind `moot run`."""

    @abstractmethod
    def uninstall(self) -> None:
        """Stop it and delete its file."""

    @abstractmethod
    def restart(self) -> None:
        """Stop it and start it again."""

    @abstractmethod
    def state(self) -> str:
        """`active`, or another word of its."""

    @abstractmethod
    def logs(self, lines: int, *, follow: bool) -> int:
        """Print them; returns the exit code."""


def service_manager_of(
    platform: str, environment: Mapping[str, str], *, system: bool
) -> ServiceManager:
    """That of this machine. Raises ConfigError where there is none."""
    if platform == "darwin":
        if system:
            raise ConfigError("--system is for Linux; on macOS leave it out")
        return Launchd(Path.home())
    if shutil.which("systemctl") is None:
        raise ConfigError(
            "there is no systemd here; let what starts your programs start `moot run`, or use a "
            "container (docs/service.md)"
        )
    if system:
        if os.geteuid() != 0:
            raise ConfigError("--system writes to /etc/systemd: say it as root, e.g. with sudo")
        return Systemd(Path("/etc/systemd/system"), system=True)
    base = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Systemd(base / "systemd" / "user", system=False)


class Systemd(ServiceManager):
    """A unit of the machine, or of one person."""

    def __init__(self, folder: Path, *, system: bool) -> None:
        self.file = folder / f"{NAME}.service"
        self._system = system
        self._scope = () if system else ("--user",)
        lingers = "it ends when you log out; to let it go on: loginctl enable-linger"
        self.next_steps = (
            "it runs, and starts again with the machine" if system else lingers,
            f"next: moot status{f' --home {ACCOUNT_HOME}' if system else ''}; moot logs --follow",
        )

    def install(self, words: str, environment: Mapping[str, str]) -> Path:
        """Write the unit, and enable and start it."""
        program = _program()
        if self._system:
            _check_account(program)
            text = system_unit(program)
        else:
            text = user_unit(program, words, environment.get("PATH", os.defpath))
        _write(self.file, text.encode())
        self._call("daemon-reload")
        self._call("enable", "--now", NAME)
        return self.file

    def uninstall(self) -> None:
        """Disable it first, so that no link to the unit is left."""
        self._call("disable", "--now", NAME)
        self.file.unlink()
        self._call("daemon-reload")

    def restart(self) -> None:
        """Stop it and start it again."""
        self._call("restart", NAME)

    def state(self) -> str:
        """systemd's word for it: active, inactive, failed, ..."""
        done = _run(["systemctl", *self._scope, "is-active", NAME])
        return done.stdout.strip() or "unknown"

    def logs(self, lines: int, *, follow: bool) -> int:
        """From the journal."""
        more = ("--follow",) if follow else ()
        command = ["journalctl", *self._scope, "--unit", NAME, "--lines", str(lines), *more]
        return _shown(command)

    def _call(self, *words: str) -> None:
        _complaining(["systemctl", *self._scope, *words])


class Launchd(ServiceManager):
    """An agent of the person who is logged in on a Mac."""

    def __init__(self, home: Path) -> None:
        self.file = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        self._log = home / "Library" / "Logs" / f"{NAME}.log"
        self._domain = f"gui/{os.getuid()}"
        self.next_steps = ("it runs, and starts again when you log in", "next: moot status")

    def install(self, words: str, environment: Mapping[str, str]) -> Path:
        """Write the property list and load it; one that was loaded before is let go."""
        text = property_list(_program(), words, environment.get("PATH", os.defpath), self._log)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        if self.installed:
            _run(["launchctl", "bootout", f"{self._domain}/{LABEL}"])
        _write(self.file, text)
        _complaining(["launchctl", "bootstrap", self._domain, str(self.file)])
        return self.file

    def uninstall(self) -> None:
        """Let it go, and delete the file."""
        _complaining(["launchctl", "bootout", f"{self._domain}/{LABEL}"])
        self.file.unlink()

    def restart(self) -> None:
        """Stop it and start it again."""
        _complaining(["launchctl", "kickstart", "-k", f"{self._domain}/{LABEL}"])

    def state(self) -> str:
        """`active` where launchd knows it as running."""
        done = _run(["launchctl", "print", f"{self._domain}/{LABEL}"])
        return "active" if "state = running" in done.stdout else "inactive"

    def logs(self, lines: int, *, follow: bool) -> int:
        """From the file that launchd writes."""
        return _shown(["tail", "-n", str(lines), *(("-f",) if follow else ()), str(self._log)])


def system_unit(program: str) -> str:
    """The unit of the machine, with everything of the account's in its home."""
    run = f"ExecStart={_quoted(program)} run --home {ACCOUNT_HOME}"
    text = re.sub(r"^ExecStart=.*$", lambda _: run, _unit(), flags=re.MULTILINE)
    return text.replace("EnvironmentFile=/etc", "EnvironmentFile=-/etc")  # moot.env does, too


def user_unit(program: str, words: str, path: str) -> str:
    """The unit of one person: their programs, their files, their PATH."""
    lines: list[str] = []
    for line in _unit().splitlines():
        if line.startswith("#") or _FOR_ROOT.match(line):
            continue
        if line.startswith("Environment="):
            line = f"Environment={_quoted(f'PATH={path}')}"
        if line.startswith("ExecStart="):
            line = " ".join(map(_quoted, (program, "run", *shlex.split(words))))
            line = f"ExecStart={line}"
        if line or (lines and lines[-1]):
            lines.append(line.replace("multi-user.target", "default.target"))
    return "# Written by `moot service install`, which writes it again.\n" + "\n".join(lines) + "\n"


def property_list(program: str, words: str, path: str, log: Path) -> bytes:
    """launchd.plist(5): kept alive unless it ended well, as systemd's Restart=on-failure does."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": [program, "run", *shlex.split(words)],
            "EnvironmentVariables": {"PATH": path},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ExitTimeOut": 45,
            "StandardOutPath": str(log),
            "StandardErrorPath": str(log),
        }
    )


def _unit() -> str:
    return next(file for file in UNITS if file.is_file()).read_text(encoding="utf-8")


def _quoted(word: str) -> str:
    """A word of a unit: systemd reads % as a specifier, $ as a variable, and a blank as an end."""
    safe = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{safe}"' if safe != word or " " in word else word


def _program() -> str:
    """The path of `moot`, which is beside the Python that runs it."""
    beside = Path(sys.executable).parent / "moot"
    found = str(beside) if beside.is_file() else shutil.which("moot")
    if found is None:
        raise ConfigError(f"there is no `moot` beside {sys.executable}: install Moot first")
    return os.path.abspath(found)


def _check_account(program: str) -> None:
    """Raises ConfigError if the account of the machine's service lacks something."""
    if program.startswith(("/root/", "/home/")):
        raise ConfigError(
            f"{program}: the service's account can't look there; install Moot below /opt, e.g. "
            "python3 -m venv /opt/moot && /opt/moot/bin/pip install ."
        )
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        raise ConfigError(
            f"there is no account {ACCOUNT!r}; make it: useradd --system --home-dir "
            f"{ACCOUNT_HOME} --shell /usr/sbin/nologin {ACCOUNT}"
        ) from None


def _write(file: Path, data: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise ConfigError(f"{file}: can't be written: {error.strerror}") from None


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_WAIT_S)
    except FileNotFoundError:
        raise ConfigError(f"there is no {command[0]} on this machine") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{shlex.join(command)} did not end; `moot logs` says more") from None


def _complaining(command: Sequence[str]) -> None:
    done = _run(command)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it failed"])[-1]
        bus = "Failed to connect to bus" in done.stderr
        remedy = "; log in as this account itself, not by su or sudo" if bus else ""
        raise ConfigError(f"{shlex.join(command)}: {last}{remedy}")


def _shown(command: Sequence[str]) -> int:
    try:
        return subprocess.run(command, check=False).returncode
    except FileNotFoundError:
        raise ConfigError(f"there is no {command[0]} on this machine") from None
    except KeyboardInterrupt:  # Ctrl-C ends what follows
        return 0
