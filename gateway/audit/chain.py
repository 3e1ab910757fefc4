"""The audit log's chain of hashes, pure, and the file that knows the newest one.

A row's hash covers the hash of the row before it, what is public of the row, and a salted digest of
each of its two personal halves: who it was, and what it was about. A half can be erased for a
person's sake, salt and all: its digest stays, the chain still holds, and nobody can guess from the
digest what it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.core.private_folders import private

Row = Mapping[str, Any]

HALVES: Mapping[str, Mapping[str, Any]] = {
    "who": {"by_id": "", "by_name": ""},
    "what": {"room_id": None, "detail": {}},
}
"""The columns of each half, and what stands in them once it is erased."""

_DIGESTS: Mapping[str, Mapping[str, str]] = {
    half: {"salt": f"{half}_salt", **{name: name for name in columns}}
    for half, columns in HALVES.items()
}
_HASH = {
    name: name
    for name in ("before", "at", "act", "persona", "turn_id", "who_digest", "what_digest")
}
"""The columns that a digest and the hash cover, by their names in what is hashed."""
ANCHOR = "audit.head"  # in the data directory
_HEAD = re.compile(r"[0-9a-f]{64}")
MISSING, UNREADABLE = "missing", "unreadable"  # an anchor without a hash; no row has one as its own
ERASE = "erase"  # the act that notes which rows lost a half
CUT = "cut"  # the act that notes that rows were gone which the anchor knew
RESTORE = "restore"  # the act that notes that the log goes on from a backup
ACKNOWLEDGE = "acknowledge"  # the act by which an owner takes note of what is broken before it


@dataclass(frozen=True, slots=True)
class Broken:
    """The first row that does not hold. seq: None: there is no row where one should be."""

    seq: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check. head: hash of the last row that holds, "" when there is none.
    acknowledged: how often somebody took note of what was broken."""

    rows: int
    head: str
    erased: int
    broken: Broken | None
    acknowledged: int = 0


def sealed(row: Row, before: str, new_salt: Callable[[], str]) -> dict[str, Any]:
    """The row with its digests and hash. before: hash of the row before it; "": it is the first."""
    values: dict[str, Any] = dict(row)
    for half in HALVES:
        values[f"{half}_salt"] = new_salt()
        values[f"{half}_digest"] = _sha256(values, _DIGESTS[half])
    values["before"] = before
    values["hash"] = _sha256(values, _HASH)
    return values


def _sha256(row: Row, columns: Mapping[str, str]) -> str:
    values = {name: row[column] for name, column in columns.items()}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def erased(row: Row, half: str) -> bool:
    """True if a half of a row was erased."""
    blank = HALVES[half]
    return not row[f"{half}_salt"] and all(row[name] == value for name, value in blank.items())


