"""Brokers whose disks are full, empty, damaged or somebody else's, and logs of topics that went."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
from tests.cluster_faults import check, kill
from tests.cluster_process import QUICK_CLUSTER as QUICK
from tests.cluster_process import Cluster, Member
from tests.cluster_traffic import Traffic, read_all
from tests.group_stage import administer
from tests.raw_client import a_batch

from penstock.client import offsets
from penstock.client.cluster import WireClient

MakeCluster = Callable[..., Cluster]
MakeTraffic = Callable[..., Traffic]

LENGTH_AT = 8
"""Where a batch says how long it is: whoever reads past it finds that wrong."""


def said_by_a_start_in_vain(member: Member, **others: str) -> str:
    """What it says for itself; settings are given with underscores in place of dashes."""
    options = {"node_id": str(member.node_id), "store": member.store, **others}
    options.setdefault("data_dir", str(member.data_dir))
    given = [part for name, text in options.items() for part in (f"--{name}", text)]
    given = [part.replace("_", "-") if part.startswith("--") else part for part in given]
    ended = subprocess.run(
        [*(sys.executable, "-m", "penstock", "serve", "--listen", "127.0.0.1:0"), *given, *QUICK],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_a_broker_on_the_wrong_folder_store_or_number_says_what_is_wrong(
    own_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = own_cluster().start(2)
    cluster.create("topic", replicas=2)
    first, second = cluster[1], cluster[2]
    assert "in use" in said_by_a_start_in_vain(first, data_dir=str(second.data_dir))
    second.kill()
    said = said_by_a_start_in_vain(first, data_dir=str(second.data_dir))
    assert "belongs to broker 2" in said
    said = said_by_a_start_in_vain(second, node_id="3")
    assert "belongs to broker 2" in said
    said = said_by_a_start_in_vain(second, store=f"sqlite:{tmp_path / 'another.db'}")
    assert "belongs to cluster" in said
    second.start()
    cluster.wait_in_sync("topic", 2)


def test_a_broker_gives_way_to_a_process_that_has_taken_its_place(
    own_cluster: MakeCluster, tmp_path: Path
) -> None:
    """One with a copy of its folder cannot be told from itself after a crash; two must not be."""
    cluster = own_cluster().start(1)
    cluster.create("topic", replicas=1)
    first = cluster[1]
    copy = Member(1, tmp_path, first.store, *first.options)
    shutil.copytree(first.data_dir, copy.data_dir)
    copy.start()
    try:
        assert first.wait_ended() == 1
        assert "another process has registered as broker 1" in first.log
    finally:
        copy.kill()


def test_who_starts_under_the_number_of_a_living_broker_does_not_disturb_it(
    cluster: Cluster, topic: str, traffic: MakeTraffic, tmp_path: Path
) -> None:
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    before = cluster.partition(topic)
    said = said_by_a_start_in_vain(cluster.leader(topic), data_dir=str(tmp_path / "new"))
    assert "choose another node.id" in said
    assert cluster.partition(topic) == before
    sending.go_on()
    member = cluster.leader(topic)
    assert member.stop() == 0
    member.start()
    assert "another data folder" not in member.log
    check(cluster, sending, 1)


def test_a_dead_broker_is_replaced_under_its_id_by_one_with_an_empty_disk(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic, 3)
    sending = traffic(cluster, topic)
    sending.go_on()
    dead = cluster.leader(topic)
    dead.kill()
    dead.lose_disk()
    dead.start()
    sending.go_on()
    cluster.wait_in_sync(topic, 3)
    for other in cluster.others(dead):
        kill(cluster, other, sending)
        cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending)
    cluster.check_lines()


def test_an_empty_disk_does_not_lead_where_no_other_replica_is_left(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    sending.finish()
    leader = cluster.leader(topic)
    one, two = cluster.others(leader)
    for each in (one, two, leader):
        each.kill()
    leader.lose_disk()
    leader.start()
    cluster.wait(lambda: cluster.partition(topic), "it has learnt of the topic")
    for _ in range(20):
        partition = cluster.partition(topic)
        assert partition is not None
        assert partition.leader_id != leader.node_id
    one.start()
    two.start()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending, 1)


def test_a_disk_put_back_from_an_older_copy_does_not_lead_before_it_has_caught_up(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic, tmp_path: Path
) -> None:
    """It is in sync as far as the store knows, and the first to come back."""
    cluster = own_cluster().start(3)
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    leader = cluster.leader(topic)
    shutil.copytree(leader.data_dir, tmp_path / "copy")
    assert leader.stop() == 0
    leader.start()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    sending.finish()
    one, two = cluster.others(leader)
    for each in (one, two, leader):
        each.kill()
    leader.lose_disk()
    (tmp_path / "copy").rename(leader.data_dir)
    leader.start()
    assert "is a copy that was made earlier" in leader.log
    for _ in range(20):
        partition = cluster.partition(topic)
        assert partition is not None
        assert partition.leader_id != leader.node_id
    one.start()
    two.start()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending, 1)


def test_a_follower_whose_disk_is_full_holds_nobody_up_and_catches_up_once_there_is_room(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic, replica_lag_time_max_ms="1000")
    sending = traffic(cluster, topic)
    sending.go_on()
    follower = cluster.others(cluster.leader(topic))[0]
    follower.stop()
    follower.wrapper = ("prlimit", "--fsize=1500000:", "--")
    follower.start()
    with cluster.leader(topic).connect() as client:
        batch = a_batch(bytes(50_000))
        for _ in range(40):  # on a busy machine the other follower may be late for a moment, too
            cluster.wait(lambda: client.produce(topic, batch).error_code == 0, "it is taken")
    cluster.wait(lambda: follower.node_id not in cluster.in_sync(topic), "it is left behind")
    sending.go_on()
    lines = follower.log.count("\n")
    sending.go_on()
    assert follower.log.count("\n") < lines + 20, follower.log[-3000:]
    subprocess.run(["prlimit", f"--pid={follower.pid}", "--fsize=unlimited:"], check=True)
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)


def test_what_is_damaged_while_its_leader_runs_is_read_from_another_and_copied_again(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic, segment_bytes="4096")
    sending = traffic(cluster, topic, batch_num_messages=20)  # more may exceed a segment
    leader = cluster.leader(topic)
    folder = leader.data_dir / f"{topic}-0"
    while len([*folder.glob("*.log")]) < 3:
        sending.go_on()
    cluster.wait_in_sync(topic, 3)
    oldest = min(folder.glob("*.log"))
    with oldest.open("r+b") as file:
        file.seek(LENGTH_AT)
        file.write(b"\xff" * 4)
    check(cluster, sending, 1)
    assert cluster.leader(topic) is not leader
    assert "left to others" in leader.log
    cluster.wait_in_sync(topic, 3)
    assert "is copied again from 0 on" in leader.log


def test_records_that_were_deleted_stay_so_when_another_replica_leads(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    """The answer comes once the followers have let go of them too."""
    cluster.create(topic)
    sending = traffic(cluster, topic)
    sending.go_on()
    sending.finish()
    place = confluent_kafka.TopicPartition(topic, 0, 25)
    deleted = administer(cluster.address, lambda admin: admin.delete_records([place]))
    assert deleted.low_watermark == 25
    leader = cluster.leader(topic)
    leader.kill()
    cluster.wait(lambda: cluster.leader(topic) is not leader, "another one leads")
    found = read_all(cluster.address, topic, [0])
    assert min(each.offset for each in found) == 25
    with WireClient(cluster.address) as client:
        assert offsets.deleted(client, topic, [0]) == {0: 25}


def test_a_topic_that_is_deleted_while_a_broker_is_down_is_gone_there_once_it_is_back(
    cluster: Cluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster.create(topic, file_delete_delay_ms="0")
    sending = traffic(cluster, topic)
    sending.go_on()
    away = cluster.others(cluster.leader(topic))[0]
    away.kill()
    sending.go_on()
    sending.finish()
    cluster.delete(topic)
    cluster.create(f"{topic}-later", replicas=2)
    away.start()
    assert not (away.data_dir / f"{topic}-0").exists()
    cluster.wait(
        lambda: not list(away.data_dir.glob(f"{topic}-0.*")), "nothing of it takes up room"
    )
    cluster.create(topic)
    again = traffic(cluster, topic)
    again.go_on()
    kill(cluster, cluster.leader(topic), again)
    cluster.wait_in_sync(topic, 3)
    check(cluster, again, 1)


def test_the_old_folder_of_a_replaced_broker_is_no_match_for_the_last_in_sync(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic, tmp_path: Path
) -> None:
    """A supervisor on the host that was given up starts it, just when its successor is down."""
    cluster = own_cluster().start(2)
    cluster.create(topic, replicas=2, min_insync_replicas="1")
    sending = traffic(cluster, topic)
    sending.go_on()
    first, second = cluster[1], cluster[2]
    second.kill()
    cluster.wait_in_sync(topic, 1)  # or it may still be said to be when it is back without a disk
    old = shutil.copytree(second.data_dir, tmp_path / "old")
    second.lose_disk()
    second.start()
    cluster.wait_in_sync(topic, 2)
    first.kill()
    sending.go_on()
    sending.finish()
    second.kill()
    said = said_by_a_start_in_vain(second, data_dir=str(old))
    assert f"which alone has all of {topic}-0: start it with that one" in said
    second.start()
    first.start()
    check(cluster, sending, 1)
