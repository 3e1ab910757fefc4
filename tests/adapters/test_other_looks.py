"""Programs without a profile, and older versions of those with one."""

import pytest

from adapters.profiles import looks
from adapters.profiles.generic import GenericSettings, generic_profile, look_of
from adapters.profiles.other_looks import OTHER_LOOKS
from adapters.reading.reply import read_reply
from adapters.screen.screen import Screen

RULE = "─" * 60
PROMPT = "Which file is it?\n\n```py\nprint(1)\n```"

SCREENS = {
    "amp": """
  ┃ Which file is it?
  ┃
  ┃ ```py
  ┃ print(1)
  ┃ ```

  ✓ Thinking ▶

  ✓ Grep print in src

  It is `main.py`, the one
  beside the README.

╭────────────────────────────────────────────────────────────╮
│                                                            │
╰────────────────────────────────────────────────────────────╯
 ∿ Waiting for response...""",
    "auggie": f"""
  Getting started
 {RULE}
 › Which file is it?

 ```py
 print(1)
 ```

 » I'll look for it.

 » src - codebase search
   ⎿ Found 2 files
     src/main.py

 » It is `main.py`, the one
   beside the README.

╭────────────────────────────────────────────────────────────╮
│ › Try 'what is this?' or type / for commands               │
╰────────────────────────────────────────────────────────────╯
 Type / for commands""",
    "amazonq": """
> Which file is it?

```py
print(1)
```

🛠️  Using tool: fs_read
 ⋮
 ● Reading directory: src
Allow this action? Use 't' to trust this tool. [y/n/t]:

> y

 ⋮
 ● Completed in 0.1s

> It is `main.py`, the one
beside the README.

>""",
    "cursor": """
  Cursor Agent
  ~/src · main

 ┌────────────────────────────────────────────────────────────┐
 │ Which file is it?                                          │
 │                                                            │
 │ ```py                                                      │
 │ print(1)                                                   │
 │ ```                                                        │
 └────────────────────────────────────────────────────────────┘

  I'll look for it.

  ⬢ Searched 2 files

 ┌────────────────────────────────────────────────────────────┐
 │ $ grep -rn print src 16ms in current dir                   │
 └────────────────────────────────────────────────────────────┘

  It is `main.py`, the one
  beside the README.

 ┌────────────────────────────────────────────────────────────┐
 │ → Add a follow-up                                          │
 └────────────────────────────────────────────────────────────┘
  / for commands""",
    "goose": """
( O)> Which file is it?

```py
print(1)
```

─── shell | developer ──────────────────────────

It is `main.py`, the one
beside the README.

( O)>""",
    "codex": """
user
Which file is it?

```py
print(1)
```

⚡ Ran command grep print
  ⎿ src/main.py
    ... +12 lines

codex
It is `main.py`, the one
beside the README.

› Ask Codex to do anything

a-model default · 100% left""",
    "copilot": f"""
 ╭{RULE}╮
 │ > Which file is it?                                        │
 │                                                            │
 │   ```py                                                    │
 │   print(1)                                                 │
 │   ```                                                      │
 ╰{RULE}╯

 ● I'll look for it.

 ✓ Search for it
   $ grep -rn print src
   ↪ 1 line...

 ● It is `main.py`, the one
   beside the README.

 ~/src [⎇ main]
 ╭{RULE}╮
 │ >  Enter @ to mention files or / for commands              │
 ╰{RULE}╯
 Ctrl+c Exit""",
    "opencode": """
  ┃
  ┃ Which file is it?
  ┃
  ┃ ```py
  ┃ print(1)
  ┃ ```
  ┃ andi 2:19:24 PM
  ┃

     It is `main.py`, the one
     beside the README.

     Build some-model-4-20250514

  ┃
  ┃
  ┃  Build  Some Model 4
  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
 opencode v1.0.98""",
}


def shown(text: str, cols: int = 100) -> Screen:
    screen = Screen(cols, 40)
    screen.feed(text.strip("\n").replace("\n", "\r\n").encode())
    return screen


@pytest.mark.parametrize("name", SCREENS)
def test_the_reply_stands_alone(name: str) -> None:
    reply = read_reply(shown(SCREENS[name]), look_of(name), PROMPT)
    assert reply.split() == ["It", "is", "`main.py`,", "the", "one", "beside", "the", "README."]


def test_every_look_has_a_screen_here() -> None:
    assert set(SCREENS) == {*OTHER_LOOKS, *(name for name, look in looks().items() if look.older)}


def test_a_turn_that_ends_with_a_tool_leaves_what_was_said_before() -> None:
    screen = "❯ go\n\n● It is done.\n\n● Report(done)\n  ⎿  ok\n\n" + RULE + "\n❯\xa0\n" + RULE
    assert read_reply(shown(screen), look_of("claude"), "go") == "It is done."


def test_a_turn_that_was_broken_off_leaves_nothing() -> None:
    screen = (
        "❯ go\n\n● I begin.\n\n● \x1b[1mReport\x1b[m(done)\n  ⎿  Interrupted\n\n"
        + RULE
        + "\n❯\xa0\n"
        + RULE
    )
    assert read_reply(shown(screen), look_of("claude"), "go") == ""


def test_a_described_program_may_look_like_a_known_one() -> None:
    settings = GenericSettings(command=["goose"], look="goose")
    assert generic_profile("block", settings).shown.look == OTHER_LOOKS["goose"]


def test_a_look_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="amp"):
        GenericSettings(command=["x"], look="nobody")
