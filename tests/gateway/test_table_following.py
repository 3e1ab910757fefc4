"""moot.toml of each machine, and the tables that all of them go by."""

import errno
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.app.bot_states import GATEWAY, BotKeys, BotStates
from gateway.core.redaction import Redactor
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.config import load_config
from gateway.settings.editing import following
from gateway.settings.editing.following import TableFollower
from gateway.settings.editing.forms import form_of
from gateway.settings.editing.secrets import LoginEnvironment, SecretFollower
from gateway.settings.env_file import parse_env, with_secrets
from gateway.settings.limits import LimitsTable, LimitTable
from store.database import Store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "moot.toml"


class Machine:
    """One that starts on a database, with a file."""

    own: Mapping[str, str] = {}  # what its environment says

    def __init__(self, store: Store, file: Path, data_dir: Path) -> None:
        data_dir.mkdir(exist_ok=True)
        self.store, self.file, self.data_dir = store, file, data_dir
        self.start()

    def start(self, *, leads: bool = True) -> None:
        keys = BotKeys("", self.data_dir)
        states = BotStates(self.data_dir, keys)
        states.open(self.store)
        self.states, self.keys = states.of(GATEWAY), keys.of(GATEWAY)
        self.environment = dict(with_secrets(self.own, self.file, base=self.data_dir))
        self.follower = TableFollower(
            self.states,
            SecretFollower(
                self.keys,
                LoginEnvironment(self.environment, Redactor().learn),
                leads=leads,
                file=self.env,
                data_dir=self.data_dir,
            ),
            leads=leads,
            file=self.file,
            data_dir=self.data_dir,
            fault=self.fault,
        )

    @property
    def env(self) -> Path:
        return self.file.with_name("moot.env")

    def keep(self, text: str) -> None:
        """Write moot.env."""
        self.env.write_text(text)
        self.env.chmod(0o600)

    def fault(self, tables: Mapping[str, Any]) -> str:
        """A bot needs a token."""
        missing = [bot for bot in tables["bots"] if not self.environment.get("DISCORD_TOKEN")]
        return "set DISCORD_TOKEN" if missing else ""

    async def bots(self) -> list[str]:
        """Its bots, with whom they have."""
        held = (await self.follower.follow())["bots"]
        return [f"{bot.own_name}: {' '.join(bot.personas)}" for bot in held]

    async def people(self) -> set[str]:
        """Those whom it lets in, once it has looked."""
        return set((await self.follower.follow())["access"].people)


