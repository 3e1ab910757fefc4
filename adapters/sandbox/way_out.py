"""The way out of a sandbox without a network: to the session's relay, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adapters.agent import Sandbox
from adapters.pty.process_tree import PYTHON
from adapters.sandbox import forwarder

SOCKET, SCRIPT = Path("/run/moot/relay"), Path("/run/moot/forwarder.py")
PROXY_PORT = 3128  # as proxies have it; in the sandbox, where no other program listens
NO_PROXY = "127.0.0.1,localhost,::1"


def files(sandbox: Sandbox) -> tuple[tuple[Path, Path], ...]:
    """What the sandbox shows for it: (file, the path at which it is shown)."""
    if sandbox.relay is None:
        return ()
    return (sandbox.relay, SOCKET), (Path(forwarder.__file__).resolve(), SCRIPT)


def words(sandbox: Sandbox) -> tuple[str, ...]:
    """The words before the program's, inside."""
    if sandbox.relay is None:
        return ()
    ports = ",".join(map(str, sandbox.ports))
    return (PYTHON, "-I", "-S", str(SCRIPT), str(SOCKET), str(_proxy_port(sandbox)), ports)


def environment(sandbox: Sandbox) -> Mapping[str, str]:
    """The variables by which programs find their proxy."""
    if sandbox.relay is None:
        return {}
    proxy = f"http://127.0.0.1:{_proxy_port(sandbox)}"
    named = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": NO_PROXY}
    # Node's own `fetch` looks for none without the last
    return (
        named | {key.lower(): value for key, value in named.items()} | {"NODE_USE_ENV_PROXY": "1"}
    )


def _proxy_port(sandbox: Sandbox) -> int:
    return next(port for port in range(PROXY_PORT, 65536) if port not in sandbox.ports)
