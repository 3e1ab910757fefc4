"""Backups: made while Moot writes, checked before anything is replaced, and restored whole."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from hashlib import sha256
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import insert, select, text

from adapters.own_files import delete_tree
from contract.chat import MOOT
from contract.errors import ConfigError
from gateway.audit.audit import Audit
from gateway.audit.chain import ANCHOR
from gateway.backup.archive import Manifest, read
from gateway.backup.backup import BackupOptions, back_up, back_up_daily, newest_first
from gateway.backup.restore import RestoredBy, restore_in_place, restore_to
from gateway.core.lock import hold
from gateway.settings.config import Config, load_config
from store.database import Store
from store.gateway_schema import bot_keys
from store.versions import HEAD
from tests.conftest import NewUrl
from tests.doubles.deep_folders import deep
from tests.doubles.service import Service, service

HOUSE = Path(__file__).parents[2]
Members = list[tuple[tarfile.TarInfo, bytes]]
AT = datetime(2026, 4, 21, 14, 2, 3, tzinfo=UTC)
WHO = RestoredBy(AT, HEAD)
RUNNING = """
[gateway]
listen = "127.0.0.1:0"
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""


async def moot(folder: Path, *words: str) -> str:
    """Run the command; return what it printed."""
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", "from gateway.main import main; main()", *words],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MOOT_HOME": str(folder),
            "PYTHONPATH": str(HOUSE),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def said(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {row[0] for row in connection.execute("SELECT content FROM messages")}


def message(content: str) -> dict[str, object]:
    metadata = {"source": "web", "sender_id": "web:andi", "sender_display_name": "Andi"}
    return {
        "content": content,
        "metadata": {**metadata, "sender_type": "human"},
        "room": {"id": "web:auth-team", "name": "auth-team"},
    }


class Load:
    """Writes without a pause until it is told to stop. stored: what Moot has acknowledged."""

    def __init__(self, moot: Service, client: aiohttp.ClientSession) -> None:
        self._url, self._client = moot.url, client
        self.stored: list[str] = []
        self._stop = False

    async def run(self) -> None:
        while not self._stop:
            words = f"number {len(self.stored)}"
            url = f"{self._url}api/passive"
            async with self._client.post(url, json=message(words)) as answer:
                assert answer.status in (200, 201, 202), await answer.text()
            self.stored.append(words)

    async def reaches(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.stored) < count:
                await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._stop = True


async def test_a_back_up_under_load_has_all_that_was_before_it_and_runs(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with (
        service(old, RUNNING) as running,
        aiohttp.ClientSession(headers=running.headers) as client,
    ):
        load = Load(running, client)
        async with asyncio.TaskGroup() as group:
            group.create_task(load.run())
            await load.reaches(50)
            before = set(load.stored)
            archive = (await moot(old, "backup")).splitlines()[0]
            during = len(load.stored)
            told = await moot(old, "restore", archive, "--to", str(new))  # while it runs
            load.stop()
        assert during > len(before)
        assert running.log().count("Traceback") == 0
    assert f"cd {new} && moot run" in told
    assert "is whole" in await moot(new, "audit", "verify")
    kept = said(new / "data" / "moot.db")
    assert before <= kept <= set(load.stored)
    assert said(old / "data" / "moot.db") == set(load.stored)  # nothing of the old was touched
    again = Service(new)
    await again.start()
    try:
        async with aiohttp.ClientSession(headers=again.headers) as client:
            body = {**message("@demo echo well"), "wait": True}
            async with client.post(f"{again.url}api/submit", json=body) as answer:
                assert "well" in json.dumps((await answer.json())["replies"])
    finally:
        await again.stop()
    assert kept < said(new / "data" / "moot.db")


async def test_the_audit_log_of_a_back_up_under_load_has_the_row_that_its_head_names(
    home: Config, tmp_path: Path
) -> None:
    data, new = home.gateway.data_dir, tmp_path / "new"
    for number in range(200):  # so that something is noted after the database was copied
        (data / "files" / f"{number}.bin").write_bytes(os.urandom(10_000))
    async with Store.open(home.store_url) as store:
        audit = Audit(store, lambda: AT, data / ANCHOR)
        await audit.note("start", MOOT)
        made = asyncio.create_task(asyncio.to_thread(backed_up, home))
        while not made.done():
            await audit.note("start", MOOT)
    restore_to(await made, new, WHO)
    async with Store.open(f"sqlite:///{new}/data/moot.db", read_only=True) as store:
        verdict = await Audit(store, lambda: AT, new / "data" / ANCHOR).verify("")
    assert (verdict.broken, verdict.rows > 0) == (None, True)


@pytest.fixture
async def home(tmp_path: Path) -> Config:
    """An installation with one message, its attachment, secrets, and an agent's HOME."""
    folder = tmp_path / "home"
    (folder / "personas").mkdir(parents=True)
    (folder / "personas" / "ada.md").write_text("---\nagent: demo\n---\nHi.\n")
    (folder / "moot.toml").write_text("[memory]\ninsights = false\n")
    (folder / "moot.env").write_text("SLACK_BOT_TOKEN=xoxb-planted\n")
    config = load_config(None, base=folder)
    await filled(config, "the first")
    return config


async def filled(config: Config, words: str) -> None:
    data = config.gateway.data_dir
    for name, content in {
        "files/slack_C1/F1/note.txt": "the note",
        "bots/matrix/account.json": "syt-planted",
        "bots/slack/slack_cursors.json": "{}",
        "scopes/one/claude/home/.claude/.credentials.json": "login-planted",
        "scopes/one/claude/work/run.sh": "#!/bin/sh",
        "memory/index.bin": "vectors",
        "backups/before-0003.db": "old",
        "preflight-x/left": "over",
    }.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(content)
    (data / "scopes/one/claude/work/run.sh").chmod(0o755)
    if not (data / "files" / "link").is_symlink():
        (data / "files" / "link").symlink_to("/etc/passwd")
    note = [{"name": "note.txt", "path": str(data / "files/slack_C1/F1/note.txt")}]
    async with Store.open(config.store_url) as store:
        await store.write(
            lambda c: c.execute(
                text(
                    "INSERT INTO messages (room_id, message_id, scope, sender_id, sender_name,"
                    " sender_type, hop, content, sent_at, received_at, include_in_memory, meta,"
                    " attachments) VALUES ('r', :id, 's', 'web:a', 'A', 'human', 0, :said, 1, 1,"
                    " true, '{}', :note)"
                ),
                {"id": words, "said": words, "note": json.dumps(note)},
            )
        )


def backed_up(config: Config, wanted: BackupOptions | None = None) -> Path:
    folder = config.gateway.data_dir.parent
    target = folder.parent / "out.tar.gz"
    target.unlink(missing_ok=True)
    back_up(config, folder / "moot.toml", target, wanted or BackupOptions(), AT)
    return target


def names(archive: Path) -> set[str]:
    return {item.name for item in read(archive).files}


async def test_it_has_what_is_needed_and_no_secret_unless_wanted(home: Config) -> None:
    archive = backed_up(home)
    assert archive.stat().st_mode & 0o777 == 0o600
    plain = names(archive)
    assert plain == {
        "moot.toml",
        "personas/ada.md",
        "data/moot.db",
        "data/files/slack_C1/F1/note.txt",
        "data/bots/slack/slack_cursors.json",
        "data/memory/index.bin",
    }
    assert b"planted" not in gzip.decompress(archive.read_bytes())
    scopes = names(backed_up(home, BackupOptions(scopes=True)))
    assert scopes - plain == {"data/scopes/one/claude/work/run.sh"}
    whole = names(backed_up(home, BackupOptions(scopes=True, secrets=True)))
    assert whole - scopes == {
        "moot.env",
        "data/bots/matrix/account.json",
        "data/scopes/one/claude/home/.claude/.credentials.json",
    }


async def test_a_huge_file_of_an_agent_is_left_out_though_it_is_holes(home: Config) -> None:
    work = home.gateway.data_dir / "scopes" / "room-x" / "demo" / "work"
    work.mkdir(parents=True, exist_ok=True)
    (work / "small").write_text("kept")
    with (work / "huge").open("wb") as file:
        file.truncate(10**12)
    found = names(backed_up(home, BackupOptions(scopes=True)))
    assert "data/scopes/room-x/demo/work/small" in found
    assert "data/scopes/room-x/demo/work/huge" not in found


@pytest.mark.parametrize("scopes", [False, True])
async def test_no_agent_can_keep_it_from_being_made(home: Config, scopes: bool) -> None:
    work = home.gateway.data_dir / "scopes" / "room-x" / "demo" / "work"
    work.mkdir(parents=True)
    deep(work, 2000)
    (work / "small").write_text("kept")
    os.mkfifo(work / "fifo")
    Path(os.fsdecode(bytes(work / "named-") + b"\xff")).touch()
    for end in ("-journal", "-wal"):  # SQLite opens what stands beside a database
        with closing(sqlite3.connect(work / f"base{end}.db")) as database:
            database.execute("PRAGMA journal_mode=WAL" if end == "-wal" else "SELECT 1")
            database.execute("CREATE TABLE a (b)")
        os.mkfifo(work / f"base{end}.db{end}")
    found = names(backed_up(home, BackupOptions(scopes=scopes)))
    base = "data/scopes/room-x/demo/work"
    assert ({f"{base}/small", f"{base}/base-wal.db"} <= found) == scopes
    delete_tree(work)


async def test_what_agents_keep_is_bounded_and_told_and_the_rest_comes_back_with_its_holes(
    home: Config, tmp_path: Path
) -> None:
    folder = home.gateway.data_dir.parent
    (folder / "moot.toml").write_text(
        "[backup]\nmost_file_gb = 0.1\nmost_scope_gb = 0.15\nmost_scope_files = 10\n"
    )
    scopes = home.gateway.data_dir / "scopes"
    for name, size in {"one/a-sparse": 90, "one/b-huge": 200, "one/c-beyond": 90}.items():
        with (scopes / name).open("wb") as file:
            file.truncate(size * 1_000_000)
            file.write(b"begin")
            file.seek(50_000_001)
            file.write(b"middle")
    (scopes / "many").mkdir()
    for number in range(25):
        (scopes / "many" / f"{number:02}").write_text("x")
    told = await moot(folder, "backup", "--scopes", str(tmp_path / "out.tar.gz"))
    assert "left out data/scopes/one/b-huge: 0.2 GB" in told
    assert "left out 1 file of data/scopes/one, 0.1 GB" in told
    assert "left out 15 files of data/scopes/many" in told
    kept = [name for name in names(tmp_path / "out.tar.gz") if "/scopes/many/" in name]
    assert len(kept) == 10
    await moot(folder, "restore", str(tmp_path / "out.tar.gz"), "--to", str(tmp_path / "new"))
    again = tmp_path / "new" / "data" / "scopes" / "one" / "a-sparse"
    assert again.read_bytes() == (scopes / "one" / "a-sparse").read_bytes()
    assert again.stat().st_blocks * 512 < 10_000_000
    assert not again.with_name("b-huge").exists()


async def test_in_a_new_folder_it_stands_on_its_own(home: Config, tmp_path: Path) -> None:
    archive = backed_up(home, BackupOptions(scopes=True))
    new = tmp_path / "new"
    lines = restore_to(archive, new, WHO)
    assert any("copy moot.env" in line for line in lines)
    config = load_config(None, base=new)
    assert config.memory.insights is False
    assert said(config.gateway.data_dir / "moot.db") == {"the first"}
    with closing(sqlite3.connect(new / "data" / "moot.db")) as connection:
        [(found,)] = connection.execute("SELECT attachments FROM messages")
    [note] = json.loads(found)
    assert Path(note["path"]).read_text() == "the note"
    assert Path(note["path"]).is_relative_to(new)
    assert os.access(new / "data/scopes/one/claude/work/run.sh", os.X_OK)
    async with Store.open(config.store_url):
        pass
    with pytest.raises(ConfigError, match="is there already"):
        restore_to(archive, new, WHO)


async def test_in_place_it_takes_force_and_keeps_what_was_there(home: Config) -> None:
    archive, folder = backed_up(home), home.gateway.data_dir.parent
    await filled(home, "the second")
    file = folder / "moot.toml"
    file.write_text("# changed\n")

    def restore(force: bool) -> list[str]:
        return restore_in_place(archive, home, file, WHO, force=force)

    with pytest.raises(ConfigError, match="say --force"):
        restore(False)
    with hold(home.gateway.data_dir), pytest.raises(ConfigError, match=r"stop it first.*--to"):
        restore(True)
    assert said(home.gateway.data_dir / "moot.db") == {"the first", "the second"}
    lines = restore(True)
    assert said(home.gateway.data_dir / "moot.db") == {"the first"}
    kept = folder / "data.before-20260421-140203"
    assert f"what was there is {kept}" in lines[0]
    assert said(kept / "moot.db") == {"the first", "the second"}
    assert file.read_text() == "[memory]\ninsights = false\n"
    assert (folder / "moot.toml.before-20260421-140203").read_text() == "# changed\n"
    assert not list(folder.glob(".restoring-*"))


async def test_where_nothing_is_it_needs_no_force_and_what_differs_is_kept(home: Config) -> None:
    archive, folder = backed_up(home), home.gateway.data_dir.parent
    shutil.rmtree(home.gateway.data_dir)
    (folder / "personas" / "ada.md").write_text("---\nagent: demo\n---\nMine.\n")
    lines = restore_in_place(archive, home, folder / "moot.toml", WHO, force=False)
    assert said(home.gateway.data_dir / "moot.db") == {"the first"}
    assert "Mine." in (folder / "personas" / "ada.md").read_text()
    assert any("--force takes it" in line for line in lines)
    assert not list(folder.glob("data.before-*"))


def rewritten(archive: Path, change: Callable[[tarfile.TarInfo, bytes], Members]) -> Path:
    """Another archive: `change` gives the members that each one becomes."""
    made = archive.with_name("changed.tar.gz")
    with tarfile.open(archive) as old, tarfile.open(made, "w:gz") as new:
        for member in old:
            file = old.extractfile(member)
            for info, data in change(member, file.read() if file else b""):
                info.size = len(data)
                new.addfile(info, io.BytesIO(data))
    return made


def with_member(archive: Path, info: tarfile.TarInfo, data: bytes = b"") -> Path:
    """One more file, and a manifest that owns up to it."""

    def change(member: tarfile.TarInfo, content: bytes) -> Members:
        if member.name != "manifest.json":
            return [(member, content)]
        told = json.loads(content)
        digest = sha256(data).hexdigest()
        told["files"].append({"name": info.name, "size": len(data), "sha256": digest})
        return [(info, data), (member, json.dumps(told).encode())]

    return rewritten(archive, change)


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    ("info", "sentence"),
    [
        (tarfile.TarInfo("/etc/cron.d/x"), "is no path of a backup"),
        (tarfile.TarInfo("data/../../x"), "is no path of a backup"),
        (tarfile.TarInfo("../x"), "is no path of a backup"),
        (tarfile.TarInfo("data//x"), "is no path of a backup"),
        (tarfile.TarInfo("data/./x"), "is no path of a backup"),
        (tarfile.TarInfo(".bashrc"), "is no path of a backup"),
        (tarfile.TarInfo("data/moot.db"), "is in it twice"),
        (special("data/link", tarfile.SYMTYPE, "/etc"), "is no plain file"),
        (special("data/hard", tarfile.LNKTYPE, "data/moot.db"), "is no plain file"),
        (special("data/pipe", tarfile.FIFOTYPE), "is no plain file"),
        (special("data/disk", tarfile.BLKTYPE), "is no plain file"),
        (special("data/folder", tarfile.DIRTYPE), "is no plain file"),
    ],
)
async def test_a_path_trick_is_refused_and_nothing_is_left(
    home: Config, tmp_path: Path, info: tarfile.TarInfo, sentence: str
) -> None:
    archive = with_member(backed_up(home), info)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match=sentence):
        restore_to(archive, tmp_path / "new", WHO)
    assert sorted(tmp_path.iterdir()) == before


