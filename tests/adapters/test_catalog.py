"""The agents that are known, and one described in TOML."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from adapters.catalog import find_program, profiles
from adapters.profiles.demo import DEMO
from adapters.profiles.generic import GENERIC, GenericSettings, generic_profile


def test_every_profile_is_known_by_its_name() -> None:
    known = profiles()
    assert {"demo", "generic"} <= known.keys()
    assert all(profile.name == name for name, profile in known.items())


def test_every_profile_says_what_to_do_when_it_is_missing_or_not_logged_in() -> None:
    for profile in profiles().values():
        assert str(profile.setup.remedy).endswith(".")
        assert profile.setup.login.endswith(".")
        assert "://" not in profile.setup.install
        assert profile.title
        assert profile.agent


def test_no_profile_relies_on_one_sign_of_the_end() -> None:
    for profile in profiles().values():
        signs = profile.signs
        if profile is not GENERIC:
            several = (signs.hooks, signs.record, signs.states, signs.title, signs.footer)
            assert len([sign for sign in several if sign]) >= 2, profile.name


def test_a_program_is_found_on_the_path_that_is_given(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    assert find_program(GENERIC, (), str(tmp_path)) is None
    program.chmod(0o755)
    assert find_program(GENERIC, (), str(tmp_path)) == program
    assert find_program(GENERIC, ("other",), str(tmp_path)) is None
    assert find_program(GENERIC, (str(program),), "") == program


def test_the_demo_agent_is_always_there() -> None:
    assert find_program(DEMO, (), "") is not None


TOML = r"""
command = ["mycli", "--workspace", "{workspace}"]
title = "My CLI"
ready = '^> $'
busy = 'esc to stop'
quiet_s = 1.5
paste = false
submit = "ctrl-j"
interrupt = ["esc", "ctrl-c"]
reply = '\* '
margin = 2
permission = 'Allow\?'
"""


def test_a_program_described_in_toml_is_a_profile() -> None:
    settings = GenericSettings.model_validate(tomllib.loads(TOML))
    profile = generic_profile("mine", settings)
    assert (profile.name, profile.title, profile.agent) == ("mine", "My CLI", "My CLI CLI agent")
    assert profile.program.begin == ("mycli", "--workspace", "{workspace}")
    assert profile.typing.submit == b"\n"
    assert profile.controls.interrupt.keys == (b"\x1b", b"\x03")
    assert profile.program.ready.prompt == re.compile("^> *$", re.MULTILINE)
    assert profile.signs.footer
    assert profile.signs.footer.debounce_s == 1.5
    assert profile.shown.permission
    assert profile.shown.look
    assert profile.shown.look.reply.margin == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ready": "("}, "not a regular expression"),
        ({"submit": "hyper-x"}, "a key: enter"),
        ({"command": []}, "at least 1"),
        ({"comand": ["x"]}, "Extra inputs"),
        ({"quiet_s": 0}, "greater than 0"),
    ],
)
def test_a_mistake_in_it_is_said(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        GenericSettings.model_validate({"command": ["x"], **change})
