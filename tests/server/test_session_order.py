"""Answers leave in the order of their requests, whatever each of them waits for."""

from __future__ import annotations

import asyncio
import itertools
import random
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.raw_client import a_batch, fetch_of, frame_of, framed, partition_of, produce_of
from tests.server.house import ANY, House, MemoryConnection

from penstock.api.outcome import NO_ANSWER, Change, Later, Resume
from penstock.api.refused_batches import LATE_MS, LATE_TIMES
from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.replication.signals import Signal
from penstock.server import decoding, outbox, session
from penstock.wire.codec import decode_response
from penstock.wire.messages.k00_produce import ProduceRequest
from penstock.wire.messages.k01_fetch import FetchResponse
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest

KINDS = ["now", "later", "resume", "change", "nothing", "later then resume", "resume then later"]


class Script:
    """Requests are numbers; what each of them waits for is done when the test says so."""

    def __init__(self, kinds: list[str]) -> None:
        self.kinds = kinds
        self.open: dict[int, Callable[[], None]] = {}
        """By request: what lets it go on."""
        self.begun: list[int] = []

    def read_call(self, frame: memoryview, peer: str, now_ms: int) -> ScriptedCall:
        return ScriptedCall(self, int.from_bytes(frame[:4], "big"))

    def outcome(self, number: int, kind: str) -> Any:
        if kind == "now":
            return Answer(number)
        if kind == "nothing":
            return NO_ANSWER
        if kind.startswith("later"):
            return self._later(number, kind)
        if kind == "change":
            return Change(lambda _: self._commit(number), lambda _: Answer(number))
        then = "later" if kind == "resume then later" else "now"
        return Resume(lambda: self._work(number), lambda _: self.outcome(number, then))

    def _later(self, number: int, kind: str) -> Later[Any]:
        signal, done = Signal(), [False]

        def answer(time_is_up: bool) -> Any:
            if not (done[0] or time_is_up):
                return None
            return self.outcome(number, "resume" if "resume" in kind else "now")

        def wake() -> None:
            done[0] = True
            signal.fire()

        self.open[number] = wake
        return Later([signal], answer, 10**9)

    async def _work(self, number: int) -> None:
        gate = asyncio.Event()
        self.open[number] = gate.set
        await gate.wait()

    def _commit(self, number: int) -> Commit[None]:
        self.begun.append(number)
        return Commit(None)


class Answer:
    def __init__(self, number: int) -> None:
        self.number = number


class ScriptedCall:
    answers = Answer

    def __init__(self, script: Script, number: int) -> None:
        self.script, self.number = script, number

    def run(self, broker: object) -> Any:
        self.script.begun.append(self.number)
        return self.script.outcome(self.number, self.script.kinds[self.number])

    def is_long(self, answer: Answer) -> bool:
        return answer.number % 3 == 0

    def encode(self, answer: Answer) -> list[bytes]:
        return [framed(answer.number.to_bytes(4, "big") + b"x" * (answer.number % 7))]


async def play(folder: Path, script: Script, chance: random.Random) -> list[int]:
    """Send all requests, let everything go on in some order; the numbers that were answered."""
    house = House(folder)
    connection = house.connect()
    stream = b"".join(framed(n.to_bytes(4, "big")) for n in range(len(script.kinds)))
    answers: list[int] = []
    wanted = sum(kind != "nothing" for kind in script.kinds)
    async with asyncio.timeout(30):
        while len(answers) < wanted or len(set(script.begun)) < len(script.kinds):
            event = chance.randrange(4)
            if event == 0 and stream:
                cut = chance.randrange(1, len(stream) + 1)
                connection.inbound += stream[:cut]
                stream = stream[cut:]
            elif event == 1 and script.open:
                script.open.pop(chance.choice(list(script.open)))()
            elif event == 2:
                connection.room = chance.choice([0, 1, 5, ANY])
            connection.step()
            await asyncio.sleep(0)
            answers += [int.from_bytes(answer[:4], "big") for answer in connection.answers()]
    session_ = house.session_of(connection)
    assert (len(connection.taken), house.door.budget.used) == (0, 0)
    await house.settle(lambda: connection.readable is not None and not session_.is_waiting)
    await house.close()
    return answers


