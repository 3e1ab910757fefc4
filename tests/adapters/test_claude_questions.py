"""Permission requests of Claude Code as questions for a room."""

from typing import Any

from adapters.records.claude_questions import asked
from adapters.turn_events import HookQuestion


def labels(ask: HookQuestion) -> list[str]:
    return [option.label for option in ask.question.options]


def decision(response: Any) -> dict[str, Any]:
    output: dict[str, Any] = response["hookSpecificOutput"]
    assert output["hookEventName"] == "PermissionRequest"
    found: dict[str, Any] = output["decision"]
    return found


def request(tool: str, arguments: dict[str, Any], *suggestions: dict[str, Any]) -> HookQuestion:
    return asked(
        {"tool_name": tool, "tool_input": arguments, "permission_suggestions": list(suggestions)},
        "p",
    )


EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
NPM = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm run *"}],
    "behavior": "allow",
    "destination": "localSettings",
}


def test_a_command_is_shown_whole_with_its_real_choices() -> None:
    ask = request("Bash", {"command": "npm run test", "description": "Run tests"}, NPM)
    assert ask.question.title == "Run this command?"
    assert ask.question.detail == "Run tests\n\nnpm run test"
    assert labels(ask) == ["Yes", "Yes, and don't ask again for npm run *", "No"]
    assert [option.refuses for option in ask.question.options] == [False, False, True]


def test_each_choice_has_its_response() -> None:
    arguments = {"command": "npm run test"}
    yes, always, no = request("Bash", arguments, NPM).responses
    assert decision(yes) == {"behavior": "allow", "updatedInput": arguments}
    assert decision(always)["updatedPermissions"] == [NPM]
    assert decision(no)["behavior"] == "deny"
    assert decision(no)["message"]


def test_a_file_is_shown_with_what_would_be_in_it() -> None:
    ask = request("Write", {"file_path": "/w/b.txt", "content": "```\nbbb"}, EDITS)
    assert ask.question.detail == "/w/b.txt\n\n```\nbbb"
    assert labels(ask)[1] == "Yes, and allow all edits in this session"


def test_an_edit_is_shown_as_a_difference() -> None:
    ask = request("Edit", {"file_path": "/w/b", "old_string": "a\nb", "new_string": "c"})
    assert ask.question.detail == "/w/b\n\n-a\n-b\n+c"
    assert labels(ask) == ["Yes", "No"]


def test_a_long_command_shows_its_beginning_and_its_end() -> None:
    ask = request("Bash", {"command": "echo " + "x" * 9000 + "; rm -rf /"})
    assert "echo xxx" in ask.question.detail
    assert "; rm -rf /" in ask.question.detail
    assert "characters left out" in ask.question.detail
    assert len(ask.question.detail) < 2000


def test_a_lasting_permission_that_cannot_be_told_in_full_is_not_offered() -> None:
    bypass = {"type": "setMode", "mode": "bypassPermissions"}
    assert labels(request("Bash", {"command": "x"}, NPM, bypass)) == ["Yes", "No"]
    long = {**NPM, "rules": [{"toolName": "Bash", "ruleContent": "x" * 200}]}
    assert labels(request("Bash", {"command": "x"}, long)) == ["Yes", "No"]
    deny = {**NPM, "behavior": "deny"}
    assert labels(request("Bash", {"command": "x"}, deny)) == ["Yes", "No"]


def test_an_unknown_tool_shows_its_arguments() -> None:
    ask = request("mcp__tracker__close", {"ticket": 3, "why": "done"})
    assert ask.question.title == "Use mcp__tracker__close?"
    assert '"ticket": 3' in ask.question.detail


def test_a_payload_of_another_shape_can_still_be_refused() -> None:
    ask = asked({"tool_input": 3, "permission_suggestions": "x"}, "")
    assert labels(ask) == ["Yes", "No"]


def question(text: str, *options: str, multi: bool = False) -> dict[str, Any]:
    described = [{"label": label, "description": f"it is {label}"} for label in options]
    return {"question": text, "multiSelect": multi, "options": described}


def test_its_own_question_has_its_own_choices() -> None:
    ask = request("AskUserQuestion", {"questions": [question("Colour?", "Red", "Blue")]})
    assert ask.question.title == "Colour?"
    assert ask.question.detail == "- Red — it is Red\n- Blue — it is Blue"
    assert labels(ask) == ["Red", "Blue", "I'll answer in the chat"]
    assert decision(ask.responses[1])["updatedInput"]["answers"] == {"Colour?": "Blue"}
    assert decision(ask.responses[2])["behavior"] == "deny"


def test_several_questions_are_asked_one_after_the_other() -> None:
    questions = [question("Colour?", "Red", "Blue"), question("Sizes?", "S", "L", multi=True)]
    ask = request("AskUserQuestion", {"questions": questions})
    after = ask.responses[0]
    assert isinstance(after, HookQuestion)
    assert labels(after) == ["S", "L", "S, L", "I'll answer in the chat"]
    answer = decision(after.responses[2])["updatedInput"]
    assert answer == {"questions": questions, "answers": {"Colour?": "Red", "Sizes?": "S, L"}}


def test_a_question_without_choices_is_put_like_a_tool() -> None:
    ask = request("AskUserQuestion", {"questions": [{"question": "Why?", "options": []}]})
    assert labels(ask) == ["Yes", "No"]
