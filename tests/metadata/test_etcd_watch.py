"""A watch's bytes, however they are cut."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.metadata.store import Entry, Event, Events, Reset
from penstock.metadata.stores import etcd_watch
from penstock.metadata.stores.etcd_failures import Failed, NoAnswer
from penstock.metadata.stores.etcd_messages import Header
from penstock.metadata.stores.etcd_watch import Steps


def line(*events: tuple[str, int], revision: int = 0, **fields: Any) -> bytes:
    result = {
        "header": {"cluster_id": "7", "revision": str(revision)},
        "events": [
            {"kv": {"key": b64encode(key.encode()).decode(), "mod_revision": str(at)}}
            for key, at in events
        ],
        **fields,
    }
    return json.dumps({"result": result}).encode() + b"\n"


def steps(after: int = 0) -> Steps:
    return Steps("/p", after, lambda header: None)


def put(key: str, revision: int) -> Event:
    return Event(key, Entry(key, b"", revision), revision)


CREATED = line(revision=9, created=True)
ANSWERS = CREATED + line(("/p/a", 3), ("/p/b", 3), ("/p/a", 5)) + line(("/p/c", 6))
STEPS = [
    Events(3, (put("/a", 3), put("/b", 3))),
    Events(5, (put("/a", 5),)),
    Events(6, (put("/c", 6),)),
]


@given(st.integers(1, len(ANSWERS)))
def test_each_revision_is_one_step_however_the_bytes_are_cut(size: int) -> None:
    watch = steps()
    parts = [ANSWERS[at : at + size] for at in range(0, len(ANSWERS), size)]
    assert [step for part in parts for step in watch.feed(part)] == STEPS
    assert watch.after == 6


def test_a_revision_that_comes_in_fragments_is_held_until_it_is_whole() -> None:
    watch = steps()
    assert list(watch.feed(line(("/p/a", 3), ("/p/b", 4), fragment=True))) == [
        Events(3, (put("/a", 3),))
    ]
    assert list(watch.feed(line(("/p/c", 4), fragment=True))) == []
    assert watch.after == 3
    assert list(watch.feed(line(("/p/d", 4)))) == [
        Events(4, (put("/b", 4), put("/c", 4), put("/d", 4)))
    ]


def test_what_is_known_already_is_left_out() -> None:
    watch = steps(after=4)
    assert list(watch.feed(line(("/p/a", 3), ("/p/a", 4), revision=9))) == []
    assert watch.after == 4
    assert list(watch.feed(line(("/p/a", 4), ("/p/b", 5)))) == [Events(5, (put("/b", 5),))]


def test_what_had_not_come_whole_is_forgotten_with_the_connection() -> None:
    watch = steps()
    list(watch.feed(line(("/p/a", 3), fragment=True) + b'{"result": {"hea'))
    watch.begin_again()
    assert list(watch.feed(line(("/p/a", 3), ("/p/b", 3)))) == [
        Events(3, (put("/a", 3), put("/b", 3)))
    ]


def test_a_sign_of_progress_moves_where_to_go_on_but_the_beginning_does_not() -> None:
    watch = steps(after=2)
    assert list(watch.feed(CREATED)) == []
    assert watch.after == 2
    assert list(watch.feed(line(revision=12))) == []
    assert watch.after == 12


def test_a_watch_that_begins_before_what_is_kept_is_reset() -> None:
    told = line(canceled=True, compact_revision="40")
    assert list(steps().feed(CREATED + told)) == [Reset()]


def test_a_line_without_an_end_is_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_watch, "LINE_BYTES_MAX", 100)
    watch = steps()
    assert list(watch.feed(b"x" * 60)) == []
    assert list(watch.feed(b"x" * 60)) == [Reset()]


def test_a_watch_that_is_refused_says_why() -> None:
    with pytest.raises(Failed, match="permission denied") as refused:
        list(steps().feed(line(canceled=True, cancel_reason="permission denied")))
    assert refused.value.denied


def test_an_error_in_the_stream_ends_it() -> None:
    with pytest.raises(Failed, match="no leader") as failed:
        list(steps().feed(b'{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}\n'))
    assert not failed.value.denied


def test_what_is_no_answer_of_etcds_ends_it() -> None:
    with pytest.raises(NoAnswer):
        list(steps().feed(b"<html>\n"))


def test_every_answer_is_checked_for_the_cluster_it_comes_from() -> None:
    seen: list[Header] = []
    list(Steps("/p", 0, seen.append).feed(CREATED))
    assert [header.cluster_id for header in seen] == [7]
