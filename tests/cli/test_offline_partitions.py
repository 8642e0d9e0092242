"""What `topic describe` says can be done for partitions that nobody leads."""

from __future__ import annotations

from typing import Any

from penstock.cli.offline_partitions import advice, by_advice, held
from penstock.client.metadata import Partition


def row(**more: Any) -> dict[str, Any]:
    known = {"partition": 0, "leader": None, "replicas": (1, 2, 3), "isr": (), "eligible": ()}
    return {**known, "offline": (1, 2, 3), **more}


def said(**more: Any) -> str:
    text = advice("orders", row(**more))
    assert text is not None
    return text


def test_a_partition_with_a_leader_needs_nothing() -> None:
    assert advice("orders", row(leader=1)) is None


def test_who_was_in_sync_last_is_to_be_started() -> None:
    assert "start broker 1 or 2, which had all records last" in said(isr=(1, 2))


def test_who_is_eligible_will_do_as_well() -> None:
    assert "start broker 3, which had" in said(eligible=(3,))
    assert "start broker 1 or 3, which had" in said(isr=(1,), eligible=(3,))
    assert "look again" in said(isr=(1,), eligible=(3,), offline=(1,))


def test_a_broker_that_is_up_and_in_sync_leads_soon() -> None:
    assert "look again" in said(isr=(1, 2), offline=(1,))


def test_where_nobody_is_known_to_have_all_the_others_are_to_be_started_too() -> None:
    assert "start broker 1 and 3" in said(offline=(1, 3))


def test_where_all_are_up_and_nobody_is_known_to_have_all_they_are_to_be_started_again() -> None:
    """One that has not said what it has may have most."""
    hope, last_resort = said(offline=()).split("; ", 1)
    assert "start broker 1, 2 and 3 again first" in hope
    assert "lets broker 1, 2 or 3 lead" in last_resort


def test_what_loses_records_comes_last_and_names_who_would_lead() -> None:
    text = said(isr=(1,), offline=(1,))
    assert "topic alter orders --set unclean.leader.election.enable=true" in text
    assert "lets broker 2 or 3 lead, whoever has most" in text


def test_what_each_replica_has_is_shown_where_nobody_leads() -> None:
    sizes = {(1, 0): 100, (2, 0): 500, (2, 1): 7}
    assert held(Partition(0, -1, 0, (1, 2, 3), (), ()), sizes) == {1: 100, 2: 500}
    assert held(Partition(0, 1, 0, (1, 2, 3), (), ()), sizes) == {}


def test_where_no_replica_is_up_the_records_can_be_given_up() -> None:
    assert "broker drain 1 --abandon" in said(isr=(1,))


def test_partitions_with_the_same_advice_are_named_together() -> None:
    rows = [{"partition": n, "advice": text} for n, text in enumerate(("a", None, "b", "a"))]
    assert by_advice(rows) == {"a": [0, 3], "b": [2]}
