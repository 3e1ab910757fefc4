"""The whole way: what lies in the data directory is for Moot's account alone."""

from pathlib import Path

from tests.doubles.service import service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n'


def open_to_others(data: Path) -> dict[str, str]:
    """Files and folders that others have rights to, with their modes."""
    return {
        str(path.relative_to(data)): oct(path.stat().st_mode & 0o777)
        for path in (data, *data.rglob("*"))
        if path.stat().st_mode & 0o077 and not path.is_symlink()
    }


async def test_nobody_else_reads_the_data_also_where_the_folder_was_open(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("files/old", "memory", "bots/x"):
        (data / name).mkdir(parents=True)
    (data / "files/old/plan.txt").write_text("a plan")
    for path in (data, *data.rglob("*")):
        path.chmod(0o775 if path.is_dir() else 0o664)
    async with service(tmp_path, CONFIG) as running:
        assert (data / "moot.db-wal").exists()
        assert open_to_others(data) == {}
        await running.stop()
    assert open_to_others(data) == {}


async def test_what_agents_made_keeps_its_mode(tmp_path: Path) -> None:
    script = tmp_path / "data" / "scopes" / "room-x" / "demo" / "work" / "run.sh"
    script.parent.mkdir(parents=True)
    script.write_text("")
    script.chmod(0o755)
    async with service(tmp_path, CONFIG):
        pass
    assert script.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "data" / "scopes").stat().st_mode & 0o777 == 0o700
