"""The page's first view on a slow network, in the real `moot run` and the machine's Chromium.

    python -m bench.page_load [--latency-ms 1500] [--kb-s 50] [--messages 40]

The network is Chromium's own emulation (`Network.emulateNetworkConditions`): each request waits for
the latency, all share the bandwidth; setting up a connection costs nothing there. `cold` has an
empty cache, `warm` what the visit before left; the service worker is passed by, since its own
requests would not be slowed. The first message is seen when it has its place on the screen, the
page is ready when its script has drawn the conversation. Counted are the page's own requests and
their bytes as they came over the wire, until it is ready and some seconds more; the worker that all
tabs share adds its script and the stream.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
from playwright.async_api import BrowserContext, async_playwright

from bench.rig import ANSWER_S, run
from tests.doubles.browser import CHROMIUM_ARGS, chromium
from tests.doubles.service import Service, service

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[access]
rooms = "open"
"""
AFTER_S = 2.0  # what the first view still fetches once its messages are there


async def fill(moot: Service, messages: int) -> None:
    """Let somebody have spoken in #general."""
    async with aiohttp.ClientSession(headers=moot.headers) as http:
        for number in range(messages):
            body = {
                "content": f"Message {number}: the **token** expires after `15` minutes.",
                "room": "web:general",
                "source": "web",
                "sender_id": "web:ann",
                "sender_display_name": "Ann",
                "sender_type": "human",
            }
            url = f"{moot.url.rstrip('/')}/api/passive"
            async with http.post(url, json=body) as answer:
                assert answer.status == 200, await answer.text()


async def view(
    context: BrowserContext, url: str, latency_ms: float, kb_s: float, *, cold: bool
) -> str:
    """One visit, as a row."""
    page = await context.new_page()
    network = await context.new_cdp_session(page)
    got: dict[str, int] = {}

    def asked(told: dict[str, Any]) -> None:
        got.setdefault(told["requestId"], 0)

    def kept(told: dict[str, Any]) -> None:
        got.pop(told["requestId"], None)

    def arrived(told: dict[str, Any]) -> None:
        if told["requestId"] in got:
            got[told["requestId"]] = int(told["encodedDataLength"])

    network.on("Network.requestWillBeSent", asked)
    network.on("Network.requestServedFromCache", kept)
    network.on("Network.loadingFinished", arrived)
    await network.send("Network.enable")
    await network.send("Network.setCacheDisabled", {"cacheDisabled": cold})
    await network.send("Network.setBypassServiceWorker", {"bypass": True})
    rate = kb_s * 1_000
    limits = {"latency": latency_ms, "downloadThroughput": rate, "uploadThroughput": rate}
    await network.send("Network.emulateNetworkConditions", {"offline": False, **limits})
    begin = time.perf_counter()
    await page.goto(url, wait_until="commit")
    await page.locator("article.message").first.wait_for(timeout=120_000)
    seen_s = time.perf_counter() - begin
    await page.locator("article.message:not(.early)").first.wait_for(timeout=120_000)
    ready_s = time.perf_counter() - begin
    await asyncio.sleep(AFTER_S + 2 * latency_ms / 1e3)
    await page.close()
    sent = [size for size in got.values() if size]
    size = f"{len(sent):3} requests  {sum(sent) / 1e3:6.1f} KB"
    return f"{size}  first message {seen_s:5.2f} s  ready {ready_s:5.2f} s"


async def bench(latency_ms: float, kb_s: float, messages: int, folder: Path) -> None:
    """Both rows."""
    async with service(folder, CONFIG) as moot, async_playwright() as playwright:
        await fill(moot, messages)
        browser = await playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(moot.link)
        await page.fill("#name", "Ann")
        await page.click("#enter")
        await page.locator("article.message").first.wait_for(timeout=ANSWER_S * 1e3)
        await page.close()
        for cold in (True, False):
            row = await view(context, moot.url, latency_ms, kb_s, cold=cold)
            print(f"{'cold' if cold else 'warm'}  {row}", flush=True)
        await browser.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency-ms", type=float, default=1_500)
    parser.add_argument("--kb-s", type=float, default=50)
    parser.add_argument("--messages", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(bench(given.latency_ms, given.kb_s, given.messages, Path(folder)))


if __name__ == "__main__":
    main()
