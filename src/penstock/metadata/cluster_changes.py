"""Changes to the cluster itself: who is in it, what it can do, which producer ids are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.features import INITIAL
from penstock.metadata.image import Image
from penstock.metadata.records import (
    CLUSTER,
    FEATURES,
    PRODUCER_IDS,
    RESTORING,
    SECRET,
    BrokerRecord,
    ClusterRecord,
    ConfigRecord,
    FeaturesRecord,
    LeavingRecord,
    MemberRecord,
    ProducerIdsRecord,
    RestoringRecord,
    SecretRecord,
    broker_config_key,
    broker_key,
    encode,
    leaving_key,
    member_key,
)
from penstock.metadata.standing import checked_member, replaced
from penstock.metadata.store import Put

PRODUCER_ID_BLOCK = 1000


class FeatureUpdate(NamedTuple):
    name: str
    level: int
    """0 takes the feature away."""
    downgrade: bool = False
    """Whether a lower level than now is meant."""


def found_cluster(
    image: Image, cluster_id: str, secret: bytes, configs: Mapping[str, str] | None = None
) -> Commit[str]:
    """Gives the cluster its id, its secret and first features, unless it has them.

    `configs` are settings of its founder that hold for all brokers from then on.
    """
    refuse_restoring(image)
    if image.cluster_id:
        return Commit(answer=image.cluster_id)
    features = FeaturesRecord(levels=dict(INITIAL), epoch=0)
    return Commit(
        answer=cluster_id,
        checks=[(CLUSTER, 0), (SECRET, 0), (FEATURES, 0), (RESTORING, 0)],
        puts=[
            (CLUSTER, encode(ClusterRecord(cluster_id=cluster_id))),
            (SECRET, encode(SecretRecord(secret=secret))),
            (FEATURES, encode(features)),
            *_first_configs(configs or {}),
        ],
    )


def _first_configs(configs: Mapping[str, str]) -> list[Put]:
    record = ConfigRecord(configs=dict(configs))
    return [(broker_config_key(None), encode(record))] if configs else []


def register_broker(
    image: Image, record: BrokerRecord, session: str, mark: int = 0
) -> Commit[None]:
    """Its epoch is the revision of this commit. The same owner takes over from itself at once.

    Only a member registers, with the data folder that it joined with. `mark` is the folder's.
    """
    for name, level in image.finalized_features.items():
        lowest, highest = record.features.get(name, (0, 0))
        if not lowest <= level <= highest:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the cluster works at {name} {level}, broker {record.node_id} supports "
                f"{lowest} to {highest}: run the release that the other brokers run",
            )
    refuse_restoring(image)
    refuse_taken(image, record.node_id, record.owner)
    member = checked_member(image, record.node_id, record.owner, mark)
    return Commit(
        answer=None,
        checks=[image.registration(record.node_id), (RESTORING, 0), member],
        puts=[(broker_key(record.node_id), encode(record))],
        session=session,
    )


def refuse_restoring(image: Image) -> None:
    """What is there may be a part of the cluster only."""
    if image.single(RestoringRecord) is not None:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "a backup is being put back into the metadata store: wait until that is done; if it "
            "was cut short, run `penstock backup restore` again",
        )


def refuse_taken(image: Image, node_id: int, owner: bytes) -> None:
    """A broker that lives with another data folder must not be disturbed."""
    known = image.brokers.get(node_id)
    if known and known.record.owner != owner:
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"there is a broker {node_id} already, at {known.record.host}:"
            f"{known.record.port}: choose another node.id, or wait until its lease has ended",
        )


def withdraw(image: Image, node_id: int, owner: bytes) -> Commit[bool]:
    """A broker's own registration of before goes. Whatever somebody is about to write because of it
    comes to nothing. The answer: whether there was one."""
    refuse_taken(image, node_id, owner)
    if node_id not in image.brokers:
        return Commit(answer=False)
    return Commit(answer=True, checks=[image.registration(node_id)], deletes=[broker_key(node_id)])


def announce_leaving(image: Image, node_id: int, session: str) -> Commit[None]:
    """It is about to stop: others take over what it leads."""
    return Commit(
        answer=None,
        checks=[(leaving_key(node_id), 0)],
        puts=[(leaving_key(node_id), encode(LeavingRecord(node_id=node_id)))],
        session=session,
    )


def join(image: Image, node_id: int, owner: bytes, mark: int = 0) -> Commit[bool]:
    """Writes a broker down as a member, by its data folder. The answer: whether that is the one
    that it had."""
    refuse_restoring(image)
    refuse_taken(image, node_id, owner)
    known = image.members.get(node_id)
    is_new = known is None or known.record.is_gone
    is_same = known is not None and not is_new and known.record.owner == owner
    before = known.record if known is not None and not is_new else None
    record = MemberRecord(node_id=node_id, owner=owner, replaced=replaced(before, owner), mark=mark)
    if known is not None and known.record == record:
        return Commit(answer=True)
    return Commit(
        answer=is_new or is_same,
        checks=[
            (member_key(node_id), known.revision if known else 0),
            image.registration(node_id),
            (RESTORING, 0),
        ],
        puts=[(member_key(node_id), encode(record))],
    )


def note_mark(image: Image, node_id: int, owner: bytes, mark: int) -> Commit[None]:
    """Raises the mark of a member that comes with the data folder that it has had."""
    known = image.members.get(node_id)
    if known is None or known.record.owner != owner or known.record.mark >= mark:
        return Commit(answer=None)
    record = msgspec.structs.replace(known.record, mark=mark)
    key = member_key(node_id)
    return Commit(answer=None, checks=[(key, known.revision)], puts=[(key, encode(record))])


def remove_member(image: Image, node_id: int) -> Commit[None]:
    """Forgets a broker for good, with its settings. Only one that is down and holds nothing."""
    known = image.members.get(node_id)
    if known is None or known.record.is_gone:
        raise Refused(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {node_id} in this cluster"
        )
    if node_id in image.brokers:
        raise Refused(ErrorCode.INVALID_REQUEST, f"broker {node_id} is alive: stop it first")
    if count := image.replicas_held().get(node_id, 0):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"broker {node_id} has {count} replicas: move them to others first, with "
            f"`penstock broker drain {node_id}`",
        )
    record = MemberRecord(node_id=node_id, owner=known.record.owner, is_gone=True)
    key, config = member_key(node_id), image.settings.broker_config(node_id)
    config_key = broker_config_key(node_id)
    return Commit(
        answer=None,
        checks=[(key, known.revision), (broker_key(node_id), 0)]
        + ([(config_key, config.revision)] if config else []),
        puts=[(key, encode(record))]
        + ([(config_key, encode(ConfigRecord(configs={})))] if config else []),
    )


def allocate_producer_ids(
    image: Image, *, nonce: bytes, count: int = PRODUCER_ID_BLOCK
) -> Commit[range]:
    """A block of ids that nobody else gets."""
    held = image.single(ProducerIdsRecord)
    first = held.record.next_id if held else 0
    record = ProducerIdsRecord(next_id=first + count, nonce=nonce)
    return Commit(
        answer=range(first, first + count),
        checks=[(PRODUCER_IDS, image.revision_of(PRODUCER_IDS))],
        puts=[(PRODUCER_IDS, encode(record))],
    )


def update_features(image: Image, updates: Sequence[FeatureUpdate]) -> Commit[Mapping[str, int]]:
    """All of them or none, as every level must be one that all live brokers can work at."""
    levels = dict(image.finalized_features)
    for update in updates:
        _check_update(image, update, levels.get(update.name, 0))
        levels[update.name] = update.level
    levels = {name: level for name, level in levels.items() if level > 0}
    if levels == image.finalized_features:
        return Commit(answer=levels)
    record = FeaturesRecord(levels=levels, epoch=image.features_epoch + 1)
    return Commit(
        answer=levels,
        checks=[(FEATURES, image.revision_of(FEATURES))],
        puts=[(FEATURES, encode(record))],
    )


def _check_update(image: Image, update: FeatureUpdate, now: int) -> None:
    name, level = update.name, update.level
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "a feature has a name")
    for broker in image.brokers.values():
        reason = _not_supported(broker.record, name, level)
        if reason is not None:
            raise _bad_update(f"{name} cannot be {level}: broker {broker.node_id} {reason}")
    if level < now and not update.downgrade:
        raise _bad_update(f"{name} is at {now}; going down to {level} must be asked for as such")
    if level > now and update.downgrade:
        raise _bad_update(f"{name} is at {now}; {level} is no downgrade")


def _not_supported(broker: BrokerRecord, name: str, level: int) -> str | None:
    """Why a broker cannot work at a level. A feature that it does not know is off there, which is
    level 0: to ask for that is no fault."""
    lowest, highest = broker.features.get(name, (0, 0))
    if lowest <= level <= highest:
        return None
    if name not in broker.features:
        known = ", ".join(sorted(broker.features))
        return f"does not know the feature {name}; it knows {known}"
    return f"supports {lowest} to {highest}"


def _bad_update(problem: str) -> Refused:
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, problem)
