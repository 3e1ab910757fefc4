"""moot.toml of each machine, and the tables that all of them go by."""

import errno
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.app.bot_states import GATEWAY, BotStates
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.config import load_config
from gateway.settings.editing import following
from gateway.settings.editing.following import TableFollower
from gateway.settings.editing.forms import form_of
from gateway.settings.limits import LimitsTable, LimitTable
from store.database import Store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "moot.toml"


class Machine:
    """One that starts on a database, with a file."""

    def __init__(self, store: Store, file: Path, data_dir: Path) -> None:
        data_dir.mkdir(exist_ok=True)
        self.store, self.file, self.data_dir = store, file, data_dir
        self.start()

    def start(self, *, leads: bool = True) -> None:
        states = BotStates(self.data_dir)
        states.open(self.store)
        self.states = states.of(GATEWAY)
        self.follower = TableFollower(
            self.states, leads=leads, file=self.file, data_dir=self.data_dir
        )

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
