"""Settings of single groups: where they are kept, what holds, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import GroupConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata import config_changes
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Changed
from penstock.metadata.config_changes import change_group_configs, replace_group_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.image import Image
from penstock.metadata.records import (
    ConfigRecord,
    broker_config_key,
    encode,
    group_config_key,
    group_of_config_key,
)
from penstock.metadata.store import Entry, Event

TIMEOUT, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
NAMES = ["readers", "a/b", ".", "..", "%2F", "a b", "\0", "\N{SNOWMAN}", "x" * 255, "brokers/1"]


def put(image: Image, key: str, record: ConfigRecord | None) -> Changed:
    revision = image.revision + 1
    entry = Entry(key, encode(record), revision) if record else None
    return image.apply([Event(key, entry, revision)], revision)


def apply(image: Image, commit: Commit[ConfigRecord]) -> Changed:
    ((key, value),) = commit.puts
    ((checked, expected),) = commit.checks
    held = {key: revision for key, _, revision in image.held()}
    assert (checked, expected) == (key, held.get(key, 0))
    revision = image.revision + 1
    return image.apply([Event(key, Entry(key, value, revision), revision)], revision)


def set_to(image: Image, name: str = "readers", **texts: str) -> Commit[ConfigRecord]:
    names = {"timeout": TIMEOUT, "interval": INTERVAL}
    return replace_group_configs(image, name, {names[key]: text for key, text in texts.items()})


def refused(code: ErrorCode, problem: str, image: Image, name: str, *changes: ConfigChange) -> None:
    with pytest.raises(Refused, match=problem) as caught:
        change_group_configs(image, name, changes)
    assert caught.value.code is code


# Keys


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_key_gives_its_name_back_and_is_one_part_of_a_path(name: str) -> None:
    key = group_config_key(name)
    assert group_of_config_key(key) == name
    assert re.fullmatch(r"/configs/groups/[A-Za-z0-9_~%-]*", key)


# The image


@pytest.mark.parametrize("name", NAMES)
def test_a_groups_own_settings_are_found_by_its_name(name: str) -> None:
    image = Image()
    changed = apply(image, set_to(image, name, timeout="7000"))
    assert changed == Changed(group_configs={name})
    held = image.settings.group_config(name)
    assert held is not None
    assert held.record.configs == {TIMEOUT: "7000"}
    assert image.settings.group_configs() == {name: {TIMEOUT: "7000"}}
    assert image.settings.of_group(name).consumer_session_timeout_ms == 7000
    assert image.settings.broker_config(1) is None


def test_settings_of_groups_are_laid_over_those_of_brokers() -> None:
    started = {"group.consumer.session.timeout.ms": "50000", "log.retention.ms": "5"}
    image = Image(1, {**started, "group.consumer.heartbeat.interval.ms": "3000"})
    apply(image, set_to(image, timeout="7000"))
    assert image.settings.of_group("readers") == GroupConfig(7000, 3000)
    assert image.settings.of_group("others") == GroupConfig(50_000, 3000)


def test_settings_in_force_follow_changes_of_group_and_broker() -> None:
    image = Image(1)
    assert image.settings.of_group("readers") == image.settings.of_group("others") == GroupConfig()
    apply(image, set_to(image, timeout="7000"))
    assert image.settings.of_group("readers").consumer_session_timeout_ms == 7000
    general = ConfigRecord(configs={"group.consumer.heartbeat.interval.ms": "2000"})
    assert put(image, broker_config_key(None), general) == Changed(broker_configs=True)
    assert image.settings.of_group("readers") == GroupConfig(7000, 2000)
    assert image.settings.of_group("others") == GroupConfig(45_000, 2000)
    put(image, group_config_key("readers"), None)
    assert image.settings.of_group("readers") == GroupConfig(45_000, 2000)


def test_groups_without_settings_of_their_own_share_one_config() -> None:
    image = Image()
    assert image.settings.of_group("a") is image.settings.of_group("b")


@pytest.mark.parametrize(
    "own",
    [{TIMEOUT: "5999"}, {TIMEOUT: "soon"}, {"zebra": "1"}, {INTERVAL: "99"}, {INTERVAL: "15001"}],
)
def test_what_would_be_refused_today_does_not_hold(own: dict[str, str]) -> None:
    image = Image()
    put(image, group_config_key("readers"), ConfigRecord(configs=own))
    assert image.settings.of_group("readers") == GroupConfig()


def test_settings_of_what_a_later_release_has_are_passed_over() -> None:
    image = Image()
    assert put(image, "/configs/zebras/1", ConfigRecord(configs={})) == Changed()
    assert not list(image.held())


def test_loading_gives_the_same_as_replaying() -> None:
    image, loaded = Image(), Image()
    apply(image, set_to(image, "a/b", timeout="7000"))
    entries = [Entry(key, encode(record), revision) for key, record, revision in image.held()]
    assert loaded.load(entries, image.revision) == Changed(group_configs={"a/b"})
    assert loaded.settings.group_configs() == image.settings.group_configs()
    assert loaded.load(entries, image.revision) == Changed()
    assert loaded.load([], image.revision + 1) == Changed(group_configs={"a/b"})
    assert not loaded.settings.group_configs()


# Changes


def test_settings_of_a_group_are_replaced_and_changed() -> None:
    image = Image()
    apply(image, set_to(image, timeout="7000"))
    changes = [
        ConfigChange(TIMEOUT, Operation.DELETE),
        ConfigChange(INTERVAL, Operation.SET, "1000"),
    ]
    apply(image, change_group_configs(image, "readers", changes))
    assert image.settings.group_configs() == {"readers": {INTERVAL: "1000"}}
    assert not change_group_configs(image, "readers", []).puts
    apply(image, replace_group_configs(image, "readers", {}))
    assert image.settings.group_configs() == {}
    assert image.settings.group_config("readers") is not None, "its key is compared, so it stays"
    apply(image, set_to(image, timeout="8000"))
    assert image.settings.group_configs() == {"readers": {TIMEOUT: "8000"}}


def test_a_group_that_gets_no_settings_gets_no_key() -> None:
    changes = [ConfigChange(TIMEOUT, Operation.DELETE)]
    commit = change_group_configs(Image(), "readers", changes)
    assert not commit.puts
    assert not commit.checks


LIMITS = {
    "group.consumer.min.session.timeout.ms": "10000",
    "group.consumer.max.session.timeout.ms": "60000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.max.heartbeat.interval.ms": "12000",
}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (TIMEOUT, "9999", r"less than the broker's group\.consumer\.min\.session.*=10000"),
        (TIMEOUT, "60001", r"more than the broker's group\.consumer\.max\.session.*=60000"),
        (INTERVAL, "999", r"less than the broker's group\.consumer\.min\.heartbeat.*=1000"),
        (INTERVAL, "12001", r"more than the broker's group\.consumer\.max\.heartbeat.*=12000"),
        (TIMEOUT, "0", "less than 1"),
        (INTERVAL, "-1", "less than 0"),
        (TIMEOUT, "soon", "not a whole number"),
        (TIMEOUT, None, "a value is needed"),
        ("consumer.session.timeout", "1", "did you mean consumer.session.timeout.ms"),
        ("group.consumer.session.timeout.ms", "20000", "unknown setting"),
    ],
)
def test_a_wrong_setting_is_refused(name: str, text: str | None, problem: str) -> None:
    change = ConfigChange(name, Operation.SET, text)
    refused(ErrorCode.INVALID_CONFIG, problem, Image(1, LIMITS), "readers", change)


@pytest.mark.parametrize(
    "texts",
    [
        {"timeout": "10000"},
        {"timeout": "60000"},
        {"interval": "1000"},
        {"interval": "12000"},
        {"interval": "0"},
        {"timeout": "10000", "interval": "9999"},
    ],
)
def test_settings_up_to_the_brokers_limits_are_taken(texts: Mapping[str, str]) -> None:
    image = Image(1, LIMITS)
    apply(image, set_to(image, **texts))
    assert list(image.settings.group_configs()["readers"].values()) == list(texts.values())


@pytest.mark.parametrize("interval", ["10000", "11000"])
def test_the_session_timeout_must_be_more_than_the_heartbeat_interval(interval: str) -> None:
    image = Image(1, LIMITS)
    changes = (
        ConfigChange(TIMEOUT, Operation.SET, "10000"),
        ConfigChange(INTERVAL, Operation.SET, interval),
    )
    refused(ErrorCode.INVALID_CONFIG, "must be more than", image, "readers", *changes)
    apply(image, set_to(image, timeout="10000"))
    refused(ErrorCode.INVALID_CONFIG, "must be more than", image, "readers", changes[1])


def test_a_heartbeat_interval_of_the_broker_counts_too() -> None:
    image = Image(1, {"group.consumer.heartbeat.interval.ms": "9000"})
    change = ConfigChange(TIMEOUT, Operation.SET, "8000")
    refused(ErrorCode.INVALID_CONFIG, "heartbeat.interval.ms=9000", image, "readers", change)


@pytest.mark.parametrize("name", ["", "x" * 256, "\N{SNOWMAN}" * 86])
def test_a_group_without_a_name_or_with_too_long_a_name_is_refused(name: str) -> None:
    change = ConfigChange(TIMEOUT, Operation.SET, "7000")
    refused(ErrorCode.INVALID_REQUEST, "name", Image(), name, change)


def test_only_so_many_groups_can_have_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_changes, "GROUP_CONFIGS_MAX", 2)
    image = Image()
    for name in ("a", "b"):
        apply(image, set_to(image, name, timeout="7000"))
    change = ConfigChange(TIMEOUT, Operation.SET, "8000")
    refused(ErrorCode.POLICY_VIOLATION, "no more can", image, "c", change)
    apply(image, change_group_configs(image, "b", [change]))
