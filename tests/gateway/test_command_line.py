"""The command `moot`, as somebody types it who does not know it yet."""

import io
import os
import pty
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest

from gateway.cli.colours import mark
from gateway.cli.commands import GROUPS, make_parser
from gateway.cli.programs import SHELLS
from tests.gateway.command_page import PAGE, rendered


def typed(*words: str) -> tuple[int, str]:
    """The exit code of `moot` with these words, and all that it printed."""
    moot = Path(sys.executable).parent / "moot"
    done = subprocess.run([moot, *words], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_it_tells_its_version() -> None:
    assert typed("--version") == (0, f"moot {version('moot')}\n")


@pytest.mark.parametrize("words", [(), ("help",), ("--help",)])
def test_alone_or_asked_for_help_it_lists_the_commands_by_groups(words: tuple[str, ...]) -> None:
    code, told = typed(*words)
    assert code == 0
    places = [told.index(word) for word in ("The first day:", "start Moot", "Every day:", "doctor")]
    assert places == sorted(places)


def test_every_command_is_in_a_group_with_a_line_of_help_and_an_example_that_parses() -> None:
    parser = make_parser()
    helps = {action.dest: action.help for action in parser.subcommands()}
    examples = {name: example for names in GROUPS.values() for name, example in names.items()}
    assert {*helps} - {"help"} == {*examples}
    assert all(helps.values())
    for name, example in examples.items():
        words = shlex.split(example.removeprefix('eval "$(').removesuffix(')"'))
        assert words[:2] == ["moot", name]
        parser.parse_args(words[1:])  # exits where it is refused
        assert example in parser.below(name).format_help()


def test_help_of_a_command_and_of_one_below_it() -> None:
    assert typed("help", "restore") == typed("restore", "--help")
    assert "usage: moot access grant" in typed("help", "access", "grant")[1]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("chekc", "moot: there is no command 'chekc'; did you mean check? `moot help` shows how"),
        ("zzz", "moot: there is no command 'zzz'; `moot help` shows how"),
        (
            "memory lst",
            "moot memory: there is no command 'lst'; did you mean list? "
            "`moot help memory` shows how",
        ),
        (
            "check --ofline",
            "moot check: there is no option --ofline; did you mean --offline? "
            "`moot help check` shows how",
        ),
        (
            "access grant slack:U1 ownr",
            "moot access grant: role: there is no choice 'ownr'; did you mean owner? "
            "`moot help access grant` shows how",
        ),
        (
            "run --log loud",
            "moot run: --log: there is no choice 'loud', but DEBUG, INFO, WARNING, ERROR; "
            "`moot help run` shows how",
        ),
        ("invite", "moot invite: NAME is missing; `moot help invite` shows how"),
        (
            "check now",
            "moot check: there is one word too many: 'now'; `moot help check` shows how",
        ),
    ],
)
def test_a_mistyped_word_is_answered_with_the_one_that_was_meant(
    line: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args(line.split())
    assert (ended.value.code, capsys.readouterr().err) == (2, f"{answer}\n")


def on_a_terminal(*words: str, **more: str) -> str:
    """What `moot` writes on a terminal with these words."""
    ours, theirs = pty.openpty()
    moot = Path(sys.executable).parent / "moot"
    env = {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", **more}
    process = subprocess.Popen([moot, *words], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    told = b""
    with suppress(OSError):  # its end
        while part := os.read(ours, 65536):
            told += part
    os.close(ours)
    process.wait(60)
    return told.decode()


def test_on_a_terminal_help_has_colours_unless_somebody_wants_none() -> None:
    assert "\x1b[1mThe first day:\x1b[0m" in on_a_terminal("help")
    for wish in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal("help", **wish)
    assert "\x1b" not in typed("help")[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_of_a_diagnosis_has_its_mark_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert mark("✗ data: full", Terminal()) == "\x1b[31m✗\x1b[0m data: full"
    assert mark("data: full", Terminal()) == "data: full"
    assert mark("✗ data: full", io.StringIO()) == "✗ data: full"


# ── Completion ──────────────────────────────────────────────────────────────────────────────

COMPLETED = [
    (("che",), ["check"]),
    (("access", "gra"), ["grant"]),
    (("run", "--lo"), ["--log", "--log-format"]),
    (("run", "--log", "D"), ["DEBUG"]),
    (("restore", "back"), ["backup.tar.gz"]),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `moot completion` prints for each shell, and a file."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "backup.tar.gz").touch()
    for shell in SHELLS:
        code, script = typed("completion", shell)
        assert code == 0
        (folder / shell).write_text(script)
    return folder


def shell(folder: Path, *command: str) -> list[str]:
    """The words that a shell prints."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=True, timeout=60
    )
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("words", "meant"), COMPLETED, ids=lambda value: " ".join(value))
def test_bash_completes(scripts: Path, words: tuple[str, ...], meant: list[str]) -> None:
    line = " ".join(words)
    code = (
        f"source ./bash; COMP_WORDS=(moot {line}); COMP_CWORD={len(words)}; "
        f'_shtab_moot moot {words[-1]} {(("moot", *words))[-2]}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    assert shell(scripts, "bash", "--norc", "-c", code) == meant


@pytest.mark.parametrize(("words", "meant"), COMPLETED, ids=lambda value: " ".join(value))
def test_fish_completes(scripts: Path, words: tuple[str, ...], meant: list[str]) -> None:
    code = f"source ./fish; complete -C'moot {' '.join(words)}'"
    assert shell(scripts, "fish", "--no-config", "-c", code) == meant


def test_zsh_takes_it(scripts: Path) -> None:
    code = 'autoload -Uz compinit; compinit -u -D; eval "$(cat ./zsh)"; print $_comps[moot]'
    assert shell(scripts, "zsh", "-f", "-c", code) == ["_shtab_moot"]


def test_a_backup_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "moot.db").write_bytes(b"")
    (tmp_path / "moot.toml").write_text("")
    missing = tmp_path / "nosuch.tar.gz"
    assert typed("restore", str(missing), "--config", str(tmp_path / "moot.toml")) == (
        2,
        f"moot: {missing}: there is no such file\n",
    )


def test_the_page_of_the_command_line_is_not_stale() -> None:
    page = PAGE.read_text("utf-8")
    assert page == rendered(page), "run: python -m tests.gateway.command_page"
