"""The address of a store in etcd, and the files for TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import Unusable
from penstock.metadata.stores.etcd_address import EtcdAddress, parse_url, tls_context


@pytest.mark.parametrize(
    ("url", "endpoints", "prefix"),
    [
        ("etcd://h1:2379,h2:2380/penstock", ("h1:2379", "h2:2380"), "/penstock"),
        ("etcd://h1/a/b/", ("h1:2379",), "/a/b"),
        ("etcd://[::1]:99,10.0.0.1/p", ("[::1]:99", "10.0.0.1:2379"), "/p"),
    ],
)
def test_an_address_names_servers_and_a_prefix(
    url: str, endpoints: tuple[str, ...], prefix: str
) -> None:
    assert parse_url(url) == EtcdAddress(endpoints, prefix)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://h1:2379/p", "begin with etcd://"),
        ("etcd://h1:2379", "no prefix"),
        ("etcd://h1:2379/", "no prefix"),
        ("etcd:///p", "no host and port"),
        ("etcd://h1,,h2/p", "no host and port"),
        ("etcd://h1:x/p", "no host and port"),
        ("etcd://h1:99999/p", "no host and port"),
        ("etcd://h 1/p", "no host and port"),
        ("etcd://h1/p?q=1", "may not contain"),
        ("etcd://h1/a//b", "may not contain"),
        ("etcd://" + ",".join(["h"] * 21) + "/p", "more than 20"),
    ],
)
def test_an_address_that_is_none_is_refused_with_what_is_wrong(url: str, why: str) -> None:
    with pytest.raises(Unusable, match=why) as refused:
        parse_url(url)
    assert "etcd://host1:2379,host2:2379/prefix" in str(refused.value)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(Unusable, match="are settings") as refused:
        parse_url("etcd://user:secret@h1:2379/p")
    assert "secret" not in str(refused.value)


def test_without_files_connections_are_plain() -> None:
    assert tls_context("", "", "") is None


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (("", "c.pem", "k.pem"), "no file of the authorities"),
        (("ca.pem", "c.pem", ""), "both"),
        (("absent.pem", "", ""), "absent.pem cannot be read"),
    ],
)
def test_files_for_tls_that_do_not_go_together_are_refused(
    files: tuple[str, str, str], why: str
) -> None:
    with pytest.raises(Unusable, match=why):
        tls_context(*files)


def test_a_file_of_authorities_that_holds_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("nothing of the kind\n")
    with pytest.raises(Unusable, match="PEM"):
        tls_context(str(path), "", "")
