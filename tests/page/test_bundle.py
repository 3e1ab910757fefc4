"""The page's bundle is what its sources make, and the wheel has it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DIST = HERE.parents[1] / "gateway" / "web" / "dist"


def test_the_committed_bundle_is_what_the_sources_make() -> None:
    if not shutil.which("node") or not (HERE / "node_modules" / "esbuild").is_dir():
        message = "esbuild is not installed: npm ci in tests/page"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    ran = subprocess.run(
        ["node", "bundle.mjs", "--check"], cwd=HERE, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_every_file_that_a_document_names_is_there_and_has_a_name_of_its_own() -> None:
    for document in (DIST / "index.html", DIST / "signin.html"):
        names = re.findall(r"/static/([\w.-]+)", document.read_text("utf-8"))
        assert len(names) >= 3
        for name in names:
            assert (DIST / name).is_file(), f"{document.name}: {name}"
            assert re.fullmatch(r"\w+-[A-Za-z0-9]{8}\.\w+", name)
