"""Things that are missing at a BlueBubbles server, each with its remedy."""

from __future__ import annotations

from bots.bluebubbles.api import BlueBubblesApi
from bots.bluebubbles.connection import listed
from bots.bluebubbles.directory import Directory
from bots.kit.webhook import is_out_of_reach


async def findings(
    api: BlueBubblesApi, directory: Directory, base: str | None, folder: str
) -> list[str]:
    """One line each; nothing is changed there. base: our own address as the server reaches it.

    folder: the webhook's path without its secret. Raises PlatformError.
    """
    await api.get("ping")
    info = await directory.info()
    return [
        line
        for line in (
            _private_api(info.private_api, info.helper_connected),
            _reach(api, base),
            await _webhook(api, base, folder),
        )
        if line
    ]


def _private_api(enabled: bool | None, connected: bool | None) -> str:
    lost = "no typing sign, no edits, nothing can be taken back"
    if not enabled:
        return f"the private API is off ({lost}): turn it on in the server's settings"
    if not connected:
        return (
            f"the private API's helper isn't connected ({lost}): open Messages on the Mac, and "
            "see that System Integrity Protection is off there"
        )
    return ""


def _reach(api: BlueBubblesApi, base: str | None) -> str:
    if base is None:
        return "`listen` has no fixed port, so the server can't call: set one, or webhook_url"
    if is_out_of_reach(base, api.base):
        return (
            f"the server is on another machine and can't reach {base}: set webhook_url, and "
            "`listen` on an address that it reaches"
        )
    return ""


async def _webhook(api: BlueBubblesApi, base: str | None, folder: str) -> str:
    if base is None:
        return ""
    shown = base.rstrip("/") + folder
    if (hooks := await listed(api)) is None:
        return f"the server lists no webhooks: see in its settings that it calls {shown}<secret>"
    ours = [hook for hook in hooks if hook.url.startswith(shown)]
    return "" if ours else "the webhook isn't registered yet: `moot run` does it"
