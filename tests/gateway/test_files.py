"""Files that people attach: capped, with safe names, and never run by a browser."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from bots.kit.files import mime_of
from gateway.web.uploads import Uploads, safe_name
from tests.doubles.house import FakeHouse

Client = aiohttp.ClientSession
META = {
    "source": "web",
    "sender_id": "web:ana",
    "sender_display_name": "Ana",
    "sender_type": "human",
}


def form(*files: tuple[str, bytes]) -> aiohttp.FormData:
    made = aiohttp.FormData(quote_fields=False)  # as browsers write names
    for name, data in files:
        made.add_field("file", data, filename=name, content_type="text/html")
    return made


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\a.txt", "a.txt"),
        (".bashrc", "bashrc"),
        ("a\x00b\nc.txt", "a_b c.txt"),
        ("\u202etxt.exe", "_txt.exe"),
        ("..", "file"),
        ("", "file"),
        ("日本語.txt", "日本語.txt"),
        ("a" * 500 + ".txt", "a" * 176 + ".txt"),
        ("a." + "b" * 500, "a." + "b" * 177),
    ],
)
def test_a_name_is_made_safe(given: str, safe: str) -> None:
    assert safe_name(given) == safe
    assert len(safe_name(given).encode()) <= 180


def test_a_type_follows_from_the_name_not_from_the_claim() -> None:
    assert mime_of("a.png") == "image/png"
    assert mime_of("a.html") == "text/html"
    assert mime_of("a.tar.gz") == "application/octet-stream"
    assert mime_of("a") == "application/octet-stream"


@pytest.mark.parametrize("what", ["a link", "a folder", "nothing"])
def test_what_moot_did_not_put_there_is_not_sent(tmp_path: Path, what: str) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    place = tmp_path / "files" / ("0" * 32) / "a.png"
    place.parent.mkdir(parents=True)
    if what == "a link":
        place.symlink_to(tmp_path / "secret.png")
    elif what == "a folder":
        place.mkdir()
    assert Uploads(tmp_path / "files", most_bytes=9).find("0" * 32) is None


async def test_a_file_is_kept_and_sent_with_a_message(
    client: Client, house: FakeHouse, tmp_path: Path
) -> None:
    async with client.post("/api/files", data=form(("../notes.txt", b"hello"))) as response:
        assert response.status == 201
        [kept] = (await response.json())["files"]
    assert (kept["name"], kept["mime"], kept["size_bytes"]) == ("notes.txt", "text/plain", 5)
    body = {"content": "see", "metadata": META, "room": "web:general", "attachments": [kept]}
    async with client.post("/api/submit", json=body) as response:
        assert response.status == 200
    [stored] = house.said["web:general"][0].attachments
    assert stored.path is not None
    assert Path(stored.path).read_bytes() == b"hello"
    assert Path(stored.path).is_relative_to(tmp_path)
    async with client.get("/api/rooms/web:general/messages") as response:
        [shown] = (await response.json())["messages"][0]["attachments"]
    assert shown["url"] == kept["url"]


async def test_a_file_is_downloaded_not_shown(client: Client) -> None:
    page = b"<script>alert(1)</script>"
    async with client.post("/api/files", data=form(('x".html', page))) as response:
        [kept] = (await response.json())["files"]
    async with client.get(kept["url"]) as response:
        assert await response.read() == page
        assert response.headers["Content-Disposition"].startswith("attachment; ")
        assert "sandbox" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_only_safe_images_are_shown_in_the_page(client: Client) -> None:
    files = (("a.png", b"\x89PNG"), ("a.svg", b"<svg/>"))
    async with client.post("/api/files", data=form(*files)) as response:
        png, svg = (await response.json())["files"]
    assert (png["image"], svg["image"]) == (True, False)
    for kept, disposition in ((png, "inline"), (svg, "attachment")):
        async with client.get(kept["url"]) as response:
            assert response.headers["Content-Disposition"].startswith(disposition)
            assert response.content_type == kept["mime"]


async def test_a_file_over_the_cap_leaves_nothing(client: Client, tmp_path: Path) -> None:
    files = (("small.txt", b"x"), ("large.bin", b"x" * 200_001))
    async with client.post("/api/files", data=form(*files)) as response:
        assert response.status == 413
        assert "200,000" in (await response.json())["error"]["message"]
    assert list((tmp_path / "files").iterdir()) == []


async def test_too_many_files_at_once_are_refused(client: Client, tmp_path: Path) -> None:
    files = tuple((f"{n}.txt", b"x") for n in range(11))
    async with client.post("/api/files", data=form(*files)) as response:
        assert response.status == 400
    assert list((tmp_path / "files").iterdir()) == []


NUL_IN_NAME = (
    b'--b\r\nContent-Disposition: form-data; name="f"; filename="a\x00b"\r\n\r\nx\r\n--b--\r\n'
)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"x", "text/plain", 415),
        (b"x", "multipart/form-data", 400),
        (b"x", "multipart/form-data; boundary=b", 400),
        (b"--b\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b", 400),
        (b"--b\r\nContent-Disposition: form-data", "multipart/form-data; boundary=b", 400),
        (NUL_IN_NAME, "multipart/form-data; boundary=b", 400),
    ],
)
async def test_an_upload_that_is_none_is_refused(
    client: Client, body: bytes, kind: str, status: int
) -> None:
    async with client.post("/api/files", data=body, headers={"Content-Type": kind}) as response:
        assert response.status == status
        assert (await response.json())["error"]["message"]


async def test_a_file_that_was_never_uploaded_cannot_be_sent(
    client: Client, house: FakeHouse
) -> None:
    for wrong in ("f" * 32, "../x", 5, "*"):
        body = {"content": "", "metadata": META, "room": "web:g", "attachments": [{"id": wrong}]}
        async with client.post("/api/submit", json=body) as response:
            assert response.status == 400
            assert (await response.json())["error"]["field"] == "attachments.0.id"
    assert house.said == {}


async def test_a_claimed_path_beside_an_id_counts_for_nothing(
    client: Client, house: FakeHouse
) -> None:
    async with client.post("/api/files", data=form(("a.txt", b"x"))) as response:
        [kept] = (await response.json())["files"]
    attachment = {"id": kept["id"], "path": "/etc/passwd", "name": "b.txt"}
    body = {"content": "", "metadata": META, "room": "web:g", "attachments": [attachment]}
    async with client.post("/api/submit", json=body) as response:
        assert response.status == 200
    [stored] = house.said["web:g"][0].attachments
    assert (stored.name, Path(str(stored.path)).name) == ("a.txt", "a.txt")


async def test_a_name_in_another_script_survives_the_download(client: Client, url: str) -> None:
    async with client.post("/api/files", data=form(("日本.txt", b"x"))) as response:
        [kept] = (await response.json())["files"]
    async with client.get(URL(url).join(URL(kept["url"]))) as response:
        assert "filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt" in response.headers["Content-Disposition"]
