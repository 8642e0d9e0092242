"""Where the ensemble is, who we are to it, and what of that is wrong before anything is tried."""

from __future__ import annotations

import ssl

import msgspec

from penstock.errors import Unusable

SCHEME = "zookeeper://"
PORT = 2181
CHROOT = "/penstock"
HOSTS_MAX = 64


class Address(msgspec.Struct, frozen=True):
    hosts: tuple[str, ...]
    """Each with its port."""
    chroot: str
    """The node that all of the store is under."""


class Credentials(msgspec.Struct, frozen=True):
    """Empty is what was not given. TLS is used where a file for it is named."""

    user: str = ""
    password: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""


def parse_url(url: str) -> Address:
    """`zookeeper://h1:2181,h2:2181/chroot`; ports and chroot may be left out."""
    if not url.startswith(SCHEME):
        raise Unusable(f"{url} is no address of ZooKeeper; write {SCHEME}host:{PORT}/chroot")
    hosts, slash, path = url.removeprefix(SCHEME).partition("/")
    if hosts.count(",") >= HOSTS_MAX:
        raise Unusable(f"{url} names more than {HOSTS_MAX} servers")
    names = [part for part in path.split("/") if part]
    if any(name in (".", "..") or not name.isprintable() for name in names):
        raise Unusable(f"{url}: {slash}{path} cannot be the path of a node in ZooKeeper")
    chroot = "/" + "/".join(names) if names else CHROOT
    return Address(tuple(_with_port(host, url) for host in hosts.split(",")), chroot)


def check(credentials: Credentials) -> ssl.SSLContext | None:
    """What TLS needs, if it is wanted. A connection that fails does not say which file is wrong."""
    if bool(credentials.user) != bool(credentials.password):
        raise Unusable("ZooKeeper needs both a user name and a password, or neither")
    if ":" in credentials.user:
        raise Unusable("a user name for ZooKeeper cannot have a colon in it")
    if bool(credentials.certificate_file) != bool(credentials.key_file):
        raise Unusable("TLS to ZooKeeper needs both a certificate and its key, or neither")
    files = (credentials.ca_file, credentials.certificate_file, credentials.key_file)
    for name in filter(None, files):
        _check_readable(name)
    try:
        return _context(credentials) if any(files) else None
    except ssl.SSLError as problem:
        raise Unusable(
            f"the files for TLS to ZooKeeper do not fit or are not PEM ({problem}); check "
            + ", ".join(filter(None, files))
        ) from problem


def _with_port(host: str, url: str) -> str:
    name, colon, port = host.strip().rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host.strip(), str(PORT)
    if not name or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise Unusable(
            f"{url}: {host!r} is not a host and a port; write {SCHEME}host:{PORT}/chroot"
        )
    return f"{name}:{port}"


def _check_readable(name: str) -> None:
    try:
        with open(name, "rb") as file:
            file.read(1)
    except OSError as problem:
        raise Unusable(f"the file for TLS to ZooKeeper cannot be read: {problem}") from problem


def _context(credentials: Credentials) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=credentials.ca_file or None)
    if credentials.certificate_file:
        context.load_cert_chain(credentials.certificate_file, credentials.key_file)
    return context
