"""The audit log as a list, and a usage that is told, for a page without a gateway."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.audit.audit import AuditEntry, AuditFilter
from gateway.audit.chain import Broken, Verdict
from gateway.limits.usage import Report


class FakeAudit:
    """Stands for Audit. entries: oldest first."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.wishes: list[AuditFilter] = []
        self.broken: Broken | None = None

    async def page(
        self, wish: AuditFilter, *, before: int | None, limit: int
    ) -> Sequence[AuditEntry]:
        self.wishes.append(wish)
        found = [e for e in reversed(self.entries) if before is None or e.seq < before]
        return found[:limit]

    async def verify(self) -> Verdict:
        head = self.entries[-1].hash if self.entries else ""
        return Verdict(len(self.entries), head, 0, self.broken)


class FakeUsage:
    """Stands for UsageBook."""

    def __init__(self) -> None:
        self.told = Report((), (), (), ())
        self.days: list[int] = []

    async def report(self, days: int) -> Report:
        self.days.append(days)
        return self.told
