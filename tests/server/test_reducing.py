"""What the controller does for topics that are to lose partitions, by what brokers tell it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest
from tests.metadata.reducing_stage import NONCE, NOW_MS, Stage
from tests.metadata.staging import ID

from penstock.config import BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Topic
from penstock.metadata.config_changes import change_topic_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.image import Image
from penstock.metadata.records import Closing
from penstock.metadata.store import Unavailable
from penstock.server.reducing import GROUPS_TOLD, PAUSES_BETWEEN, Reducing
from penstock.server.surveying import Ends, Reader, Survey
from penstock.world.real import RealChance

T = TypeVar("T")

PAUSE_MS = 10_000
RETENTION_MS = 1_209_600_000
OTHER = b"o" * 16


class Told:
    """What brokers would answer who were asked; the last part of the world that is not there."""

    def __init__(self) -> None:
        self.ends_of: dict[int, Ends] = {}
        self.groups: dict[str, Reader] = {}
        self.problem: Exception | None = None
        self.asked: list[tuple[str, list[int]]] = []

    async def survey(self, topic: Topic, indexes: Sequence[int]) -> Survey:
        return Survey(await self.ends(topic, indexes), self.groups)

    async def ends(self, topic: Topic, indexes: Sequence[int]) -> Mapping[int, Ends]:
        self.asked.append((topic.name, list(indexes)))
        if self.problem is not None:
            raise self.problem
        return {index: self.ends_of.get(index, Ends(0, 0, 0)) for index in indexes}


class Office:
    """A controller on paper, and its time."""

    def __init__(self) -> None:
        self.stage = Stage("")
        self.told = Told()
        self.time_ms = NOW_MS
        self.is_controller = True
        self.store_is_there = True
        broker = SimpleNamespace(chance=RealChance(), config=BrokerConfig())
        door = SimpleNamespace(broker=broker, clock=self)
        keeper = SimpleNamespace(image=self.stage.image, change=self._change)
        self.reducing = Reducing(
            cast("Any", None), cast("Any", door), cast("Any", keeper), lambda: self.is_controller
        )
        self.reducing._surveyor = cast("Any", self.told)

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_ms(self) -> float:
        return self.time_ms

    async def _change(self, decide: Callable[[Image], Commit[T]]) -> T:
        if not self.store_is_there:
            raise Unavailable("the store is away")
        commit = decide(self.stage.image)
        self.stage.apply(commit)
        return commit.answer

    async def round(self, after_ms: int = 0) -> None:
        """And leaders have heard of it."""
        self.time_ms += after_ms
        await self.reducing.work()
        if "orders" in self.stage.image.topics:
            self.stage.settle()

    @property
    def closing(self) -> Closing | None:
        return self.stage.orders.record.closing

    def is_closed(self) -> bool:
        return self.closing is not None and self.closing.closed_ms > 0

    @property
    def reason(self) -> str:
        return self.closing.reason if self.closing else "it has no closing partitions"


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    made = Office()
    yield made
    await made.reducing.stop()


def behind(count: int = 1) -> Reader:
    return Reader(is_reading=True, committed={2: 10 - count, 3: 0, 4: 0, 5: 0})


async def test_partitions_that_are_read_are_closed_in_one_round_and_go_in_the_next(
    office: Office,
) -> None:
    office.stage.begin()
    await office.round()
    assert office.is_closed()
    await office.round()
    assert office.stage.orders.record.partitions == 2
    assert office.told.asked == [("orders", [2, 3, 4, 5])] * 2


async def test_all_partitions_are_asked_for_where_keys_move_between_those_that_stay(
    office: Office,
) -> None:
    office.stage.begin(4)
    office.told.ends_of = {0: Ends(0, 10, 10)}
    office.told.groups = {"g": Reader(is_reading=True, committed=dict.fromkeys(range(6), 0))}
    await office.round()
    assert office.told.asked == [("orders", [0, 1, 2, 3, 4, 5])]
    assert not office.is_closed(), "a group has to read what is in one that stays"


async def test_who_is_not_the_controller_does_nothing(office: Office) -> None:
    office.stage.begin()
    office.is_controller = False
    await office.round()
    assert not office.told.asked


async def test_nobody_is_asked_before_retention_has_passed(office: Office) -> None:
    office.stage.set(partitions_open="2")
    await office.round(RETENTION_MS - 1)
    assert not office.told.asked
    await office.round(1)
    assert office.is_closed()


async def test_with_retention_only_groups_that_run_are_waited_for(office: Office) -> None:
    office.stage.set(partitions_open="2")
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {"idle": behind()._replace(is_reading=False)}
    await office.round(RETENTION_MS)
    await office.round()
    assert office.stage.orders.record.partitions == 2


async def test_a_group_that_keeps_up_costs_a_pause_and_one_that_does_not_costs_none(
    office: Office,
) -> None:
    """Where writers go on, no group is ever at the end: it has read what there was a while ago."""
    office.stage.begin()
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {"g": behind()}
    await office.round()
    await office.round(PAUSE_MS // 2)
    assert not office.is_closed(), "it has read nothing since"
    office.told.ends_of = {2: Ends(0, 20, 20)}
    office.told.groups = {"g": behind(0)}
    await office.round()
    assert office.is_closed()


async def test_what_was_there_just_now_is_not_enough_to_have_read(office: Office) -> None:
    office.stage.begin()
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {"g": behind()}
    await office.round()
    office.told.ends_of = {2: Ends(0, 1000, 1000)}
    office.told.groups = {"g": behind(0)}
    await office.round(PAUSE_MS // 4)
    assert not office.is_closed(), "it may be behind by more than it reads in a pause"


async def test_what_was_seen_too_long_ago_says_nothing(office: Office) -> None:
    office.stage.begin()
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {"g": behind()}
    await office.round()
    office.told.ends_of = {2: Ends(0, 99, 99)}
    office.told.groups = {"g": behind(0)}
    await office.round(PAUSE_MS + 1)
    assert not office.is_closed(), "it may have been standing still for most of that time"


async def test_a_group_that_stops_reading_ends_the_pause(office: Office) -> None:
    office.stage.begin()
    await office.round()
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {"g": behind(3)}
    await office.round(PAUSE_MS - 1)
    assert office.is_closed()
    await office.round(1)
    assert not office.is_closed()
    assert office.reason == "group g has 3 messages to read"
    office.told.groups = {}
    await office.round(PAUSES_BETWEEN * PAUSE_MS - 1)
    assert not office.is_closed(), "writers are left alone for a while"
    await office.round(1)
    assert office.is_closed()


async def test_of_many_groups_some_are_named(office: Office) -> None:
    office.stage.begin()
    await office.round()
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {f"g{number}": behind() for number in range(GROUPS_TOLD + 2)}
    await office.round(PAUSE_MS)
    assert office.reason.count("messages to read") == GROUPS_TOLD
    assert office.reason.endswith("2 more groups too")


async def test_what_is_not_committed_yet_is_waited_for(office: Office) -> None:
    office.stage.begin()
    await office.round()
    office.told.ends_of = {5: Ends(0, 9, 10)}
    await office.round()
    assert office.stage.orders.record.partitions == 6
    await office.round(PAUSE_MS)
    assert office.reason == "not all that was written to them is committed"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "some groups have no coordinator"), "some"),
        (ConnectionResetError("reset"), "reset"),
        (TimeoutError(), "a broker does not answer"),
    ],
)
async def test_what_is_not_known_is_no_reason_to_go_on(
    office: Office, problem: Exception, reason: str
) -> None:
    office.stage.begin()
    await office.round()
    office.told.problem = problem
    await office.round()
    assert office.is_closed(), "there is time to ask again"
    await office.round(PAUSE_MS)
    assert not office.is_closed()
    assert office.reason.startswith(f"not everything is known: {reason}")
    assert office.stage.orders.record.partitions == 6


async def test_nothing_is_closed_while_something_is_not_known(office: Office) -> None:
    office.stage.begin()
    office.told.problem = OSError("nobody is there")
    await office.round()
    assert not office.is_closed()


async def test_leaders_that_have_not_heard_are_not_asked(office: Office) -> None:
    """Whoever does not know that a partition is closed may take records after it was asked."""
    office.stage.begin()
    await office.reducing.work()
    assert office.is_closed()
    office.told.asked.clear()
    await office.reducing.work()
    assert not office.told.asked
    office.time_ms += PAUSE_MS
    await office.reducing.work()
    assert office.reason == "not all of its leaders know that they are closed"


async def test_a_store_that_is_away_is_tried_again(office: Office) -> None:
    office.stage.begin()
    await office.round()
    office.store_is_there = False
    await office.round()
    assert office.is_closed()
    office.store_is_there = True
    await office.round()
    assert office.stage.orders.record.partitions == 2


async def test_while_one_topic_is_closed_no_other_is_begun(office: Office) -> None:
    office.stage.begin()
    await office.round()
    office.told.ends_of = {2: Ends(0, 10, 10)}
    office.told.groups = {"g": behind()}
    office.stage.create("later", topic_id=OTHER, partitions=6)
    _begin_another(office, "later")
    office.told.asked.clear()
    await office.round()
    assert [name for name, _ in office.told.asked] == ["orders"]


async def test_topics_are_looked_at_in_turn(office: Office) -> None:
    """One for which something is amiss must not keep the others from their turn."""
    office.stage.create("later", topic_id=OTHER, partitions=6)
    office.stage.begin()
    _begin_another(office, "later")
    office.told.problem = OSError("nobody is there")
    await office.round()
    assert sorted(name for name, _ in office.told.asked) == ["later", "orders"]


def _begin_another(office: Office, name: str) -> None:
    texts = {"partitions.open": "2", "partitions.close.when": "drained"}
    changes = [ConfigChange(each, Operation.SET, text) for each, text in texts.items()]
    image = office.stage.image
    office.stage.apply(change_topic_configs(image, name, changes, nonce=NONCE, now_ms=NOW_MS))


async def test_a_sealed_topic_goes_when_nothing_is_left_in_it(office: Office) -> None:
    office.stage.reduce()
    office.told.ends_of = {3: Ends(4, 9, 9)}
    check_ms = BrokerConfig().retention_check_interval_ms
    await office.round(check_ms)
    assert "orders.sealed-1" in office.stage.image.topics
    office.told.problem = OSError("nobody is there")
    await office.round(check_ms)
    assert "orders.sealed-1" in office.stage.image.topics
    office.told.problem, office.told.ends_of = None, {3: Ends(9, 9, 9)}
    await office.round(check_ms - 1)
    assert "orders.sealed-1" in office.stage.image.topics, "it is looked at now and then"
    await office.round(1)
    assert "orders.sealed-1" not in office.stage.image.topics
    assert office.stage.image.topics["orders"].id == ID
