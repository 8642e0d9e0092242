"""`penstock schedule`, and `penstock produce` of what is to wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.cli.conftest import Penstock
from tests.group_stage import wait_until

SETTING = "delayed.delivery=true"


@pytest.fixture
def delays(penstock: Penstock, topic: str) -> str:
    assert penstock("topic", "create", topic, "--partitions", "2", "--set", SETTING).exit_code == 0
    return topic


def listed(penstock: Penstock, topic: str, *options: str) -> list[dict[str, object]]:
    done = penstock("schedule", "list", topic, "--json", *options)
    assert done.exit_code == 0, done.output
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def read(penstock: Penstock, topic: str) -> list[str]:
    return penstock("consume", topic).stdout.splitlines()


def test_what_waits_is_listed_in_the_order_in_which_it_is_due(
    penstock: Penstock, delays: str
) -> None:
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    penstock("produce", delays, "--delay", "2h", "--partition", "1", "--key", "k", "second")
    penstock("produce", delays, "--deliver-at", due.isoformat(), "--partition", "0", "first")
    penstock("produce", delays, "--delay", "3h", "--header", "tier=gold", "--partition", "0", "3rd")
    penstock("produce", delays, "at once")
    assert read(penstock, delays) == ["at once"]
    first, second, third = listed(penstock, delays)
    assert (first["id"], second["id"], third["id"]) == ("0:0", "1:0", "0:1")
    assert first["due"] == due.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert first["due_ms"] == due.timestamp() * 1000
    assert (first["topic"], first["partition"], first["offset"]) == (delays, 0, 0)
    assert (first["key"], second["key"]) == (None, "k")
    assert third["headers"] == [{"key": "tier", "value": "gold"}]
    shown = penstock("schedule", "list", delays)
    assert shown.stdout.splitlines()[0].split() == ["ID", "DUE", "IN", "KEY", "SIZE", "CRON"]
    assert [line.split()[0] for line in shown.stdout.splitlines()[1:]] == ["0:0", "1:0", "0:1"]
    assert "first" in read(penstock, f"{delays}.scheduled")


def test_a_limit_shows_what_is_due_first_and_tells_of_the_rest(
    penstock: Penstock, delays: str
) -> None:
    for hours in (3, 1, 2):
        penstock("produce", delays, "--delay", f"{hours}h", "--partition", "0", "x")
    assert [each["id"] for each in listed(penstock, delays, "--limit", "2")] == ["0:1", "0:2"]
    assert "and 1 more" in penstock("schedule", "list", delays, "--limit", "2").stderr


def test_what_is_due_is_delivered_and_listed_no_more(penstock: Penstock, delays: str) -> None:
    penstock("produce", delays, "--delay", "1ms", "soon")
    wait_until(lambda: read(penstock, delays) == ["soon"], "the delivery")
    assert listed(penstock, delays) == []
    assert "nothing waits" in penstock("schedule", "list", delays).stderr


def test_what_repeats_is_listed_with_its_cron_and_when_it_comes_next(
    penstock: Penstock, delays: str
) -> None:
    new_year = datetime(datetime.now(UTC).year + 1, 1, 1, tzinfo=UTC)
    sent = penstock("produce", delays, "--cron", "0 0 1 JAN *", "--partition", "0", "greet")
    assert sent.stdout.splitlines()[-1].endswith(": 0:0")
    old = json.dumps({"value": "old", "partition": 1, "timestamp": 1})
    repeated = ("--json", "--header", "penstock-cron=0 0 1 1 *")
    assert penstock("produce", delays, *repeated, stdin=f"{old}\n").exit_code == 0
    wait_until(lambda: read(penstock, delays) == ["old"], "the first delivery")
    wait_until(
        lambda: (
            [each["due_ms"] for each in listed(penstock, delays)]
            == [new_year.timestamp() * 1000] * 2
        ),
        "the next due time",
    )
    first, second = listed(penstock, delays)
    assert (first["id"], first["cron"], first["headers"]) == ("0:0", "0 0 1 JAN *", [])
    assert (second["id"], second["cron"]) == ("1:0", "0 0 1 1 *")
    assert penstock("schedule", "list", delays).stdout.splitlines()[1].endswith("0 0 1 JAN *")
    assert penstock("schedule", "cancel", delays, "0:0", "1:0").exit_code == 0
    assert listed(penstock, delays) == []
    assert read(penstock, delays) == ["old"]


def test_a_cancelled_message_waits_no_more(penstock: Penstock, delays: str) -> None:
    sent = penstock("produce", delays, "--delay", "1h", "--partition", "1", "a", "b", "c")
    said, ids = sent.stdout.splitlines()[-1].split(": ")
    assert said == f"to take back with `penstock schedule cancel {delays}`"
    assert ids.split() == ["1:0", "1:1", "1:2"]
    done = penstock("schedule", "cancel", delays, "1:0", "1:2")
    assert (done.exit_code, done.stdout) == (0, "cancelled 1:0\ncancelled 1:2\n")
    assert [each["id"] for each in listed(penstock, delays)] == ["1:1"]


def test_what_does_not_wait_is_told_and_the_others_are_cancelled(
    penstock: Penstock, delays: str
) -> None:
    penstock("produce", delays, "--delay", "1h", "--partition", "0", "a")
    done = penstock("schedule", "cancel", delays, "0:7", "9:0", "0:0")
    assert (done.exit_code, done.stdout) == (1, "cancelled 0:0\n")
    first, second = done.stderr.splitlines()
    assert first.startswith("0:7 was not cancelled: ")
    assert "nothing is pending under 7 in partition 0: it was delivered or cancelled" in first
    assert "compacted" not in first
    assert "there is no partition 9" in second
    again = penstock("schedule", "cancel", delays, "0:0", "--json")
    assert again.exit_code == 1
    (told,) = json.loads(again.stdout)
    assert (told["id"], told["cancelled"]) == ("0:0", False)
    assert "nothing is pending under 0" in told["error"]
    assert read(penstock, delays) == []


def test_a_summary_in_json_has_the_ids(penstock: Penstock, delays: str) -> None:
    line = json.dumps({"value": "v", "partition": 1, "timestamp": 1})
    sent = penstock("produce", delays, "--delay", "1h", "--json", stdin=f"{line}\n{line}\n")
    assert json.loads(sent.stdout)["ids"] == ["1:0", "1:1"]
    assert [each["id"] for each in listed(penstock, delays)] == ["1:0", "1:1"]


def test_many_ids_are_not_all_told(penstock: Penstock, delays: str) -> None:
    sent = penstock("produce", delays, "--delay", "1h", "--partition", "0", stdin="x\n" * 50)
    assert sent.stdout.endswith(" 0:19 and 30 more\n")


@pytest.mark.parametrize(
    "words",
    [
        ("schedule", "list", "TOPIC"),
        ("schedule", "cancel", "TOPIC", "0:0"),
        ("produce", "TOPIC", "--delay", "5s", "x"),
    ],
)
def test_a_topic_without_delays_is_told_with_how_to_get_them(
    penstock: Penstock, topic: str, words: tuple[str, ...]
) -> None:
    penstock("topic", "create", topic)
    done = penstock(*(topic if each == "TOPIC" else each for each in words))
    assert done.exit_code == 1
    advice = f"penstock topic alter {topic} --set {SETTING}"
    assert advice in done.stderr
    assert read(penstock, topic) == []
    assert penstock(*advice.split()[1:]).exit_code == 0
    assert penstock("schedule", "list", topic).exit_code == 0


def test_what_shows_a_part_of_a_topic_is_told_with_the_topic(
    penstock: Penstock, delays: str
) -> None:
    penstock("view", "create", f"{delays}-view", "--of", delays, "--where", "a = 'b'")
    for name in (f"{delays}-view", f"{delays}.scheduled"):
        done = penstock("schedule", "list", name)
        assert done.exit_code == 1
        assert f"can only be read: name {delays}" in done.stderr


def test_a_delay_of_nothing_is_none(penstock: Penstock, topic: str) -> None:
    penstock("topic", "create", topic)
    assert penstock("produce", topic, "--delay", "0s", "x").exit_code == 0
    assert read(penstock, topic) == ["x"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--delay", "1s", "--deliver-at", "2030-01-01"), "give one of them"),
        (("--delay", "1s", "--cron", "* * * * *"), "give one of them"),
        (("--deliver-at", "2030-01-01", "--cron", "* * * * *"), "give one of them"),
        (("--cron", "* * * * *", "--header", "penstock-cron=* * * * *"), "give one of them"),
        (("--cron", "0 25 * * *"), "hour 25 is not 0 to 23"),
        (("--cron", ""), "it has 0 fields"),
        (("--cron", "0 0 30 2 *"), "the next year has no such time"),
        (("--delay", "1s", "--header", "penstock-deliver-at=5"), "give one of them"),
        (("--delay", "400d"), "up to a year"),
        (("--deliver-at", "2999-01-01"), "up to a year"),
        (("--delay", "soon"), "is no duration"),
        (("--deliver-at", "noon"), "is no time"),
    ],
)
def test_what_contradicts_itself_or_is_too_far_away_is_refused(
    offline: Penstock, words: tuple[str, ...], said: str
) -> None:
    done = offline("produce", "orders", *words, "x")
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("given", ["7", "0:", ":1", "a:b", "0:1:2", "-1:0"])
def test_what_is_no_id_is_refused(offline: Penstock, given: str) -> None:
    done = offline("schedule", "cancel", "orders", "--", given)
    assert done.exit_code == 2
    assert "give PARTITION:OFFSET" in done.stderr


def test_a_topic_that_is_not_there_is_told(penstock: Penstock, topic: str) -> None:
    done = penstock("schedule", "list", topic, "--timeout", "1")
    assert done.exit_code == 1
    assert "penstock topic list" in done.stderr
