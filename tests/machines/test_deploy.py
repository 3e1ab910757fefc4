"""The files of deploy/ for many machines: valid by their own rules, and their commands are run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gateway.settings.config import Config
from gateway.settings.tables import GatewayTable
from gateway.workers.broker import find
from gateway.workers.credentials import FOLDER, RULES, add
from tests.doubles import postgres
from tests.doubles.matrix import sampled
from tests.doubles.ports import free_port
from tests.doubles.service import HOUSE
from tests.machines.house import until

DEPLOY = HOUSE / "deploy"
SCHEMA = HOUSE / "tests" / "clients" / "compose" / "compose-spec.json"  # Apache-2.0, beside it
VALID = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text("utf-8")))
COMPOSE_FILES = ("compose.yaml", "machines.compose.yaml")
UNITS = ("moot.service", "moot-worker@.service", "moot-broker.service")
MOOT = [sys.executable, "-c", "from gateway.main import main; main()"]
INSTALLED = "/opt/moot/.venv/bin/"


def compose(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text("utf-8"))


def of_unit(name: str, key: str) -> list[str]:
    """The values of a key, as they stand."""
    return re.findall(rf"^{key}=(.*)$", (DEPLOY / name).read_text("utf-8"), re.M)


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_compose_files_are_valid_by_the_specification(name: str) -> None:
    VALID.validate(compose(name))


def test_the_schema_refuses_what_no_compose_knows() -> None:
    wrong = compose("machines.compose.yaml")
    wrong["services"]["worker"]["restarts"] = "always"
    with pytest.raises(jsonschema.ValidationError):
        VALID.validate(wrong)


def test_both_gateways_and_the_worker_are_as_they_must_be() -> None:
    made = compose("machines.compose.yaml")
    services = made["services"]
    grace = int(services["worker"]["stop_grace_period"].removesuffix("s"))
    assert grace >= GatewayTable().shutdown_s + 20
    mounted = {volume.partition(":")[0] for one in services.values() for volume in one["volumes"]}
    assert {name for name in mounted if not name.startswith("./")} == set(made["volumes"])
    assert services["gateway"]["volumes"][0] != services["standby"]["volumes"][0]
    assert not any("keys" in volume for volume in services["worker"]["volumes"])
    assert Config.model_validate(tomllib.loads((DEPLOY / "machines.toml").read_text())).workers


@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_unit(tmp_path: Path, name: str) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd here")
    unit = tmp_path / name.replace("@", "@w1")
    text = (DEPLOY / name).read_text("utf-8")
    unit.write_text(re.sub(rf"{INSTALLED}\S+", "/bin/true", text))
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert [line for line in ran.stderr.splitlines() if unit.name in line] == []


def test_whoever_stops_a_worker_waits_longer_than_it_does() -> None:
    [stop] = of_unit("moot-worker@.service", "TimeoutStopSec")
    assert int(stop) >= GatewayTable().shutdown_s + 20
    assert of_unit("moot-worker@.service", "KillMode") == ["mixed"]


# ── The commands, run ───────────────────────────────────────────────────────────────────


def by_compose() -> Mapping[str, Sequence[str]]:
    """What each container runs; the image's ENTRYPOINT comes before Moot's."""
    services = compose("machines.compose.yaml")["services"]
    named = ("broker", "gateway", "standby", "worker")
    return {name: list(services[name]["command"]) for name in named}


def by_systemd() -> Mapping[str, Sequence[str]]:
    """What each unit runs."""
    given = {"%i": "w1", "${BROKER}": "nats://broker:4222", "${SEATS}": "24"}
    found = {}
    for name, unit in zip(("gateway", "worker", "broker"), UNITS, strict=True):
        [line] = of_unit(unit, "ExecStart")
        program, *words = (given.get(word, word) for word in shlex.split(line))
        assert program in (f"{INSTALLED}moot", f"{INSTALLED}nats-server")
        found[name] = words
    return {**found, "standby": found["gateway"]}


class House:
    """The processes, by their names."""

    def __init__(self, folder: Path, places: Mapping[str, str]) -> None:
        """places: what stands in the files, and where it is here."""
        self.folder, self.places = folder, places
        self.running: dict[str, asyncio.subprocess.Process] = {}

    def home(self, name: str) -> Path:
        return self.folder / name

    def here(self, text: str) -> str:
        """The text with the names of this machine."""
        for there, place in self.places.items():
            text = text.replace(there, place)
        return text

    def log(self, name: str) -> str:
        return (self.home(name) / "log").read_text("utf-8", "replace")

    def logged(self, name: str, event: str) -> bool:
        return event in self.log(name)

    async def start(self, name: str, words: Sequence[str], **environment: str) -> None:
        """Run a command as it stands in the file, but for the places."""
        home = self.home(name)
        words = [str(home / "data") if word == "/data" else word for word in words]
        argv = [find() if name == "broker" else "", *(self.here(word) for word in words)]
        argv = argv if name == "broker" else [*MOOT, *argv[1:]]
        argv = [str(home / "moot.toml") if w == "/etc/moot/moot.toml" else w for w in argv]
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(HOUSE)}
        env |= {"HOME": str(home), "MOOT_HOME": str(home), "MOOT_DEMO_PACE": "0", **environment}
        with (home / "log").open("ab") as log:
            self.running[name] = await asyncio.create_subprocess_exec(
                *argv, cwd=home, env=env, stdout=log, stderr=log
            )

    async def ask(self, text: str) -> str:
        """`moot ask`, beside the gateway."""
        home = self.home("gateway")
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "MOOT_HOME": str(home)}
        asking = await asyncio.create_subprocess_exec(
            *MOOT, "ask", text, cwd=home, env={**env, "PYTHONPATH": str(HOUSE)},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        return (await asking.communicate())[0].decode()


@asynccontextmanager
async def deployed(folder: Path, commands: Mapping[str, Sequence[str]]) -> AsyncIterator[House]:
    """Everything that the files say, on this machine."""
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    with postgres.server() as server:
        url = await postgres.new_database(server)
        broker, pages = free_port(), [free_port(), free_port()]
        places = {
            "broker:4222": f"127.0.0.1:{broker}",
            "0.0.0.0:4222": f"127.0.0.1:{broker}",
            "postgresql://moot@database/moot": url,
            "/etc/nats/nats.conf": str(folder / "broker" / "nats.conf"),
            "/etc/moot-broker/nats.conf": str(folder / "broker" / "nats.conf"),
            "/var/lib/moot-broker": str(folder / "broker" / "data"),
        }
        house = House(folder, places)
        for name in ("broker", "gateway", "standby", "worker"):
            house.home(name).mkdir()
        config = house.here((DEPLOY / "machines.toml").read_text())
        key = add(house.home("gateway") / "data", "w1").read_text().strip()
        for name, port in zip(("gateway", "standby"), pages, strict=True):
            own = config if "--listen" in commands[name] else _listens(config, port)
            (house.home(name) / "moot.toml").write_text(own)
        shutil.copytree(house.home("gateway") / "data", house.home("standby") / "data")
        keys = house.home("gateway") / "data" / FOLDER
        (house.home("broker") / "workers").mkdir()
        shutil.copy(keys / RULES, house.home("broker") / "workers" / RULES)
        text = (DEPLOY / "nats.conf").read_text()
        (house.home("broker") / "nats.conf").write_text(house.here(text))
        try:
            await house.start("broker", commands["broker"])
            for name, port in zip(("gateway", "standby"), pages, strict=True):
                words = [word.replace("0.0.0.0:8377", f"0.0.0.0:{port}") for word in commands[name]]
                await house.start(name, words)
                event = {"gateway": "lead.ours", "standby": "gateway.stands_by"}[name]
                await until(partial(house.logged, name, event), event)
            await house.start("worker", commands["worker"], MOOT_WORKER_KEY=key)
            await until(lambda: "worker.heard" in house.log("gateway"), "the worker is heard")
            house.places = {**places, "8377": str(pages[1])}
            yield house
        finally:
            for one in house.running.values():
                if one.returncode is None:
                    one.kill()
                    await one.wait()


def _listens(config: str, port: int) -> str:
    return f'[gateway]\nlisten = "127.0.0.1:{port}"\n{config}'


async def well(house: House) -> int:
    """The exit code of the health check of the gateway that stands by."""
    check = compose("machines.compose.yaml")["services"]["standby"]["healthcheck"]["test"]
    words = [house.here(word) for word in check[1:]]
    ran = await asyncio.create_subprocess_exec(sys.executable, *words[1:])
    return await ran.wait()


@pytest.mark.parametrize("by", sampled(("compose", "systemd"), "systemd"))
async def test_what_the_files_run_answers_and_ends(tmp_path: Path, by: str) -> None:
    commands = by_compose() if by == "compose" else by_systemd()
    async with deployed(tmp_path, commands) as house:
        assert "hello from a worker" in await house.ask("@demo echo hello from a worker")
        assert '"session.opened"' in house.log("worker")
        assert await well(house) == 0
        for name in ("worker", "standby", "gateway"):
            house.running[name].terminate()
            async with asyncio.timeout(40):
                assert await house.running[name].wait() == 0
