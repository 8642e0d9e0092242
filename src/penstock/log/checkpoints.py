"""The small text files: offsets by partition, who the data folder belongs to, whose a log is."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from crc32c import crc32c

from penstock.errors import Unusable
from penstock.log import sealing

T = TypeVar("T")

Partition = tuple[str, int]

OFFSETS_VERSION = 0
META_VERSION = 1
PARTITION_VERSION = 0
CLEAN_STOP_VERSION = 0
MARK_VERSION = 0
TOPIC_ID_BYTES = 16
FORMAT = 1
"""Of the data folder as a whole; a release refuses a newer one."""


class Meta(NamedTuple):
    cluster_id: str
    node_id: int
    directory_id: str = ""
    """The folder's own name, made with it: who comes back with it is the same broker."""


def _newer(path: str, version: int, known: int) -> Unusable:
    return Unusable(
        f"{path} has version {version}, and this release of Penstock knows up to {known}: start "
        "the newer release that wrote it"
    )


class Garbled(Unusable):
    """Not a file of a newer release, but none of ours either."""


def _garbled(path: str) -> Garbled:
    return Garbled(f"{path} cannot be read: put it back from a backup, or move it away")


def encode_offsets(offsets: Mapping[Partition, int]) -> bytes:
    rows = [f"{topic} {index} {offset}" for (topic, index), offset in sorted(offsets.items())]
    return sealing.seal(OFFSETS_VERSION, rows)


def decode_offsets(data: bytes, path: str) -> dict[Partition, int]:
    return _decode_rows(data, path, sealing.number)


def encode_topic_ids(ids: Mapping[Partition, bytes]) -> bytes:
    rows = [f"{topic} {index} {topic_id.hex()}" for (topic, index), topic_id in sorted(ids.items())]
    return sealing.seal(OFFSETS_VERSION, rows)


def decode_topic_ids(data: bytes, path: str) -> dict[Partition, bytes]:
    return _decode_rows(data, path, _topic_id)


def _topic_id(text: str) -> bytes:
    topic_id = bytes.fromhex(text)
    if len(topic_id) != TOPIC_ID_BYTES:
        raise ValueError(f"{text!r} is not the id of a topic")
    return topic_id


def _decode_rows(data: bytes, path: str, decode: Callable[[str], T]) -> dict[Partition, T]:
    try:
        version = sealing.version_of(data)
        if version > OFFSETS_VERSION:
            raise _newer(path, version, OFFSETS_VERSION)
        rows = [row.split(" ") for row in sealing.unseal(data)]
        found = {(topic, sealing.number(index)): decode(text) for topic, index, text in rows}
    except ValueError:
        raise _garbled(path) from None
    if len(found) != len(rows):
        raise _garbled(path)
    return found


def _properties(data: bytes) -> dict[str, str]:
    lines = [line.strip() for line in data.decode().split("\n")]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {key.strip(): value.strip() for key, _, value in pairs}


def encode_meta(meta: Meta) -> bytes:
    return (
        f"version={META_VERSION}\ncluster.id={meta.cluster_id}\nnode.id={meta.node_id}\n"
        f"directory.id={meta.directory_id}\npenstock.format={FORMAT}\n"
    ).encode()


def decode_meta(data: bytes, path: str) -> Meta:
    try:
        values = _properties(data)
        version, layout_format = int(values["version"]), int(values.get("penstock.format", FORMAT))
        meta = Meta(values["cluster.id"], int(values["node.id"]), values.get("directory.id", ""))
    except (KeyError, ValueError):
        raise _garbled(path) from None
    if version > META_VERSION:
        raise _newer(path, version, META_VERSION)
    if layout_format > FORMAT:
        raise _newer(path, layout_format, FORMAT)
    return meta


def encode_partition(topic_id: bytes) -> bytes:
    """As Kafka writes it, and a checksum of the id after what Kafka's readers look at."""
    text = urlsafe_b64encode(topic_id).rstrip(b"=").decode()
    checksum = f"penstock_crc: {crc32c(topic_id):08x}"
    return f"version: {PARTITION_VERSION}\ntopic_id: {text}\n{checksum}".encode()


def decode_partition(data: bytes, path: str) -> bytes | None:
    """The topic id; None where a crash came before it was written."""
    if not data.strip(b"\0"):
        return None
    try:
        values = dict(line.split(": ", 1) for line in data.decode().strip().split("\n"))
        version, text = int(values["version"]), values["topic_id"]
        topic_id = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        checksum = int(values.get("penstock_crc", f"{crc32c(topic_id):x}"), 16)
    except (KeyError, ValueError):
        raise _garbled(path) from None
    if version > PARTITION_VERSION:
        raise _newer(path, version, PARTITION_VERSION)
    if len(topic_id) != TOPIC_ID_BYTES or crc32c(topic_id) != checksum:
        raise _garbled(path)
    return topic_id


def encode_mark(mark: int) -> bytes:
    return sealing.seal(MARK_VERSION, [str(mark)])


def decode_mark(data: bytes, path: str) -> int | None:
    """None if it is not whole."""
    try:
        version = sealing.version_of(data)
        if version > MARK_VERSION:
            raise _newer(path, version, MARK_VERSION)
        (row,) = sealing.unseal(data)
        return sealing.number(row)
    except ValueError:
        return None


def encode_clean_stop(broker_epoch: int) -> bytes:
    return json.dumps({"version": CLEAN_STOP_VERSION, "brokerEpoch": broker_epoch}).encode()


def decode_clean_stop(data: bytes) -> int | None:
    """The broker's epoch when it stopped; -1 if it was not known, None if the mark says nothing."""
    try:
        values = json.loads(data or b"{}")
        return int(values.get("brokerEpoch", -1)) if isinstance(values, dict) else None
    except ValueError:
        return None
