"""The unit, the container's files, and the examples of their pages."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from adapters.agent import Mount
from gateway.settings.config import Config
from gateway.settings.connections import ConnectionsTable
from gateway.settings.personas.personas import parse_persona
from gateway.settings.sandbox import parse_mount
from gateway.settings.tables import GatewayTable
from gateway.web.listening.configured import KEPT_FILES

HOUSE = Path(__file__).parents[1]
UNIT = (HOUSE / "deploy" / "moot.service").read_text("utf-8")
CONTAINER = (HOUSE / "deploy" / "Containerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((HOUSE / "deploy" / "compose.yaml").read_text("utf-8"))


def blocks(page: str, language: str) -> list[str]:
    """The fenced examples of a page."""
    text = (HOUSE / "docs" / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", ["sandbox.md", "service.md"])
def test_what_the_pages_show_of_moot_toml_is_valid(page: str) -> None:
    shown = blocks(page, "toml")
    assert shown
    for block in shown:
        Config.model_validate(tomllib.loads(block))


def test_what_the_page_shows_of_a_persona_is_valid() -> None:
    shown = [parse_persona("ash", f"---\n{block}---\n") for block in blocks("sandbox.md", "yaml")]
    tables = [persona.front.sandbox for persona in shown]
    assert [table.mode for table in tables if table] == ["on", "auto"]


def test_a_mount_is_read_only_unless_it_says_otherwise() -> None:
    assert parse_mount("/srv/data") == parse_mount("/srv/data:ro") == Mount(Path("/srv/data"))
    assert parse_mount("/srv/a:b:rw") == Mount(Path("/srv/a:b"), True)
    assert parse_mount("~/src").path == Path.home() / "src"
    for wrong in ("src", "/srv/../etc", ":rw", ""):
        with pytest.raises(ValueError, match="not an absolute path"):
            parse_mount(wrong)


def test_whoever_stops_moot_waits_longer_than_moot_does() -> None:
    shutdown_s = GatewayTable().shutdown_s
    assert int(re.findall(r"^TimeoutStopSec=(\d+)", UNIT, re.M)[0]) >= shutdown_s + 20
    grace = COMPOSE["services"]["moot"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) >= shutdown_s + 20


def test_the_unit_leaves_bubblewrap_what_it_needs() -> None:
    keys = {line.partition("=")[0] for line in UNIT.splitlines() if not line.startswith("#")}
    assert keys.isdisjoint(
        {
            *("RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset"),
            *("PrivateUsers", "MemoryDenyWriteExecute"),
        }
    )
    assert {"NoNewPrivileges", "ProtectSystem", "EnvironmentFile", "WatchdogSec"} <= keys
    assert "KillMode=mixed" in UNIT  # the first signal is for Moot alone


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd here")
    unit = tmp_path / "moot.service"
    unit.write_text(UNIT.replace("/opt/moot/.venv/bin/moot", "/bin/true"))
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert [line for line in ran.stderr.splitlines() if "moot.service" in line] == []


def test_the_container_has_every_room_and_no_secret() -> None:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))
    rooms = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINER, re.M)
    assert set(rooms) <= {word for line in copied for word in line.split()}
    allowed = (HOUSE / ".dockerignore").read_text("utf-8").splitlines()
    assert allowed[0] == "*"
    assert {f"!{room}" for room in rooms} <= set(allowed)
    assert re.search(r"^USER 10001$", CONTAINER, re.M)
    assert "--require-hashes -r requirements/run.txt" in CONTAINER
    assert "environment" not in COMPOSE["services"]["moot"]


def test_moot_may_open_more_files_than_an_agent() -> None:
    (limits,) = re.findall(r"^LimitNOFILE=(\d+):(\d+)$", UNIT, re.M)
    agents, own = map(int, limits)
    assert agents == 1_024
    assert own >= 2 * ConnectionsTable().most + KEPT_FILES
