"""axe-core in the page: which rules of accessibility a view breaks."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

INSTALLED = Path(__file__).parents[1] / "clients" / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = ("moderate", "serious", "critical")


@cache
def axe() -> str:
    """Its script, from tests/clients or from the file that AXE_CORE names.

    Without one the test is skipped, in CI it fails.
    """
    paths = (INSTALLED, Path(os.environ.get("AXE_CORE", "/nowhere")))
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        message = (
            "axe-core is not installed: npm ci in tests/clients, or set AXE_CORE to axe.min.js"
        )
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return found.read_text(encoding="utf-8")


async def faults(page: Page, *rules: str) -> list[str]:
    """The faults of some weight in what is shown, one line each; rules: only these."""
    if not await page.evaluate("'axe' in window"):  # half a megabyte, once a page
        await page.evaluate(f"(() => {{{axe()}}})()")
        # else every link of the page's own addresses is taken for one while it is scrolled away
        await page.evaluate("axe.configure({ rules: [{ id: 'skip-link', selector: 'a.skip' }] })")
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    else:
        options["rules"] = {"target-size": {"enabled": True}}
    found = await page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:160]} {node['failureSummary'][:300]}"
        for fault in found["violations"]
        if fault["impact"] in GRAVE
        for node in fault["nodes"]
    ]
