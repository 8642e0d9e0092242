"""What `penstock serve` does around the broker: how it begins, and what it is ended by."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable

import pytest
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

from penstock.errors import Unusable
from penstock.log import layout
from penstock.metadata.store import Unavailable, Unknown
from penstock.node import log_lines, run
from penstock.wire.messages.k03_metadata import MetadataRequest


def limit(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> list[tuple[int, int]]:
    """What the limit is set to, from then on."""
    wanted: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: wanted.append(limits))
    return wanted


def test_a_broker_does_not_start_with_fewer_file_handles_than_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limit(monkeypatch, 64, run.HANDLES_MIN - 1)
    with pytest.raises(Unusable, match="255 file handles, and a broker needs at least 256"):
        run.raise_file_limit()
    monkeypatch.setattr(log_lines, "set_up", lambda *_: None)
    assert run.serve({}) == 1
    assert "ulimit -n" in capsys.readouterr().err


def test_the_limit_is_raised_as_far_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = limit(monkeypatch, 64, run.HANDLES_MIN)
    assert run.raise_file_limit() == run.HANDLES_MIN
    assert wanted == [(run.HANDLES_MIN, run.HANDLES_MIN)]


@pytest.mark.parametrize(
    "problem",
    [
        Unavailable("the metadata store is locked"),
        Unknown("the metadata store gave no answer"),
        OSError(28, "no space left on device"),
    ],
)
def test_what_keeps_a_broker_from_starting_is_one_line(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail(wanted: object) -> int:
        raise problem

    monkeypatch.setattr(log_lines, "set_up", lambda *_: None)
    monkeypatch.setattr(run, "_serve", fail)
    assert run.serve({}) == 1
    assert capsys.readouterr().err == f"penstock: {problem}\n"


def test_a_broker_whose_terminal_is_closed_stops_cleanly(
    own_broker: Callable[..., BrokerProcess],
) -> None:
    running = own_broker().start()
    assert running._end(signal.SIGHUP) == 0
    assert is_marked_clean(running)


def test_a_broker_that_is_to_outlive_its_terminal_does(
    own_broker: Callable[..., BrokerProcess],
) -> None:
    running = own_broker()
    running.wrapper = ("nohup",)
    running.start()
    os.kill(running.pid, signal.SIGHUP)
    for _ in range(3):  # the signal was there first
        with RawClient(running.port) as client:
            client.ask(MetadataRequest(topics=[]), 9)
    assert "stopping" not in running.log
    assert running.stop() == 0


def is_marked_clean(running: BrokerProcess) -> bool:
    return (running.data_dir / layout.CLEAN_STOP_FILE).exists()
