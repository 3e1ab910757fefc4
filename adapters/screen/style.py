"""A cell's colours and attributes, read from SGR, written as CSS classes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Style(NamedTuple):
    """A cell's looks. fg, bg: "" the default, "0" to "15" the palette, or "xrrggbb"."""

    fg: str = ""
    bg: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    hidden: bool = False
    strike: bool = False

    @property
    def css(self) -> str:
        """Class names, e.g. "b fg-2 bg-x1e1e1e": what is not the default, blank-separated."""
        return _css(self)


PLAIN = Style()
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 8: "hidden", 9: "strike"}
_OFF: dict[int, dict[str, object]] = {
    21: {"underline": True},  # doubly underlined
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"reverse": False},
    28: {"hidden": False},
    29: {"strike": False},
    39: {"fg": ""},
    49: {"bg": ""},
}
_CLASSES = (
    ("bold", "b"),
    ("dim", "dim"),
    ("italic", "i"),
    ("underline", "u"),
    ("reverse", "rev"),
    ("hidden", "hid"),
    ("strike", "s"),
)
_SGR = re.compile(r"[0-9:;]*")
_NUMBER = re.compile(r"[0-9]{1,9}")


@lru_cache(maxsize=4096)
def _css(style: Style) -> str:
    classes = [css for name, css in _CLASSES if getattr(style, name)]
    classes += [f"fg-{style.fg}"] if style.fg else []
    classes += [f"bg-{style.bg}"] if style.bg else []
    return " ".join(classes)


_COLOURED = {38: "fg", 48: "bg", 58: ""}
"""Codes that a colour follows: of the text, of its background, of its underline (not shown)."""

_PLAIN_CODES: dict[int, dict[str, object]] = {
    0: PLAIN._asdict(),
    **{code: {name: True} for code, name in _FLAGS.items()},
    **{code: dict(changes) for code, changes in _OFF.items()},
    **{30 + n: {"fg": str(n)} for n in range(8)},
    **{40 + n: {"bg": str(n)} for n in range(8)},
    **{90 + n: {"fg": str(8 + n)} for n in range(8)},
    **{100 + n: {"bg": str(8 + n)} for n in range(8)},
}
"""The change that each of the other codes makes."""


@lru_cache(maxsize=4096)
def restyle(style: Style, parameters: str) -> Style:
    """The style after `CSI parameters m`; private and malformed parameters change nothing."""
    groups = [[_integer(part) for part in group.split(":")] for group in parameters.split(";")]
    if not _SGR.fullmatch(parameters):
        return style
    changes: dict[str, object] = {}
    index = 0
    while index < len(groups):
        code, *details = groups[index]
        index += 1
        if code in _COLOURED:
            if not details:  # semicolons: 38;5;n or 38;2;r;g;b
                rest = [group[0] for group in groups[index : index + 4]]
                taken = {5: 2, 2: 4}.get(rest[0], 1) if rest else 0
                details, index = rest[:taken], index + taken
            if (name := _COLOURED[code]) and (colour := _colour(details)) is not None:
                changes[name] = colour
        elif code == 4 and details:
            changes["underline"] = details[0] != 0
        else:
            changes |= _PLAIN_CODES.get(code, {})
    return style._replace(**changes)  # type: ignore[arg-type]


def _integer(digits: str) -> int:
    return int(digits) if _NUMBER.fullmatch(digits) else 0 if not digits else -1


def _colour(details: list[int]) -> str | None:
    """[5, n] of the palette or [2, r, g, b] ([2, colour space, r, g, b] with colons)."""
    match details:
        case [5, int(n), *_] if 0 <= n < 16:
            return str(n)
        case [5, int(n), *_] if 16 <= n < 232:
            levels = (0, 95, 135, 175, 215, 255)
            n -= 16
            return f"x{levels[n // 36]:02x}{levels[n // 6 % 6]:02x}{levels[n % 6]:02x}"
        case [5, int(n), *_] if 232 <= n < 256:
            return f"x{8 + 10 * (n - 232):02x}" + f"{8 + 10 * (n - 232):02x}" * 2
        case [2, _, int(r), int(g), int(b), *_] | [2, int(r), int(g), int(b)]:
            if all(0 <= level < 256 for level in (r, g, b)):
                return f"x{r:02x}{g:02x}{b:02x}"
    return None
