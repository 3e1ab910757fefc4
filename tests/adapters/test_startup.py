"""From a profile to a command line, its environment and the files in its HOME."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.cli_profile import Environment, HomeFile, Profile, Program, Setting
from adapters.session.session import last_words
from adapters.session.startup import prepare, setting_of
from contract.errors import AgentError
from tests.doubles.programs import changed

PROFILE = Profile(
    name="x",
    title="X",
    agent="X agent",
    program=Program(
        begin=("sh", "--id", "{session_id}"),
        resume=("sh", "--resume", "{session_id}"),
        options=(("--model", "{model}"), ("--config", '{"url": "{hook_url}", "{other}": 1}')),
    ),
    environment=Environment(env=(("X_HOME", "{home}/x"), ("LANG", "de_DE.UTF-8"))),
)


def setting(launch: Launch, *, resumes: bool = False, hook_url: str = "http://h") -> Setting:
    return setting_of(PROFILE, launch, "ID", resumes=resumes, hook_url=hook_url)


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    return Launch(tmp_path / "home", tmp_path / "work", env=(("KEY", "{home}"),))


def test_the_environment_is_scrubbed_and_filled(launch: Launch) -> None:
    assert setting(launch).env == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "de_DE.UTF-8",
        "HOME": str(launch.home),
        "X_HOME": f"{launch.home}/x",
        "KEY": "{home}",
    }


def test_templates_fill_known_words_and_leave_other_braces(launch: Launch) -> None:
    argv = PROFILE.argv(setting(launch))
    assert argv == ("sh", "--id", "ID", "--config", '{"url": "http://h", "{other}": 1}')


def test_a_model_and_a_resumed_session_change_the_command(launch: Launch) -> None:
    argv = PROFILE.argv(setting(replace(launch, model="m"), resumes=True))
    assert argv[:5] == ("sh", "--resume", "ID", "--model", "m")


def test_a_value_is_never_a_template(launch: Launch) -> None:
    argv = PROFILE.argv(setting(replace(launch, model="{home}")))
    assert argv[4] == "{home}"


def test_the_command_replaces_the_program_alone(launch: Launch) -> None:
    made = prepare(PROFILE, replace(launch, command=("/bin/sh", "-x")), setting(launch))
    assert made.argv[:4] == ("/bin/sh", "-x", "--id", "ID")
    assert made.cwd == launch.workspace
    assert launch.workspace.is_dir()


def test_a_file_keeps_what_the_program_wrote_itself(launch: Launch) -> None:
    def more(setting: Setting, present: str) -> str:
        return present + f"{setting.session_id}\n"

    profile = changed(PROFILE, files=(HomeFile(".x/{session_id}.txt", more),))
    for _ in range(2):
        prepare(profile, launch, setting(launch))
    path = launch.home / ".x" / "ID.txt"
    assert path.read_text() == "ID\nID\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["ID.txt"]


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(launch: Launch) -> None:
    precious = launch.home.parent / "precious"
    precious.write_text("mine")
    launch.home.mkdir()
    (launch.home / "x").symlink_to(precious)
    profile = changed(PROFILE, files=(HomeFile("x", lambda *_: "ours"),))
    prepare(profile, launch, setting(launch))
    assert precious.read_text() == "mine"
    assert (launch.home / "x").read_text() == "ours"


def test_a_missing_program_is_named(launch: Launch) -> None:
    with pytest.raises(AgentError) as caught:
        prepare(PROFILE, replace(launch, command=("no-such-program",)), setting(launch))
    assert caught.value.kind == "missing"
    assert "no-such-program" in str(caught.value)
    assert caught.value.say == f"X is not installed here. {PROFILE.setup.remedy}"


def test_last_words_are_one_line_without_boxes() -> None:
    assert last_words("╭────╮\n│ a  │\n╰────╯\n\n  b   c\n") == "a / b c"
    assert len(last_words("word " * 100)) == 200
