from __future__ import annotations

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.merging import merge
from penstock.metadata.records import CATALOG


def writes(key: str) -> Commit[str]:
    return Commit(
        answer=f"wrote {key}",
        checks=[(CATALOG, 3), (key, 0)],
        puts=[(key, b"value"), (CATALOG, key.encode())],
        deletes=[f"{key}/old"],
    )


def refuse(image: Image) -> Commit[str]:
    raise Refused(ErrorCode.INVALID_REQUEST, "no")


def test_what_each_change_writes_is_written_and_the_catalog_once_and_first() -> None:
    merged = merge(Image(), {1: lambda image: writes("/a"), 2: lambda image: writes("/b")})
    assert merged.answer == {1: "wrote /a", 2: "wrote /b"}
    assert merged.checks == [(CATALOG, 3), ("/a", 0), ("/b", 0)]
    assert merged.puts == [(CATALOG, b"/b"), ("/a", b"value"), ("/b", b"value")]
    assert merged.deletes == ["/a/old", "/b/old"]


def test_a_refused_change_writes_nothing_and_is_answered_with_its_refusal() -> None:
    merged = merge(Image(), {1: refuse, 2: lambda image: writes("/b")})
    refused = merged.answer[1]
    assert isinstance(refused, Refused)
    assert refused.code == ErrorCode.INVALID_REQUEST
    assert [key for key, _ in merged.puts] == [CATALOG, "/b"]


def test_where_all_is_refused_there_is_nothing_to_write() -> None:
    merged = merge(Image(), {1: refuse})
    assert not merged.puts
    assert not merged.deletes