async def test_what_was_changed_left_out_or_cut_off_is_found(home: Config, tmp_path: Path) -> None:
    archive = backed_up(home)

    def changed(member: tarfile.TarInfo, data: bytes) -> Members:
        return [(member, data.replace(b"the note", b"the vote"))]

    def without(member: tarfile.TarInfo, data: bytes) -> Members:
        return [] if member.name == "moot.toml" else [(member, data)]

    def headless(member: tarfile.TarInfo, data: bytes) -> Members:
        return [] if member.name == "manifest.json" else [(member, data)]

    def newer(member: tarfile.TarInfo, data: bytes) -> Members:
        here = f'"schema_version": "{HEAD}"'.encode()
        return [(member, data.replace(here, b'"schema_version": "0099"'))]

    for change, sentence in (
        (changed, "its SHA-256 differs"),
        (without, "is missing"),
        (headless, "it has no manifest"),
        (newer, "version 0099"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            restore_to(rewritten(archive, change), tmp_path / "new", WHO)
    whole = archive.read_bytes()
    for part in (whole[: len(whole) // 2], whole[: -len(whole) // 10], b"", b"no archive"):
        archive.write_bytes(part)
        with pytest.raises(ConfigError, match=r"damaged|no backup"):
            restore_to(archive, tmp_path / "new", WHO)
    assert not (tmp_path / "new").exists()


async def test_the_daily_ones_are_rotated(home: Config) -> None:
    few = home.model_copy(update={"backup": home.backup.model_copy(update={"keep": 2})})
    for day in range(4):
        await back_up_daily(few, AT + timedelta(days=day))
    kept = newest_first(home.gateway.data_dir / "backups")
    assert [path.name for path in kept] == [
        "moot-20260424-140203.tar.gz",
        "moot-20260423-140203.tar.gz",
    ]
    assert all(isinstance(read(path), Manifest) for path in kept)


async def test_what_a_killed_one_left_is_swept_and_what_may_be_under_way_is_not(
    home: Config,
) -> None:
    data = home.gateway.data_dir
    for age_h in (1, 25):
        (data / f".backup-{age_h}").mkdir()
        (data / "backups" / f".moot-{age_h}.tar.gz.partial").touch()
        then = AT.timestamp() - age_h * 3600
        os.utime(data / f".backup-{age_h}", (then, then))
        os.utime(data / "backups" / f".moot-{age_h}.tar.gz.partial", (then, then))
    backed_up(home)
    assert [path.name for path in data.glob(".backup-*")] == [".backup-1"]
    left = [path.name for path in (data / "backups").glob(".moot-*")]
    assert left == [".moot-1.tar.gz.partial"]


async def test_it_tells_how_many_files_are_in_it(home: Config) -> None:
    folder = home.gateway.data_dir.parent
    made = back_up(
        home, folder / "moot.toml", folder.parent / "counted.tar.gz", BackupOptions(), AT
    )
    assert len(made.files) == len(read(folder.parent / "counted.tar.gz").files) > 3


async def test_a_daily_one_has_the_moot_toml_that_moot_was_started_with(home: Config) -> None:
    elsewhere = home.gateway.data_dir.parent / "etc" / "own.toml"
    elsewhere.parent.mkdir()
    folders = f'[gateway]\ndata_dir = "{home.gateway.data_dir}"\n'
    elsewhere.write_text(f'{folders}timezone = "Asia/Tokyo"')
    await back_up_daily(load_config(elsewhere, base=elsewhere.parent), AT)
    [made] = newest_first(home.gateway.data_dir / "backups")
    restored = home.gateway.data_dir.parent / "restored"
    restore_to(made, restored, WHO)
    assert "Asia/Tokyo" in (restored / "moot.toml").read_text()


async def test_a_postgresql_is_dumped_and_its_dump_restores(
    home: Config, new_url: NewUrl, tmp_path: Path
) -> None:
    url, other = await new_url("postgresql"), await new_url("postgresql")
    config = home.model_copy(update={"store": home.store.model_copy(update={"url": url})})
    await filled(config, "in PostgreSQL")
    key = {"bot": "b", "device": "", "kind": "secret", "name": "account.json", "value": "syt-own"}
    async with Store.open(url) as store:
        await store.write(lambda c: c.execute(insert(bot_keys), key))
    archive = await asyncio.to_thread(backed_up, config)
    lines = restore_to(archive, tmp_path / "new", WHO)
    assert any("pg_restore" in line for line in lines)
    dump = tmp_path / "new" / "data" / "database.dump"
    subprocess.run(["pg_restore", "-d", other, str(dump)], check=True, timeout=60)
    async with Store.open(other) as store:
        found = await store.read(lambda c: c.execute(text("SELECT content FROM messages")).all())
        keys = await store.read(lambda c: c.execute(select(bot_keys)).all())
    assert [tuple(row) for row in found] == [("in PostgreSQL",)]
    assert keys == []  # they go along --with-secrets alone


async def test_a_back_up_without_secrets_has_none_of_moot_toml_and_of_the_bots(
    tmp_path: Path,
) -> None:
    own = RUNNING + '[agents.x]\nprofile = "demo"\nenv = { X_API_KEY = "canary-1-a8f7" }\n'
    async with service(tmp_path, own):
        kept = tmp_path / "data" / "bots" / "bb"
        kept.mkdir(parents=True)
        (kept / "webhook_secret").write_text("canary-2-b7e6")
        (kept / "history.json").write_text('{"webhooks": ["http://here/canary-2-b7e6"], "at": 7}')
        digests = tmp_path / "data" / "variables.json"
        digests.write_text('{"DISCORD_TOKEN": "canary-3-c5d4"}')
        told = await moot(tmp_path, "backup", "bare.tar.gz")
        await moot(tmp_path, "backup", "--with-secrets", "all.tar.gz")
    with tarfile.open(tmp_path / "bare.tar.gz") as archive:
        files = {m.name: (archive.extractfile(m) or io.BytesIO()).read() for m in archive}
    assert f"{len(files) - 1} files" in told
    assert not [name for name, data in files.items() if b"canary" in data]
    assert json.loads(files["data/bots/bb/history.json"])["at"] == 7
    assert b"[secret removed]" in files["moot.toml"]
    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        whole = archive.extractfile("moot.toml")
        assert whole is not None
        assert b"canary-1-a8f7" in whole.read()
    # The file that is here has its secrets, and is what the backup's was: it stays.
    said = await moot(tmp_path, "restore", "bare.tar.gz", "--force")
    assert "moot.toml" not in said
    assert (tmp_path / "moot.toml").read_text() == own
    said = await moot(tmp_path, "restore", "bare.tar.gz", "--to", "elsewhere")
    assert "moot.toml: fill in what says [secret removed]" in said


async def test_a_daily_backup_that_would_fill_the_disk_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is not ours to fill in a test: what it says of itself is."""
    config = load_config(None, base=tmp_path)
    async with Store.open(config.store_url):
        pass
    told: list[str] = []
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda path: usage._replace(free=500_000_000))
        await back_up_daily(config, AT, told=told.append)
    assert not newest_first(config.gateway.data_dir / "backups")
    assert "make room, or set [backup] keep lower" in told[0]
    await back_up_daily(config, AT, told=told.append)
    assert told[1:] == [""]
    assert len(newest_first(config.gateway.data_dir / "backups")) == 1


def test_backups_are_made_unless_somebody_says_never(tmp_path: Path) -> None:
    assert load_config(None, base=tmp_path).backup.at == time(3)
    (tmp_path / "moot.toml").write_text('[backup]\nevery = ""\n')
    assert load_config(None, base=tmp_path).backup.at is None
