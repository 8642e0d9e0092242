"""Each anomaly of messages with keys is found where it is, and nothing where there is none."""

from __future__ import annotations

from penstock.sim.keyed.history import KeyedHistory, Message, check


def a_history(*numbers: int) -> KeyedHistory:
    """Messages of one key that were sent, acknowledged, stored, and read in this order."""
    made = KeyedHistory()
    messages = [made.send(7) for _ in numbers]
    made.acknowledged.update(messages)
    made.stored.update(messages)
    made.reads += [messages[number] for number in numbers]
    return made


def kinds(made: KeyedHistory) -> set[str]:
    return {finding.partition(":")[0] for finding in check(made)}


def test_a_key_in_order_has_no_findings() -> None:
    assert not check(a_history(0, 1, 2))


def test_what_is_read_again_counts_when_it_was_read_first() -> None:
    made = a_history(0, 1, 2)
    made.reads += made.reads[:2]
    assert not check(made)


def test_a_newer_message_that_is_read_first_is_found() -> None:
    assert kinds(a_history(0, 2, 1)) == {"key out of order"}


def test_keys_have_nothing_to_do_with_each_other() -> None:
    made = a_history(0, 1)
    other = made.send(8)
    made.acknowledged.add(other)
    made.stored[other] += 1
    made.reads.append(other)
    assert not check(made)


def test_what_was_acknowledged_and_is_not_there_is_found() -> None:
    made = a_history(0, 1)
    made.acknowledged.add(made.send(7))
    assert kinds(made) == {"unread", "lost"}


def test_what_failed_may_be_there_or_not() -> None:
    made = a_history(0, 1)
    made.failed.update((made.send(7), made.send(7)))
    made.stored[Message(7, 2)] += 1
    made.reads.append(Message(7, 2))
    assert not check(made)


def test_what_is_there_twice_or_was_never_sent_is_found() -> None:
    made = a_history(0, 1)
    made.stored[Message(7, 1)] += 1
    made.stored[Message(9, 0)] += 1
    assert kinds(made) == {"duplicate", "invented"}
