"""A backup as a file: told from anything else, and from a backup that is not whole."""

from __future__ import annotations

import hashlib

import pytest

from penstock.errors import Unusable
from penstock.metadata.backup_file import Head, decode_backup, encode_backup
from penstock.metadata.store import Entry

ENTRIES = [
    Entry("/cluster", b'{"cluster_id":"abc","version":1}', 7),
    Entry("/later/\xe4", b'{"n":1.50,"s":"\\u00e4"}', 9),
]


def head(config: str | None = None) -> Head:
    return Head(penstock="1", created="now", cluster_id="abc", revision=9, records=2, config=config)


def encoded() -> bytes:
    return encode_backup(head('"node.id" = 1\n'), ENTRIES)


def test_records_come_back_byte_for_byte() -> None:
    found = decode_backup(encoded(), "b")
    assert [(each.key, each.value) for each in found.entries] == [
        (each.key, each.value) for each in ENTRIES
    ]
    assert found.head == head('"node.id" = 1\n')


def test_each_record_is_a_line_that_a_person_can_read() -> None:
    assert b'{"key":"/cluster","record":{"cluster_id":"abc","version":1}}' in encoded().splitlines()


@pytest.mark.parametrize("length", range(0, len(encoded()) - 1, 7))
def test_a_file_that_was_cut_off_is_refused(length: int) -> None:
    with pytest.raises(Unusable, match="b is"):
        decode_backup(encoded()[:length], "b")


def test_a_file_that_was_changed_is_refused() -> None:
    whole = encoded()
    for at in range(whole.index(b"\n") + 1, len(whole) - 1):
        changed = bytearray(whole)
        changed[at] ^= 1
        with pytest.raises(Unusable):
            decode_backup(bytes(changed), "b")


def test_a_line_too_few_is_noticed_whatever_the_checksum_says() -> None:
    first, second, _, _ = encoded().splitlines(keepends=True)
    text = first + second
    seal = b'{"sha256":"%s"}\n' % hashlib.sha256(text).hexdigest().encode()
    with pytest.raises(Unusable, match="not whole"):
        decode_backup(text + seal, "b")


@pytest.mark.parametrize("data", [b"", b"\n", b"[1]\n", b'{"format":"x","version":1}\n', b"\xff\n"])
def test_what_is_no_backup_is_told_so(data: bytes) -> None:
    with pytest.raises(Unusable, match="no backup"):
        decode_backup(data, "b")


def test_a_backup_of_a_newer_release_is_refused_with_what_to_do() -> None:
    newer = encoded().replace(b'"version":1', b'"version":2', 1)
    with pytest.raises(Unusable, match="newer release"):
        decode_backup(newer, "b")


def test_what_is_not_json_does_not_go_into_a_backup() -> None:
    with pytest.raises(Unusable, match="not JSON"):
        encode_backup(head(), [Entry("/a", b"\x00", 1)])
