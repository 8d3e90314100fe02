"""Whether a party could run here, looked at before the day: its port, clock, disk, certificates, and its neighbours.

Nothing is sent to a neighbour but the beginning of a TLS handshake, and nothing is left on the disk.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import platform
import secrets
import shutil
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from ..errors import InvalidInput, JournalError
from .cluster import ask
from .journal import Journal
from .keys.identity import CERTIFICATE, KEY, load, valid_until
from .plan.node_file import Neighbour, NodeConfig
from .transport.addresses import reach
from .transport.transport import Lost

PROXIES = ("http_proxy", "https_proxy", "all_proxy")
PACKAGES = ("sottovoce", "numpy", "scipy", "cryptography")
LITTLE_ROOM, ROOM = (
    10 * 2**20,
    200 * 2**20,
)  # bytes on the disk: below the first nothing runs, below the second not long
SLOW = 0.5  # seconds to write a journal down
SOON = 30  # days in which a certificate ends
AHEAD = 120.0  # seconds by which a file may be newer than now: clocks of file servers differ
ANSWER = 5.0  # seconds for a neighbour that is called
ALERT = 1.0  # seconds in which a neighbour that knows no such caller says so
UNSYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ``fail`` has to be mended before the party runs, ``warn`` perhaps; ``advice`` says
    how."""

    check: str
    state: Literal["ok", "warn", "fail"]
    told: str
    advice: str = ""

    def to_dict(self) -> dict[str, str]:
        """As ``sottovoce doctor --json`` prints it."""
        return asdict(self)


def examine(config: NodeConfig, *, now: datetime, environment: Mapping[str, str]) -> list[Finding]:
    """All that was found, in the order in which an operator would look.

    Parameters
    ----------
    config : NodeConfig
        As ``read_node_file`` gives it, which has seen that files fit each other and that certificates are valid.
    now : datetime
        With a time zone.
    environment : mapping
        Of the process, for proxies.
    """
    running = _running(config)
    return [
        _versions(),
        *_listening(config, running),
        _proxy(config, environment),
        _clock(config, now),
        *_disk(config, running),
        *_permissions(config),
        *_certificates(config, now),
        *_neighbours(config, running),
    ]


def _running(config: NodeConfig) -> dict[str, Any] | None:
    """What the party says, if it runs."""
    try:
        return ask(config.socket)
    except InvalidInput:
        return None


def _versions() -> Finding:
    found = []
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # a checkout that was never installed
            found.append(f"{package} {version(package)}")
    system = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    return Finding("versions", "ok", ", ".join([*found, system]))


# The port


def _listening(config: NodeConfig, running: dict[str, Any] | None) -> Iterator[Finding]:
    if config.listen is None:
        yield Finding("port", "ok", "this party listens on none: it calls all its neighbours")
    for check, address in (("port", config.listen), ("metrics", config.metrics)):
        if address is None:
            continue
        if running is not None:
            yield Finding(check, "ok", f"the party runs, and has {address}")
            continue
        if (why := _cannot_listen(address)) is None:
            yield Finding(
                check, "ok", f"{address} is free. Only a neighbour can see whether it is reached from outside"
            )
        else:
            advice = f"End what listens there, or write another address: {'listen' if check == 'port' else 'metrics'}"
            yield Finding(check, "fail", f"cannot listen on {address}: {why}", advice)


def _cannot_listen(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, where in found:
            socket.create_server(where[:2], family=family).close()
    except socket.gaierror:
        return f"{host} is not a name of this machine"
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    return None


def _proxy(config: NodeConfig, environment: Mapping[str, str]) -> Finding:
    if config.proxy is not None:
        return Finding("proxy", "ok", f"neighbours are called through {config.proxy.address}, as the node file says")
    found = [name for name in (*PROXIES, *map(str.upper, PROXIES)) if environment.get(name)]
    if not found:
        return Finding("proxy", "ok", "none in the environment")
    return Finding(
        "proxy",
        "warn",
        f"{', '.join(found)} is set, and is not used: parties call each other directly",
        "If nothing gets out here but through the proxy, name it in the node file: [party] proxy",
    )


# The clock


def _clock(config: NodeConfig, now: datetime) -> Finding:
    shown = f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    own = (config.path, config.identity / KEY, config.identity / CERTIFICATE, config.journal)
    newest = max((path for path in own if path.exists()), key=lambda path: path.stat().st_mtime)
    if (ahead := newest.stat().st_mtime - now.timestamp()) > AHEAD:
        told = f"{shown}, but {newest} was written {ahead:,.0f} s later: the clock is behind, or was ahead"
        return Finding("clock", "warn", told, "Set the clock: certificates are refused by one that is far off")
    if _synchronised() is False:
        return Finding("clock", "warn", f"{shown}; nothing keeps it right", "Turn NTP on: timedatectl set-ntp true")
    return Finding("clock", "ok", shown)


def _synchronised() -> bool | None:
    """Whether the kernel holds the clock for synchronised; None where it cannot be asked."""
    if not sys.platform.startswith("linux"):
        return None
    with suppress(OSError, AttributeError):
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))  # asks for nothing to be changed
        return None if state < 0 else bool(state != UNSYNCHRONISED)
    return None


