"""Draws a thread of Slack from the messages that were posted to it, as a page of HTML.

It is a drawing and says so: Slack's own client isn't run. Blocks that it doesn't know are an
error, so that nothing which was posted is missing from the picture.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

Json = Mapping[str, Any]
SIGNS = {"white_check_mark": "✓", "eyes": "👀", "x": "✗"}
_STYLE = (Path(__file__).parent / "slack.css").read_text("utf-8")


def page(title: str, messages: Iterable[Json], names: Mapping[str, str], zone: Any = UTC) -> str:
    """The document. names: of users, by their ids."""
    said = "".join(_message(message, names, zone) for message in messages)
    label = "Drawn from the posts of a recorded run. Slack itself looks a little different."
    return (
        f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style><h1>{html.escape(title)}</h1>'
        f'{said}<p class="label">{label}</p>'
    )


def _message(message: Json, names: Mapping[str, str], zone: Any) -> str:
    user = str(message.get("user", ""))
    name = str(message.get("username") or names.get(user, user))
    by_app = bool(message.get("bot_id") or message.get("app_id"))
    at = datetime.fromtimestamp(float(message["ts"]), UTC).astimezone(zone).strftime("%H:%M")
    face = f'<div class="face" style="background:hsl({sum(map(ord, name)) * 47 % 360} 45% 42%)">'
    app = "<span class=app>APP</span>" if by_app else ""
    blocks = message.get("blocks") or ()
    body = "".join(_block(block, names) for block in blocks) or _mrkdwn(str(message["text"]), names)
    return (
        f'<div class="said">{face}{name[0].upper()}</div>'
        f'<div><span class="who">{html.escape(name)}</span>{app}<span class="at">{at}</span>'
        f"{body}{_reactions(message)}</div></div>"
    )


def _reactions(message: Json) -> str:
    marks = [SIGNS.get(str(name), f":{name}:") for name in message.get("reactions", ())]
    drawn = "".join(f"<span>{html.escape(mark)} 1</span>" for mark in marks)
    return f'<div class="marks">{drawn}</div>' if marks else ""


def _block(block: Json, names: Mapping[str, str]) -> str:
    match block["type"]:
        case "markdown":
            return _markdown(str(block["text"]), names)
        case "section":
            return _mrkdwn(str(block["text"]["text"]), names)
        case "context":
            told = " ".join(_mrkdwn(str(e["text"]), names) for e in block["elements"])
            return f'<div class="context">{told}</div>'
        case "actions":
            return f'<div class="buttons">{"".join(map(_button, block["elements"]))}</div>'
        case "task_card":
            mark = {"complete": "✓", "error": "✗", "pending": "○"}.get(str(block["status"]), "◌")
            return f'<div class="card">{mark} {html.escape(str(block["title"]))}</div>'
        case kind:
            raise ValueError(f"a block of the kind {kind!r} can't be drawn yet")


def _button(element: Json) -> str:
    text, style = html.escape(str(element["text"]["text"])), element.get("style", "")
    return f'<button class="{style}">{text}</button>'


def _markdown(text: str, names: Mapping[str, str]) -> str:
    return _named(MarkdownIt("commonmark").enable("table").render(text), names)


def _mrkdwn(text: str, names: Mapping[str, str]) -> str:
    """Slack's own markup, which escapes &, < and > itself."""
    parts = re.split(r"```\n?(.*?)```", text, flags=re.S)
    drawn = [
        f"<pre>{part}</pre>" if index % 2 else f"<p>{_inline(part)}</p>" if part.strip() else ""
        for index, part in enumerate(parts)
    ]
    return _named("".join(drawn), names)


def _inline(text: str) -> str:
    text = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text.strip())
    text = re.sub(r"(?<!\w)\*([^*\n]+)\*(?!\w)", r"<b>\1</b>", text)
    return re.sub(r"(?<!\w)_([^_\n]+)_(?!\w)", r"<i>\1</i>", text).replace("\n", "<br>")


def _named(text: str, names: Mapping[str, str]) -> str:
    def name(found: re.Match[str]) -> str:
        return f'<span class="at-name">@{names.get(found[1], found[1])}</span>'

    return re.sub(r"(?:<|&lt;)@(\w+)(?:>|&gt;)", name, text)
