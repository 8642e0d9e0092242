"""Topics that are named by a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Consumer, Producer
from penstock.sdk import Misconfigured
from penstock.sdk.semantics import Protocol

Make = Callable[..., Any]
NOWHERE = "127.0.0.1:1"
WAIT_S = 30.0


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize(
    "form",
    ["^{whole}$", "^{begins}", "{ends}$", "{middle}", "no-such|{middle}", "^no-such|{ends}"],
)
def test_a_pattern_names_the_topics_in_which_it_is_found(
    form: str, protocol: Protocol, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = f"{make_topic()}.end"
    producer.send(name, "v").result(WAIT_S)
    whole = re.escape(name)
    parts = {"whole": whole, "begins": whole[:-1], "ends": whole[1:], "middle": whole[1:-1]}
    pattern = re.compile(form.format(**parts))
    found = consumer_of(pattern, group=protocol, protocol=protocol).poll(WAIT_S)
    assert found is not None
    assert (found.topic, found.value) == (name, "v")


def test_a_pattern_names_no_other_topics(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v").result(WAIT_S)
    wanted = f"{name}.wanted"
    producer.send(wanted, "w").result(WAIT_S)
    values = [each.value for each in consumer_of(re.compile(f"^{wanted}$"))]
    assert values == ["w"]


def test_text_with_a_circumflex_is_a_pattern(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = f"{make_topic()}.end"
    producer.send(name, "v").result(WAIT_S)
    assert consumer_of(f"^{re.escape(name)[:-1]}").poll(WAIT_S).value == "v"


@pytest.mark.parametrize("topics", [None, 3, [3], ["orders", None], [re.compile("^orders")]])
def test_what_names_no_topic(topics: Any) -> None:
    with pytest.raises(Misconfigured, match="topic"):
        Consumer(NOWHERE, topics, group="g")


@pytest.mark.parametrize("pattern", [re.compile(b"orders"), re.compile("orders", re.IGNORECASE)])
def test_a_pattern_that_brokers_would_read_as_another(pattern: Any) -> None:
    with pytest.raises(Misconfigured, match="pattern"):
        Consumer(NOWHERE, pattern, group="g")