# The disk


def _disk(config: NodeConfig, running: dict[str, Any] | None) -> Iterator[Finding]:
    folder = config.journal.parent
    free = shutil.disk_usage(folder).free
    room = f"{free / 2**20:,.0f} MiB free in {folder.absolute()}"
    if free < ROOM:
        yield Finding("disk", "fail" if free < LITTLE_ROOM else "warn", room, "Make room: a party stops on a full disk")
    else:
        yield Finding("disk", "ok", room)
    yield _journal_folder(folder)
    if not config.journal.exists():
        yield Finding("journal", "ok", "none yet: it is made as the party starts")
    elif running is not None:
        yield Finding("journal", "ok", "the party runs, and uses it")
    else:
        yield _journal(config)
    result = config.result.parent
    if not os.access(result, os.W_OK):
        yield Finding(
            "result", "fail", f"{result.absolute()} cannot be written to", "Make it this user's, or name another"
        )


def _journal_folder(folder: Path) -> Finding:
    """A journal on trial, as a party makes one: locks, links, ``fsync``; and the socket beside it."""
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".doctor-") as made:
            with Journal(Path(made) / "j", secrets.token_bytes(32)) as journal:
                journal.put({"trial": bytes(2**16)})
            took = time.monotonic() - began
            with closing(socket.socket(socket.AF_UNIX)) as listening:
                listening.bind(str(Path(made) / "s"))
    except (JournalError, OSError) as error:
        why = str(error).rstrip(".")
        return Finding("folder", "fail", why, "Name a journal in a folder of a local disk that this user may write to")
    if took > SLOW:
        told = f"a trial journal took {took:.1f} s to reach the disk"
        return Finding(
            "folder", "warn", told, "A party writes some twenty times: put the journal on a faster, local disk"
        )
    return Finding("folder", "ok", f"a trial journal was on the disk in {1000 * took:.0f} ms")


def _journal(config: NodeConfig) -> Finding:
    try:
        Journal(config.journal, load(config.identity).derive("journal")).close()
    except JournalError as error:
        return Finding("journal", "fail", str(error).rstrip("."), "See the page on deploying: The journal")
    return Finding("journal", "ok", f"{config.journal} is whole: the party goes on from it")


def _permissions(config: NodeConfig) -> Iterator[Finding]:
    """The key itself was looked at when the file was read: one that others can read is refused."""
    places = {
        "the node file": config.path,
        "the folder of the identity": config.identity,
        "the folder of the journal": config.journal.parent,
    }
    loose = {what: path for what, path in places.items() if _others_may(path, 0o022)}
    for what, path in loose.items():
        told = f"others on this machine may change {what}, {path}"
        yield Finding("permissions", "fail", told, f"Run: chmod go-w {path}")
    if config.data is not None and _others_may(config.data, 0o004):
        told = f"everybody on this machine may read the data, {config.data}"
        yield Finding("permissions", "warn", told, f"Run: chmod o-r {config.data}")
    elif not loose:
        yield Finding("permissions", "ok", "key, node file and folders are this user's own")


def _others_may(path: Path, mode: int) -> bool:
    """Whether the mode of a file lets others do that, and no folder above it keeps them out."""
    open_folders = all(folder.stat().st_mode & 0o011 for folder in path.resolve().parents)
    return bool(path.stat().st_mode & mode) and open_folders


# Certificates and neighbours


