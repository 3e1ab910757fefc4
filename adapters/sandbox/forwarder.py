"""The way out of a sandbox without a network: ports of its own loopback lead to a socket.

Run as a script inside: `python -I -S forwarder.py SOCKET PROXY_PORT PORT,PORT... PROGRAM WORD...`.
It listens, leaves the work to a process of its own, and becomes the program. What connects to the
proxy's port speaks with the relay (`adapters/sandbox/relay.py`) behind the socket; for any other
port, which stands for the same one of Moot's loopback, the forwarder asks the relay to connect.
"""

import contextlib
import ctypes
import errno
import os
import socket
import struct
import sys
import threading

PIECE_BYTES = 65_536
HEAD_BYTES = 8_192
WAITING = 64  # connections
FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: a namespace of its own each


def main(relay: str, proxy_port: int, ports: list[int], argv: list[str]) -> None:
    """Listen, and be the program."""
    listeners = [(port, _listen(port)) for port in (proxy_port, *ports)]
    if not os.fork():
        os.setsid()
        if os.fork():  # the program has no child that it knows nothing of
            os._exit(0)
        _serve(relay, proxy_port, listeners)
    os.wait()
    for _, listener in listeners:
        listener.close()
    _close_other_networks()
    os.execv(argv[0], argv)  # noqa: S606


def _close_other_networks() -> None:
    """Have the kernel refuse sockets of other kinds (`AF_VSOCK` reaches the machine's own host): no
    namespace holds them. Raises OSError."""
    machines = {"x86_64": (0xC000003E, (41, 0x40000029)), "aarch64": (0xC00000B7, (198,))}
    if os.uname().machine not in machines:
        return
    arch, calls = machines[os.uname().machine]
    load, equal, give = 0x20, 0x15, 0x06
    refused, allowed = (give, 0, 0, 0x00050000 | errno.EAFNOSUPPORT), (give, 0, 0, 0x7FFF0000)
    old = (102, 359, 281)  # `socketcall` and `socket` of 32 bits, on either
    rules = [(load, 0, 0, 4), (equal, 3 + len(old), 0, arch), (load, 0, 0, 0)]
    rules += [(equal, len(old) - at, 0, number) for at, number in enumerate(old)]
    rules += [allowed, refused, (load, 0, 0, 0)]
    rules += [(equal, len(calls) - at, 0, number) for at, number in enumerate(calls)]
    rules += [allowed, (load, 0, 0, 16)]
    rules += [(equal, len(FAMILIES) - at, 0, family) for at, family in enumerate(FAMILIES)]
    rules += [refused, allowed]
    filters = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    held = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("@HP", len(rules), ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "other networks can't be closed")


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(WAITING)
    return listener


def _serve(relay: str, proxy_port: int, listeners: list[tuple[int, socket.socket]]) -> None:
    """Carry what connects. Never returns."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # or a terminal and pipes would never close
        os.dup2(nowhere, number)
    for port, listener in listeners:
        target = "" if port == proxy_port else f"127.0.0.1:{port}"
        threading.Thread(target=_accept, args=(relay, target, listener)).start()
    threading.Event().wait()


def _accept(relay: str, target: str, listener: socket.socket) -> None:
    while True:
        caller, _ = listener.accept()
        threading.Thread(target=_carry, args=(relay, target, caller), daemon=True).start()


def _carry(relay: str, target: str, caller: socket.socket) -> None:
    """Carry one connection, both ways, until both ends have said all."""
    with caller, socket.socket(socket.AF_UNIX) as out, contextlib.suppress(OSError):
        out.connect(relay)
        if target and not _asked(out, target):
            return
        back = threading.Thread(target=_pump, args=(out, caller), daemon=True)
        back.start()
        _pump(caller, out)
        back.join()


def _asked(out: socket.socket, target: str) -> bool:
    """Have the relay connect there; True when it did."""
    out.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < HEAD_BYTES:
        byte = out.recv(1)
        if not byte:
            return False
        head += byte
    return head.split(b" ", 2)[1:2] == [b"200"]


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(p) for p in sys.argv[3].split(",") if p], sys.argv[4:])