async def test_a_table_that_cannot_be_written_holds_at_each_start(
    store: Store, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mounted_to_be_read(files: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(file))

    file.write_text('[access]\npeople = ["fake:ann"]\n')
    assert await Machine(store, file, tmp_path / "one").people() == {"fake:ann"}
    monkeypatch.setattr(following, "write_all", mounted_to_be_read)
    other = Machine(store, tmp_path / "other.toml", tmp_path / "two")
    with capture_logs() as logs:
        for _ in range(2):
            assert await other.people() == {"fake:ann"}
    assert [line["event"] for line in logs] == ["settings.not_followed"]
    other.start()
    assert await other.people() == {"fake:ann"}


async def test_one_file_of_two_machines_is_left_alone(
    store: Store, file: Path, tmp_path: Path
) -> None:
    first, second = (Machine(store, file, tmp_path / name) for name in ("one", "two"))
    for people in ('"fake:ann"', '"fake:ann", "fake:ben"', ""):
        file.write_text(f"# ours\n[access]\npeople = [{people}]\n")
        first.start()
        wanted = await first.people()
        assert await second.people() == wanted
        assert file.read_text() == f"# ours\n[access]\npeople = [{people}]\n"
    assert not file.with_name("moot.toml.bak").exists()


async def test_a_table_of_a_newer_version_is_told_of_and_not_taken(
    store: Store, file: Path, tmp_path: Path
) -> None:
    file.write_text('[access]\npeople = ["fake:ann"]\n')
    first = Machine(store, file, tmp_path / "one")
    await first.people()
    await first.states.write("moot.toml", '{"access":{"people":["fake:ben"],"news":1}}')
    with capture_logs() as logs:
        assert await first.people() == {"fake:ann"}
    assert [line["event"] for line in logs] == ["settings.not_followed"]
    assert "fake:ann" in file.read_text()


def test_the_order_of_people_makes_no_other_table() -> None:
    one, other = (
        AccessTable(
            people=frozenset(people), grants=(GrantTable(role="owner", people=frozenset(people)),)
        )
        for people in (["fake:a", "fake:b", "fake:c"], ["fake:c", "fake:b", "fake:a"])
    )
    assert form_of(one) == form_of(other)


@pytest.mark.parametrize("broken", ["[access\n", "[access]\npeople = 3\n", "[access]\nnews = 1\n"])
async def test_beside_a_broken_file_the_databases_table_holds_and_the_file_is_left_alone(
    store: Store, file: Path, tmp_path: Path, broken: str
) -> None:
    file.write_text('[access]\npeople = ["fake:ann"]\n')
    await Machine(store, file, tmp_path / "one").people()
    (other := tmp_path / "other.toml").write_text(broken)
    second = Machine(store, other, tmp_path / "two")
    with capture_logs() as logs:
        for _ in range(2):
            assert await second.people() == {"fake:ann"}
    assert [line["event"] for line in logs] == ["settings.not_followed"]
    assert other.read_text() == broken


async def test_a_table_without_a_limit_that_replaces_the_general_one_follows(
    store: Store, file: Path, tmp_path: Path
) -> None:
    file.write_text("[limits.person]\nquestions_a_day = 9\n[limits.guest]\nusd_a_day = 1.0\n")
    first = Machine(store, file, tmp_path / "one")
    (other := tmp_path / "other.toml").write_text(file.read_text())
    second = Machine(store, other, tmp_path / "two")
    for machine in (first, second):
        await machine.follower.follow()
    file.write_text('[limits.guest]\n[limits.people."fake:ann"]\n')
    for machine in (first, second, second):
        held = (await machine.follower.follow())["limits"]
        assert held == LimitsTable(guest=LimitTable(), people={"fake:ann": LimitTable()})
    assert load_config(other, base=tmp_path).limits == held


async def test_a_mistake_in_one_table_holds_up_no_other(
    store: Store, file: Path, tmp_path: Path
) -> None:
    file.write_text('[access]\npeople = ["fake:ann"]\n[limits.person]\nquestions_a_day = 9\n')
    await Machine(store, file, tmp_path / "one").follower.follow()
    (other := tmp_path / "other.toml").write_text("[limits]\nperson = 3\n")
    second = Machine(store, other, tmp_path / "two")
    with capture_logs() as logs:
        held = await second.follower.follow()
    assert held["limits"].person.questions_a_day == 9
    assert held["access"].people == {"fake:ann"}
    assert "person = 3" in other.read_text()
    assert "fake:ann" in other.read_text()
    assert [line["event"] for line in logs] == ["settings.followed", "settings.not_followed"]


async def test_beside_the_one_that_leads_an_edit_does_not_count_yet(
    store: Store, file: Path, tmp_path: Path
) -> None:
    file.write_text('[access]\npeople = ["fake:ann"]\n')
    await Machine(store, file, tmp_path / "one").follower.follow()
    (other := tmp_path / "other.toml").write_text(file.read_text())
    second = Machine(store, other, tmp_path / "two")
    await second.follower.follow()
    other.write_text('[access]\npeople = ["fake:bob"]\n')
    second.start(leads=False)
    assert await second.people() == {"fake:ann"}
    assert "fake:bob" in other.read_text()
    second.start()
    assert await second.people() == {"fake:bob"}


# ── Bots and their secrets ──────────────────────────────────────────────────────────────

BOT = """\
# ours
[[bots]] # the guild's
platform = "discord"
personas = ["ada"]
require_mention = true # as by default
"""


def written(machine: Machine) -> dict[str, str]:
    """The variables of its moot.env, which nobody else may read."""
    assert stat.S_IMODE(machine.env.stat().st_mode) == 0o600
    return parse_env(machine.env.read_text(), "moot.env")


@pytest.fixture
def machines(store: Store, tmp_path: Path) -> tuple[Machine, Machine]:
    made = []
    for name in ("one", "two"):
        (folder := tmp_path / name).mkdir()
        made.append(Machine(store, folder / "moot.toml", folder / "data"))
    return made[0], made[1]


async def sharing(machines: tuple[Machine, Machine]) -> tuple[Machine, Machine]:
    """The first one leads, and its bot and secret are on both."""
    first, second = machines
    first.file.write_text(BOT)
    first.keep("DISCORD_TOKEN=a-token\n")
    first.start()
    second.start(leads=False)
    for machine in machines:
        await machine.bots()
    return machines


async def test_a_bot_comes_with_its_secret_and_goes_with_it(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = machines
    first.file.write_text(BOT)
    first.keep("DISCORD_TOKEN=a-token\nMATTER=ours\nOPENAI_API_KEY=k\n")
    second.keep("# theirs\nOTHER=1\n")
    first.start()
    second.start(leads=False)
    for machine in machines:
        assert await machine.bots() == ["discord: ada"]
    assert written(second) == {"OTHER": "1", "DISCORD_TOKEN": "a-token", "OPENAI_API_KEY": "k"}
    assert second.environment["DISCORD_TOKEN"] == "a-token"
    first.file.write_text(BOT + '[[bots]]\nplatform = "discord"\nname = "b"\npersonas = ["bob"]\n')
    first.keep("DISCORD_TOKEN_B=b-token\nDISCORD_TOKEN=another\n")
    first.start()
    for machine in machines:
        assert sorted(await machine.bots()) == ["b: bob", "discord: ada"]
    assert written(second) == {
        "OTHER": "1", "DISCORD_TOKEN": "another", "DISCORD_TOKEN_B": "b-token",
    }  # fmt: skip
    first.file.write_text("# ours\n")
    first.keep("")
    first.start()
    for machine in machines:
        assert await machine.bots() == []
    assert second.env.read_text() == "# theirs\nOTHER=1\n"
    assert "DISCORD_TOKEN" not in second.environment


async def test_a_bot_that_is_as_it_was_stays_as_it_is_written(
    machines: tuple[Machine, Machine],
) -> None:
    for machine in machines:
        machine.file.write_text(BOT)
        machine.keep("DISCORD_TOKEN=a-token\n")
        machine.start()
        await machine.bots()
    first, second = machines
    first.file.write_text(BOT + '[[bots]]\nplatform = "discord"\nname = "b"\npersonas = ["bob"]\n')
    for machine in machines:
        await machine.bots()
    assert second.file.read_text().startswith(BOT)
    assert 'name = "b"' in second.file.read_text()


async def test_a_bot_whose_address_has_another_name_here_follows_all_the_same(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = machines
    bot = '[[bots]]\nplatform = "rocketchat"\npersonas = ["ada"]\n{} = "https://{}.example.org"\n'
    for machine, key in zip(machines, ("url", "api_url"), strict=True):
        machine.keep("DISCORD_TOKEN=a-token\n")
        machine.file.write_text(bot.format(key, "one"))
        machine.start()
        await machine.bots()
    first.file.write_text(bot.format("url", "two"))
    first.start()
    for machine in machines:
        [held] = (await machine.follower.follow())["bots"]
        assert held.url == "https://two.example.org"
    [told] = load_config(second.file, base=second.data_dir).bots
    assert told == held


async def test_a_bot_without_its_secret_is_told_of_and_left_out_until_it_is_there(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = machines
    first.own = {"DISCORD_TOKEN": "of-the-service"}
    first.file.write_text(BOT)
    first.start()
    second.start(leads=False)
    assert await first.bots() == ["discord: ada"]
    with capture_logs() as logs:
        for _ in range(2):
            assert await second.bots() == []
    assert [(line["event"], line["reason"]) for line in logs] == [
        ("settings.not_followed", "set DISCORD_TOKEN")
    ]
    assert not second.file.exists()
    second.keep("DISCORD_TOKEN=by-hand\n")
    second.start(leads=False)
    assert await second.bots() == ["discord: ada"]
    assert second.file.exists()


async def test_what_the_environment_says_is_each_machines_own(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = machines
    for machine in machines:
        machine.file.write_text(BOT)
    first.keep("DISCORD_TOKEN=a-token\n")
    second.own = {"DISCORD_TOKEN": "of-the-service"}
    first.start()
    await first.bots()
    second.start()
    assert await second.bots() == ["discord: ada"]
    assert second.environment["DISCORD_TOKEN"] == "of-the-service"
    assert not second.env.exists()
    assert dict(await first.keys.load(""))["variable", "DISCORD_TOKEN"] == "a-token"


async def test_a_database_that_lost_its_secrets_takes_none_away(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = await sharing(machines)
    rows = [name for name, _ in await first.keys.load("")]
    await first.keys.save("", dict.fromkeys(rows))
    await second.bots()
    assert written(second)["DISCORD_TOKEN"] == "a-token"
    second.start()
    await second.bots()
    assert dict(await first.keys.load(""))["variable", "DISCORD_TOKEN"] == "a-token"


async def test_a_moot_env_with_a_mistake_is_told_of_and_left_alone(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = machines
    first.file.write_text(BOT)
    first.keep("DISCORD_TOKEN=a-token\n")
    first.start()
    await first.bots()
    await second.bots()
    second.keep("no line of it\n")
    with capture_logs() as logs:
        assert await second.bots() == ["discord: ada"]
    assert [line["event"] for line in logs] == ["settings.not_followed"]
    assert "a-token" not in str(logs)
    assert second.env.read_text() == "no line of it\n"


async def test_a_file_that_was_lost_takes_nothing_away(machines: tuple[Machine, Machine]) -> None:
    first, second = await sharing(machines)
    second.env.unlink()
    second.file.unlink()
    second.start()
    assert await second.bots() == ["discord: ada"]
    assert written(second) == {"DISCORD_TOKEN": "a-token"}
    assert second.file.exists()
    assert await first.bots() == ["discord: ada"]