def _certificates(config: NodeConfig, now: datetime) -> Iterator[Finding]:
    """Those that are over were refused when the file was read."""
    pinned = {config.name: load(config.identity).certificate}
    pinned |= {neighbour.name: neighbour.certificate for neighbour in config.neighbours}
    left = {name: (valid_until(pem) - now).days for name, pem in pinned.items()}
    ending = {name: days for name, days in left.items() if days < SOON}
    for name, days in ending.items():
        told = f"that of {name} ends in {days} days"
        yield Finding("certificates", "warn", told, f"Run before that, or let {name} make a new one, for a new plan")
    if not ending:
        first = min(left, key=lambda name: left[name])
        yield Finding(
            "certificates", "ok", f"{len(left)} are valid; the first to end is that of {first}, in {left[first]:,} days"
        )


def _neighbours(config: NodeConfig, running: dict[str, Any] | None) -> Iterator[Finding]:
    if running is not None:
        for name, state in running.get("neighbours", {}).items():
            advice = "" if state == "up" else "See the page on deploying: When it says"
            yield Finding(f"neighbour {name}", "ok" if state == "up" else "warn", f"the party says: {state}", advice)
        return
    with ThreadPoolExecutor(16) as pool:
        calls: list[Callable[[], Finding]] = [partial(_called, config, neighbour) for neighbour in config.neighbours]
        yield from pool.map(lambda call: call(), calls)


def _called(config: NodeConfig, neighbour: Neighbour) -> Finding:
    """What a call comes to. Of two neighbours that can both be called, the one whose name sorts first calls."""
    check, address = f"neighbour {neighbour.name}", neighbour.address
    if address is None or (config.listen is not None and neighbour.name < config.name):
        return Finding(check, "ok", f"it calls this party, at {config.listen}: let it run its own doctor")
    host, _, port = address.rpartition(":")
    try:
        if config.proxy is not None:
            connection = asyncio.run(reach(address, config.proxy))
            connection.setblocking(True)
            connection.settimeout(ANSWER)
        else:
            connection = socket.create_connection((host.strip("[]"), int(port)), ANSWER)
    except Lost as error:
        return Finding(
            check, "warn", str(error), f"Nothing, if {neighbour.name} has not started yet; or ask for a way out"
        )
    except socket.gaierror:
        return Finding(
            check, "fail", f"the name in {address} does not resolve", "Correct it, or ask who runs the names"
        )
    except ConnectionRefusedError:
        return Finding(
            check, "warn", f"nobody listens on {address}", f"Nothing, if {neighbour.name} has not started yet"
        )
    except OSError:
        advice = f"Ask {neighbour.name} whether its machine is on, and who runs the firewalls for this port"
        return Finding(check, "warn", f"no answer from {address} within {ANSWER:g} s", advice)
    with connection:
        if config.channels == "open":
            return Finding(check, "ok", f"{address} is listened on; on open channels nobody shows who it is")
        return _shows(connection, config, neighbour)


def _shows(connection: socket.socket, config: NodeConfig, neighbour: Neighbour) -> Finding:
    """Whether the pinned certificate is shown, and this party's own taken."""
    check, address = f"neighbour {neighbour.name}", neighbour.address
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # to see whose it is; it is compared below
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(config.identity / CERTIFICATE, config.identity / KEY)
    context.set_alpn_protocols(["h2", "http/1.1"])
    known = f"{address} hung up after the handshake: does it know this party's certificate?"
    advice = f"Compare fingerprints with {neighbour.name}: sottovoce fingerprints {config.path}"
    try:
        with context.wrap_socket(connection, server_hostname=neighbour.name) as secured:
            shown = secured.getpeercert(binary_form=True)
            if shown != ssl.PEM_cert_to_DER_cert(neighbour.certificate):
                told = f"{address} shows another certificate than the pinned one, {neighbour.fingerprint}"
                return Finding(check, "fail", told, advice)
            secured.settimeout(ALERT)
            with suppress(TimeoutError):  # it waits for what this end says
                if not secured.recv(1):
                    return Finding(check, "fail", known, advice)
    except ssl.SSLError as error:
        if error.reason and "ALERT" in error.reason:
            return Finding(check, "fail", known, advice)
        told = f"{address} does not speak TLS 1.3: are its channels open, and ours encrypted?"
        return Finding(check, "fail", told, "Use the files of one plan, and look for a device between that opens TLS")
    except (OSError, TimeoutError):
        told = f"{address} hung up, or said nothing for {ANSWER:g} s"
        return Finding(check, "warn", told, f"Ask {neighbour.name} what its log says of it")
    return Finding(check, "ok", f"{address} shows the pinned certificate")