class Check:
    """Looks at the rows in their order, a few at a time. What it keeps of them is two hashes, the
    first fault, and the halves that were erased and for which no note was found yet.

    anchors: hashes that somebody wrote down; each must be the hash of a row. newest: the last row's
    number, also when it is gone; 0: unknown, and numbers may be left out. rows, head: of what
    holds, up to the first fault that nobody acknowledged.
    """

    def __init__(self, anchors: Iterable[str] = (), newest: int = 0) -> None:
        self.rows = 0
        self.head = ""
        self.erased = 0
        self.acknowledged = 0
        self._first: Broken | None = None
        self._seen = 0
        self._last = ""  # the hash of the newest row, whether it holds or not
        self._faults = ""  # a digest of all of them
        self._seq = 0
        self._newest = newest
        self._missing = set(anchors) - {""}
        self._beyond = set[str]()  # those of them that were found behind a fault
        self._unexplained: dict[tuple[str, int], None] = {}

    def feed(self, rows: Sequence[Row]) -> None:
        """Look at the next rows."""
        for row in rows:
            if reason := self._fault(row):
                told = f"{self._faults} {row['seq']} {reason} {row['hash']} {_sha256(row, _HASH)}"
                self._faults = hashlib.sha256(told.encode()).hexdigest()
                self._first = self._first or Broken(row["seq"], reason)
            self._seen += 1
            self._last, self._seq = row["hash"], row["seq"]
            if self._first is None:
                self.rows, self.head = self._seen, self._last
                self._missing -= {row["hash"], *self._beyond}
                self._beyond.clear()
            elif row["hash"] in self._missing:
                self._beyond.add(row["hash"])

    def acknowledgement(self) -> dict[str, str]:
        """The detail of a row that acknowledges all that is wrong until now."""
        lost = {half: [seq for own, seq in self._unexplained if own == half] for half in HALVES}
        return {"faults": self._faults, **{half: ranges(seqs) for half, seqs in lost.items()}}

    def end(self) -> Broken | None:
        """There are no more rows: the first thing that is wrong."""
        if self._first is not None:
            return self._first
        for half, seq in self._unexplained:
            return Broken(seq, f"its half '{half}' is gone, and no row notes that it was erased")
        return self._end() if self._missing or self._seq < self._newest else None

    def _end(self) -> Broken | None:
        after = f"after row {self._seq}" if self._seen else "it is empty"
        if self._seq < self._newest:
            told = f"rows are missing at the end ({after}): there was a row {self._newest}"
            return Broken(None, told)
        if any(_HEAD.fullmatch(head) for head in self._missing):
            told = f"rows are missing at the end ({after}): the noted head is not there"
            return Broken(None, told)
        if not self._seen:
            return None
        return Broken(
            None,
            f"{ANCHOR} is gone, or holds no hash ({after}): rows may be missing at the end",
        )

    def _fault(self, row: Row) -> str | None:
        if row["before"] != self._last:
            return "it does not follow the row before it: one was removed, inserted or moved"
        if self._newest and row["seq"] != self._seq + 1 and row["act"] != CUT:
            return f"rows before it are missing: it should be row {self._seq + 1}"
        if row["hash"] != _sha256(row, _HASH):
            return "it was changed"
        for half in HALVES:
            if erased(row, half):
                self.erased += 1
                self._unexplained[half, row["seq"]] = None
            elif row[f"{half}_digest"] != _sha256(row, _DIGESTS[half]):
                return "it was changed"
        detail = row["detail"]
        if row["act"] == CUT:  # about nobody, so nothing of it is ever erased
            self._missing.discard(str(detail.get("head", "")))
            return "when it was written, rows before it were missing: the noted head was not there"
        if erased(row, "what"):
            return None
        if row["act"] == ERASE:
            self._explain(row["seq"], str(detail.get("half", "")), str(detail.get("rows", "")))
        elif row["act"] == ACKNOWLEDGE and detail.get("faults") == self._faults:
            self.acknowledged += 1
            self._first = None
            for half in HALVES:
                self._explain(row["seq"], half, str(detail.get(half, "")))
        return None

    def _explain(self, until: int, half: str, rows: str) -> None:
        for first, last in _ranges(rows):
            for seq in range(first, min(last, until) + 1):
                self._unexplained.pop((half, seq), None)


def _ranges(text: str) -> list[tuple[int, int]]:
    """The inverse of `ranges`; what is none of them is left out."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            found.append((int(first), int(last or first)))
    return found


def ranges(seqs: Iterable[int]) -> str:
    """Numbers in order as "3-5,9"."""
    found: list[tuple[int, int]] = []
    for seq in sorted(seqs):
        if found and seq <= found[-1][1] + 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


# ── The file beside the database that knows the newest hash ─────────────────────────────────


def write_anchor(file: Path, head: str) -> None:
    """Put the hash in the place of the one before it. Raises OSError.

    It is not forced to the disk: after a power cut it may name an earlier row, which still holds.
    """
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_name(f"{file.name}.new")
    with open(beside, "w", encoding="ascii", opener=private) as out:
        out.write(f"{head}\n")
    os.replace(beside, file)


def read_anchor(file: Path) -> str:
    """The hash; "" when there is no such file, or nothing in it, as a power cut may leave it.
    Raises ConfigError when it holds something else."""
    try:
        head = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: can't be read: {error}") from None
    if head and not _HEAD.fullmatch(head):
        raise ConfigError(f"{file}: holds no hash of the audit log; see docs/audit.md")
    return head


def known_head(anchor: Path, now: int) -> str:
    """The hash that a file keeps, which the log must hold; else a word that says how the file was
    lost. now: microseconds; earlier rows are those that it should know."""
    try:
        return read_anchor(anchor) or f"{MISSING} {now}"
    except ConfigError:  # somebody wrote into it
        return f"{UNREADABLE} {now}"


def noted_heads(known: str, kept: str) -> set[str]:
    """The hashes that the log must hold. known: of the file on this machine, which need not be
    there where the database keeps one. kept: the database's; "": none."""
    return {kept} if kept and known.startswith(MISSING) else {known, kept}