@given(kinds=st.lists(st.sampled_from(KINDS), max_size=12), seed=st.integers(0, 2**32))
@hypothesis_settings(max_examples=60)
def test_any_mix_of_outcomes_is_answered_in_order(kinds: list[str], seed: int) -> None:
    script = Script(kinds)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(decoding, "read_call", script.read_call)
        answers = asyncio.run(play(Path(folder), script, random.Random(seed)))
    assert answers == [n for n, kind in enumerate(kinds) if kind != "nothing"]


@given(kinds=st.lists(st.sampled_from(KINDS), max_size=12), seed=st.integers(0, 2**32))
@hypothesis_settings(max_examples=20)
def test_requests_begin_in_order_and_none_before_one_that_waits_itself_is_done(
    kinds: list[str], seed: int
) -> None:
    script = Script(kinds)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(decoding, "read_call", script.read_call)
        asyncio.run(play(Path(folder), script, random.Random(seed)))
    assert [number for number, _ in itertools.groupby(script.begun)] == list(range(len(kinds)))


async def test_a_real_mix_in_one_write_is_answered_in_order(house: House) -> None:
    """Long polls that end as something else comes, acks of either kind, and pings."""
    house.desk.create("news")
    connection = house.connect()
    batch = a_batch(b"v" * 100)
    kinds = [
        (fetch_of("news", n // 3, max_wait_ms=60_000), 11)
        if n % 3 == 0
        else (produce_of("news", batch, acks=[1, -1][n % 2]), 9)
        if n % 3 == 1
        else (ApiVersionsRequest("raw", "1"), 3)
        for n in range(90)
    ]
    stream = b"".join(frame_of(request, v, n) for n, (request, v) in enumerate(kinds))
    connection.give(stream)
    found = await house.receive(connection, 90)
    assert [int.from_bytes(each[:4], "big") for each in found] == list(range(90))
    assert house.desk.broker.leader("news", 0).log.end_offset == 30


async def test_a_long_poll_ends_when_something_else_is_asked_for_behind_it(house: House) -> None:
    """librdkafka asks for its coordinator there, and must not wait as long as there is no news."""
    house.desk.create("news")
    connection = house.connect()
    poll = fetch_of("news", max_wait_ms=3_600_000)
    connection.give(frame_of(poll, 11, 1) + frame_of(poll, 11, 2))
    connection.give(frame_of(ApiVersionsRequest("raw", "1"), 3, 3))
    found = await house.receive(connection, 3)
    assert [int.from_bytes(each[:4], "big") for each in found] == [1, 2, 3]
    assert not partition_of(decode_response(FetchResponse, found[0], 11)[1]).records


async def test_a_long_poll_goes_on_when_another_is_asked_for_behind_it(house: House) -> None:
    """Or clients that have several under way would ask over and over."""
    house.desk.create("news")
    connection = house.connect()
    for number in range(3):
        connection.give(frame_of(fetch_of("news", max_wait_ms=3_600_000), 11, number))
    writer = house.connect("10.0.0.2")
    writer.give(frame_of(produce_of("news", a_batch(b"v"), acks=-1), 9))
    found = await house.receive(connection, 3)
    for each in found:
        assert partition_of(decode_response(FetchResponse, each, 11)[1]).records


async def test_an_answer_arrives_whole_however_little_the_client_takes_at_a_time(
    house: House,
) -> None:
    house.desk.create("news")
    house.desk.append("news", count=20)
    whole, slow = house.connect(), house.connect()
    request = frame_of(fetch_of("news"), 11, 7)
    whole.give(request)
    slow.room = 0
    slow.give(request * 3)
    while len(slow.taken) < 3 * len(whole.taken):
        slow.room = 1
        slow.step()
    assert slow.taken == whole.taken * 3


async def test_a_client_that_takes_nothing_is_not_read_from(house: House) -> None:
    connection = house.connect()
    connection.room = 0
    ping = frame_of(ApiVersionsRequest("raw", "1"), 3)
    connection.give(ping)
    connection.give(ping * 10)
    assert len(connection.inbound) == 10 * len(ping)
    connection.room = ANY
    await house.receive(connection, 11)


async def test_one_connection_does_not_keep_the_others_waiting_for_all_of_its_requests(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(["now"] * 20)

    def takes_long(frame: memoryview, peer: str, now_ms: int) -> ScriptedCall:
        house.clock.time_ms += session.PASS_MS_MAX // 2
        return script.read_call(frame, peer, now_ms)

    monkeypatch.setattr(decoding, "read_call", takes_long)
    connection = house.connect()
    connection.give(b"".join(framed(n.to_bytes(4, "big")) for n in range(20)))
    assert len(script.begun) == 3
    found = await house.receive(connection, 20)
    assert [int.from_bytes(answer[:4], "big") for answer in found] == list(range(20))


async def test_a_thousand_answers_outstanding_stop_the_reading_until_one_is_given(
    house: House,
) -> None:
    house.desk.create("quiet")
    house.desk.create("news")
    house.desk.append("news")
    connection = house.connect()
    poll = frame_of(fetch_of("quiet", max_wait_ms=60_000), 11)
    connection.give(poll * outbox.IN_FLIGHT_MAX)
    connection.give(frame_of(fetch_of("news"), 11))
    connection.give(poll)
    assert connection.inbound
    other = house.connect()
    produced = await house.ask(other, produce_of("quiet", a_batch(b"v")), 9)
    assert produced.responses[0].partition_responses[0].error_code == 0
    await house.receive(connection, outbox.IN_FLIGHT_MAX + 2)


async def test_batches_behind_one_that_was_refused_wait_until_it_has_come_again(
    house: House,
) -> None:
    """Its leader may hear that it leads between the two; the second would be out of order then."""
    connection = house.connect()

    def code_of(sequence: int) -> Awaitable[int]:
        batch = a_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)
        return _code(house, connection, produce_of("news", batch, acks=1))

    assert await code_of(0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    house.desk.create("news")
    assert await code_of(1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [await code_of(sequence) for sequence in (0, 1, 2)] == [ErrorCode.NONE] * 3


@pytest.mark.parametrize("first", [0, 5], ids=["unknown", "known"])
async def test_a_batch_that_comes_before_the_one_it_follows_is_to_come_again_after_it(
    house: House, first: int
) -> None:
    """As librdkafka sends them at times when the leader changes. Were it told of the gap it would
    begin a new epoch, and were the second taken for the first it would take both for written."""
    house.desk.create("news")
    codes = partial(_codes, house, house.connect())
    assert await codes(*range(first)) == [ErrorCode.NONE] * first
    behind = first + 1, first + 2
    assert await codes(*behind) == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
    assert await codes(first, *behind) == [ErrorCode.NONE] * 3
    assert house.desk.broker.leader("news", 0).log.end_offset == first + 3


async def test_who_sends_on_behind_a_gap_is_told_of_it_in_the_end(house: House) -> None:
    house.desk.create("news")
    codes = partial(_codes, house, house.connect())
    assert await codes(0) == [ErrorCode.NONE]
    assert await codes(*[2] * LATE_TIMES) == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * LATE_TIMES
    house.clock.time_ms += LATE_MS
    assert await codes(2) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert await codes(1, 2) == [ErrorCode.NONE] * 2


async def test_a_producer_that_was_forgotten_goes_on_where_it_was(house: House) -> None:
    """Nobody is left who could say that something is missing; as in Kafka."""
    house.desk.create("news")
    codes = partial(_codes, house, house.connect())
    assert await codes(*[7] * LATE_TIMES) == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * LATE_TIMES
    house.clock.time_ms += LATE_MS
    assert await codes(7, 8) == [ErrorCode.NONE] * 2


async def _codes(house: House, connection: MemoryConnection, *sequences: int) -> list[int]:
    """What is answered to batches of one record each."""
    batches = (
        a_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)
        for sequence in sequences
    )
    return [await _code(house, connection, produce_of("news", batch, acks=1)) for batch in batches]


async def _code(house: House, connection: MemoryConnection, request: ProduceRequest) -> int:
    answer: Any = await house.ask(connection, request, 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code
