"""The conversation of an agent that is called by API, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.api.conversation import Conversation, ConversationMessage

ID = "0b1f"


def reopened(home: Path) -> list[ConversationMessage]:
    return list(Conversation.open(home, ID).messages())


def path_of(home: Path) -> Path:
    return home / ".moot" / "conversations" / f"{ID}.jsonl"


def test_any_text_comes_back_as_it_was(tmp_path: Path) -> None:
    texts = ("漢字 👩‍👩‍👧‍👦\r\n\u2028\x00", '{"role": "assistant"}\n', " x ")
    Conversation.open(tmp_path, ID).say("user", *texts)
    assert reopened(tmp_path) == [ConversationMessage("user", texts)]


def test_half_a_surrogate_pair_does_not_make_a_conversation_unreadable(tmp_path: Path) -> None:
    Conversation.open(tmp_path, ID).say("user", "a\ud83d")
    assert reopened(tmp_path) == [ConversationMessage("user", ("a?",))]


def test_the_last_question_is_taken_back_with_all_that_was_said_to_it(tmp_path: Path) -> None:
    conversation = Conversation.open(tmp_path, ID)
    for role, text in (("user", "one"), ("assistant", "1"), ("user", "two"), ("assistant", "2")):
        conversation.say("user" if role == "user" else "assistant", text)
    assert conversation.undo()
    one = [ConversationMessage("user", ("one",)), ConversationMessage("assistant", ("1",))]
    assert reopened(tmp_path) == one
    conversation.say("user", "broken off")
    assert (conversation.undo(), reopened(tmp_path)) == (True, one)
    assert (conversation.undo(), conversation.undo(), reopened(tmp_path)) == (True, False, [])


def test_blank_texts_are_left_out_as_the_api_refuses_them(tmp_path: Path) -> None:
    conversation = Conversation.open(tmp_path, ID)
    conversation.say("user", "hi", "", " \n")
    conversation.say("assistant", "")
    assert (
        reopened(tmp_path)
        == list(conversation.messages())
        == [ConversationMessage("user", ("hi",))]
    )


@pytest.mark.parametrize("lost", range(1, 60))
def test_a_torn_last_line_loses_itself_and_nothing_else(tmp_path: Path, lost: int) -> None:
    conversation = Conversation.open(tmp_path, ID)
    conversation.say("user", "one")
    whole = path_of(tmp_path).read_bytes()
    conversation.say("assistant", "the answer, of some length")
    raw = path_of(tmp_path).read_bytes()
    path_of(tmp_path).write_bytes(raw[: max(len(raw) - lost, len(whole))])
    Conversation.open(tmp_path, ID).say("user", "two")
    assert reopened(tmp_path) == [ConversationMessage("user", ("one", "two"))]


def test_forgetting_takes_whole_turns_and_leaves_the_newest_question(tmp_path: Path) -> None:
    conversation = Conversation.open(tmp_path, ID)
    for n in range(4):
        conversation.say("user", f"question {n}")
        conversation.say("assistant", f"answer {n}")
    assert conversation.forget(40)
    assert [said.texts[0] for said in conversation.messages()] == [
        "question 2", "answer 2", "question 3", "answer 3",
    ]  # fmt: skip
    assert conversation.forget(0)
    assert [said.texts[0] for said in conversation.messages()] == ["question 3", "answer 3"]
    assert not conversation.forget(0)
    assert reopened(tmp_path) == list(conversation.messages())


def test_a_file_that_grew_large_is_written_anew_without_what_is_forgotten(tmp_path: Path) -> None:
    conversation = Conversation.open(tmp_path, ID)
    for n in range(5):
        conversation.say("user", f"{n}" * 1_000_000)
        conversation.say("assistant", "ok")
    conversation.forget(2_000_000)
    kept = list(conversation.messages())
    assert reopened(tmp_path) == kept
    assert path_of(tmp_path).stat().st_size < 2_000_000
    assert path_of(tmp_path).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in path_of(tmp_path).parent.iterdir()] == [f"{ID}.jsonl"]
    assert reopened(tmp_path) == kept


STEP = st.one_of(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=5)),
    st.tuples(st.just("forget"), st.integers(0, 30)),
    st.tuples(st.just("retract"), st.none()),
)


@given(st.lists(STEP, max_size=20))
def test_whatever_happens_sides_alternate_and_a_restart_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    conversation = Conversation.open(home, ID)
    for what, value in steps:
        match what, value:
            case "forget", int(chars):
                conversation.forget(chars)
            case "retract", _:
                conversation.retract()
            case ("user" | "assistant") as role, str(text):
                conversation.say(role, text)
    messages = list(conversation.messages())
    assert [said.role for said in messages] == ["user", "assistant"] * (len(messages) // 2) + [
        "user"
    ] * (len(messages) % 2)
    assert reopened(home) == messages
