"""From texts to a broker's settings."""

from __future__ import annotations

import pytest

from penstock.errors import Unusable
from penstock.node import settings


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9092", "127.0.0.1", 9092),
        ("broker.example:0", "broker.example", 0),
        (":9092", "127.0.0.1", 9092),
        ("[::1]:9092", "::1", 9092),
        (" [::]:65535 ", "::", 65535),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    assert settings.host_and_port(text, "listeners") == (host, port)
    assert settings.host_and_port(settings.address(host, port), "listeners") == (host, port)


@pytest.mark.parametrize(
    "text",
    ["", "foo", "foo:", "foo:x", "foo:65536", "foo:-1", "PLAINTEXT://foo:9092", "a:1,b:2", "a b:1"],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(Unusable, match="is not HOST:PORT"):
        settings.read({"listeners": text})


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    assert settings.address("::1", 9092) == "[::1]:9092"


@pytest.mark.parametrize(
    "texts",
    [
        {"advertised.listeners": "0.0.0.0:9092"},
        {"advertised.listeners": "[::]:9092"},
        {"advertised.listeners": "foo"},
        {"metadata.store": "redis://x"},
        {"metadata.store": "sqlite:"},
    ],
)
def test_where_there_can_be_nothing_is_refused(texts: dict[str, str]) -> None:
    with pytest.raises(Unusable, match=next(iter(texts))):
        settings.read(texts)


def test_nothing_said_is_the_default() -> None:
    read = settings.read({"advertised.listeners": "", "metadata.store": ""})
    assert (read.broker.advertise, read.broker.store) == ("", "")
