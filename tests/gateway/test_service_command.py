"""`moot service`, `status` and `logs`: with service managers that keep what they were told."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.cli.commands import make_parser
from gateway.cli.service.managers import Launchd, system_unit, user_unit
from gateway.core.lock import hold

MOOT = Path(sys.executable).parent / "moot"
RECORDER = """#!/bin/sh
for word in "$@"; do printf '%s ' "$word"; done >> "{log}"
echo >> "{log}"
case "$*" in *is-active*) echo active;; *print*) echo "state = running";; esac
{more}
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and programs that record how they are called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "journalctl", "launchctl"):
        record(tmp_path, name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for name in ("MOOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(machine: Path, name: str, more: str = "") -> None:
    file = machine / "bin" / name
    file.write_text(RECORDER.format(log=machine / f"{name}.log", more=more))
    file.chmod(0o755)


def calls(machine: Path, name: str = "systemctl") -> list[str]:
    """The words of each call."""
    file = machine / f"{name}.log"
    return [line.strip() for line in file.read_text().splitlines()] if file.exists() else []


def moot(*words: str) -> int:
    given = make_parser().parse_args(words)
    code: int = given.do(given)
    return code


UNIT = ".config/systemd/user/moot.service"


def test_it_is_installed_restarted_and_deleted(
    machine: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert moot("service", "install") == 0
    unit = (machine / UNIT).read_text()
    assert f"ExecStart={MOOT} run --home {machine}/.moot\n" in unit
    assert f"Environment=PATH={machine}/bin:/usr/bin:/bin\n" in unit
    assert (machine / ".moot").stat().st_mode & 0o077 == 0
    assert moot("service", "restart") == moot("service", "status") == 0
    assert "✓" in capfd.readouterr().out
    assert moot("service", "uninstall") == 0
    assert not (machine / UNIT).exists()
    assert moot("service", "uninstall") == moot("service", "status") == 1
    assert calls(machine) == [
        "--user daemon-reload",
        "--user enable --now moot",
        "--user restart moot",
        "--user is-active moot",
        "--user disable --now moot",
        "--user daemon-reload",
    ]


def test_it_runs_with_the_home_or_the_configuration_of_the_command(machine: Path) -> None:
    moot("service", "install", "--home", "own home")
    assert f'run --home "{machine}/own home"\n' in (machine / UNIT).read_text()
    (machine / "own.toml").write_text("")
    moot("service", "install", "--config", "own.toml")
    assert f"run --config {machine}/own.toml\n" in (machine / UNIT).read_text()


def test_its_log_is_the_journals(machine: Path) -> None:
    with pytest.raises(ConfigError, match="no service is installed"):
        moot("logs")
    moot("service", "install")
    assert moot("logs") == moot("service", "logs", "--follow", "-n", "5") == 0
    assert calls(machine, "journalctl") == [
        "--user --unit moot --lines 100",
        "--user --unit moot --lines 5 --follow",
    ]


def test_what_goes_wrong_is_one_sentence(machine: Path) -> None:
    with hold(machine / ".moot/data"), pytest.raises(ConfigError, match="stop it first"):
        moot("service", "install")
    record(machine, "systemctl", "echo 'Failed to connect to bus: No medium found' >&2; exit 1")
    with pytest.raises(ConfigError) as complaint:
        moot("service", "install")
    assert str(complaint.value) == (
        "systemctl --user daemon-reload: Failed to connect to bus: No medium found; "
        "log in as this account itself, not by su or sudo"
    )
    (machine / "bin/systemctl").unlink()
    os.environ["PATH"] = str(machine / "bin")
    with pytest.raises(ConfigError, match="there is no systemd here"):
        moot("service", "install")


@pytest.mark.skipif(os.geteuid() != 0, reason="it is for root")
def test_the_machines_service_needs_an_account_that_can_reach_the_program(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = machine / "opt" / "python"
    python.parent.mkdir()
    monkeypatch.setattr(sys, "executable", str(python))
    (python.parent / "moot").touch()
    with pytest.raises(ConfigError, match="useradd --system --home-dir /var/lib/moot"):
        moot("service", "install", "--system")
    assert calls(machine) == []


@pytest.mark.parametrize("whose", ["user", "system"])
def test_systemd_understands_the_units(tmp_path: Path, whose: str) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd here")
    program = str(tmp_path / "100% moot")
    shutil.copyfile("/bin/true", program)
    os.chmod(program, 0o755)
    text = system_unit(program)
    if whose == "user":
        text = user_unit(program, " --home '/srv/my moot'", "/usr/bin:/bin")
    unit = tmp_path / "moot.service"
    unit.write_text(text)
    ran = subprocess.run(
        ["systemd-analyze", f"--{whose}", "verify", str(unit)],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert [line for line in ran.stderr.splitlines() if "moot.service" in line] == []
    for key in ("Type=notify", "KillMode=mixed", "WatchdogSec=60", "TimeoutStopSec=45"):
        assert key in text.splitlines()


def test_a_persons_unit_leaves_agents_the_persons_files_and_programs() -> None:
    lines = user_unit("/opt/moot", "", "/a:/b").splitlines()
    keys = {line.partition("=")[0] for line in lines}
    assert keys.isdisjoint({"User", "ProtectHome", "ProtectSystem", "PrivateTmp", "StateDirectory"})
    assert "WantedBy=default.target" in lines


def test_launchd_is_told_the_same(machine: Path) -> None:
    """No Mac is here: the property list is read by plistlib, the calls are compared."""
    manager = Launchd(machine)
    made = manager.install(" --home '/Users/ana/my moot'", {"PATH": "/opt/bin:/usr/bin"})
    told = plistlib.loads(made.read_bytes())
    assert told["ProgramArguments"] == [str(MOOT), "run", "--home", "/Users/ana/my moot"]
    assert told["EnvironmentVariables"] == {"PATH": "/opt/bin:/usr/bin"}
    assert (told["RunAtLoad"], told["KeepAlive"]) == (True, {"SuccessfulExit": False})
    assert manager.state() == "active"
    manager.restart()
    manager.uninstall()
    domain = f"gui/{os.getuid()}"
    assert calls(machine, "launchctl") == [
        f"bootstrap {domain} {made}",
        f"print {domain}/moot.service",
        f"kickstart -k {domain}/moot.service",
        f"bootout {domain}/moot.service",
    ]


def test_status_says_that_none_runs_and_how_to_start_it(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert moot("status", "--home", "own") == 1
    assert capsys.readouterr().out == (
        f"✗ no Moot runs with the home {machine}/own: moot run --home own\n"
    )
    assert moot("status", "--json") == 1
    assert json.loads(capsys.readouterr().out) == {"running": False, "home": f"{machine}/.moot"}
