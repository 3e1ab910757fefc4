"""Each platform is one folder with one set of file names, and one line in a table."""

import ast
from pathlib import Path

import pytest

from bots import PLATFORMS
from bots.platforms import SPECS

BOTS = Path(__file__).parents[2] / "bots"
UNIFORM = {
    "__init__",
    "api",
    "backfill",
    "bot",
    "check",
    "connection",
    "directory",
    "events",
    "files",
    "inbound",
    "posts",
    "reactions",
    "settings",
    "text",
    "wire",
}
EXTRAS = {
    # a question's buttons, one cursor a channel, menus, own threads
    "discord": {"buttons", "cursors", "interactions", "threads"},
    # end-to-end encryption, whom it follows, and a sign-in without passwords
    "matrix": {"encryption", "invites", "keys", "oauth"},
    "rocketchat": {"ddp", "escapes"},  # a protocol of its own, and a parser that misreads much
    "slack": {"streams"},  # an answer that grows in place
}
BELOW = {"kit", "markdown"}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_has_exactly_the_set_of_files(platform: str) -> None:
    found = {path.stem for path in (BOTS / platform).glob("*.py")}
    assert found == UNIFORM | EXTRAS.get(platform, set())


def test_the_table_names_every_folder_and_each_calls_itself_so() -> None:
    folders = {path.name for path in BOTS.iterdir() if (path / "__init__.py").is_file()}
    assert folders - BELOW == set(PLATFORMS)
    assert [spec.name for spec in SPECS.values()] == list(PLATFORMS)


def imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    plain = (node.names for node in nodes if isinstance(node, ast.Import))
    return found | {alias.name for names in plain for alias in names}


@pytest.mark.parametrize("platform", [*PLATFORMS, *sorted(BELOW)])
def test_no_platform_knows_another_and_the_kit_knows_none(platform: str) -> None:
    others = {f"bots.{other}" for other in PLATFORMS if other != platform}
    for path in (BOTS / platform).rglob("*.py"):
        known = {".".join(name.split(".")[:2]) for name in imports(path)}
        assert not known & others, path.name
