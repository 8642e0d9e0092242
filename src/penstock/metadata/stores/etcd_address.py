"""Where etcd is, and how to talk to it: the URL of the store, and the files for TLS."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

import msgspec

from penstock.errors import Unusable

SCHEME = "etcd://"
PORT = 2379
ENDPOINTS_MAX = 20


class EtcdAddress(msgspec.Struct, frozen=True):
    endpoints: tuple[str, ...]
    """Host and port of each server."""
    prefix: str
    """What all keys begin with; it has a slash in front and none behind."""


def parse_url(url: str) -> EtcdAddress:
    """Unusable if it is not etcd://host:port,host:port/prefix."""
    if not url.startswith(SCHEME):
        raise _wrong(url, f"it does not begin with {SCHEME}")
    hosts, _, path = url.removeprefix(SCHEME).partition("/")
    prefix = path.strip("/")
    if not prefix:
        raise _wrong(url, "it names no prefix, by which our keys are told from those of others")
    if "?" in path or "#" in path or "//" in prefix:
        raise _wrong(url, "its prefix may not contain '?', '#' or '//'")
    endpoints = tuple(_endpoint(url, host) for host in hosts.split(","))
    if len(endpoints) > ENDPOINTS_MAX:
        raise _wrong(url, f"it names more than {ENDPOINTS_MAX} servers")
    return EtcdAddress(endpoints, "/" + prefix)


def _endpoint(url: str, text: str) -> str:
    if "@" in text:
        raise _wrong(url.replace(text, "..."), "user and password are settings, not part of it")
    try:
        parts = urlsplit("//" + text)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise _wrong(url, f"{text!r} is no host and port ({problem})") from None
    if not host or parts.query or parts.fragment or any(letter.isspace() for letter in text):
        raise _wrong(url, f"{text!r} is no host and port")
    return f"[{host}]:{port or PORT}" if ":" in host else f"{host}:{port or PORT}"


def _wrong(url: str, why: str) -> Unusable:
    return Unusable(
        f"the store's address {url!r} cannot be used: {why}; write it as "
        "etcd://host1:2379,host2:2379/prefix"
    )


def tls_context(ca_file: str, certificate_file: str, key_file: str) -> ssl.SSLContext | None:
    """None, for plain connections, unless a file of authorities is given."""
    if not ca_file:
        if certificate_file or key_file:
            raise Unusable(
                "a certificate for etcd is given, but no file of the authorities that etcd's own "
                "certificate is checked against; give that too"
            )
        return None
    if bool(certificate_file) != bool(key_file):
        raise Unusable("for etcd give both, a certificate and its key, or neither")
    context = _trusting(ca_file)
    if certificate_file:
        _present(context, certificate_file, key_file)
    return context


def _trusting(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as problem:
        raise Unusable(
            f"the authorities for etcd in {ca_file} cannot be read ({problem}); give a file of "
            "certificates in PEM form that this user may read"
        ) from problem


def _present(context: ssl.SSLContext, certificate_file: str, key_file: str) -> None:
    try:
        context.load_cert_chain(certificate_file, key_file, password=_no_password)
    except (OSError, ssl.SSLError, ValueError) as problem:
        raise Unusable(
            f"the certificate for etcd in {certificate_file} and its key in {key_file} cannot be "
            f"used ({problem}); give a pair in PEM form, the key without a password, that this "
            "user may read"
        ) from problem


def _no_password() -> str:
    """Without this OpenSSL would ask for it on the terminal."""
    raise ValueError("the key has a password")
