"""What is in a table's folder, and in none of its snapshots."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from penstock.spark.tables.files import is_ours
from penstock.spark.tables.folder import ICEBERG_LOG
from penstock.spark.tables.iceberg.data_files import files_of, within
from penstock.spark.tables.iceberg.versions import UNFINISHED, version_of

_MANIFEST = re.compile(r"(snap-\d+-\d+-[0-9a-f-]{36}|[0-9a-f-]{36}-m\d+)\.avro")


def expired_snapshots(metadata: TableMetadata, before_ms: int) -> list[int]:
    """Those that were replaced by another before then, but not what a branch or a tag is at."""
    held = {each.snapshot_id for each in metadata.refs.values()}
    followed = {each.parent_snapshot_id: each.timestamp_ms for each in metadata.snapshots}
    return [
        each.snapshot_id
        for each in metadata.snapshots
        if each.snapshot_id not in held and followed.get(each.snapshot_id, 0) <= before_ms
    ]


def orphans(root: Path, table: Table, expired: Collection[int], before_ms: int) -> list[str]:
    """Files that are named by nothing but expired snapshots, and were last touched before then."""
    named = {within(root, each) for each in _named(table, expired)}
    return sorted(
        path for path in _candidates(root) if path not in named and _is_old(root / path, before_ms)
    )


def _named(table: Table, expired: Collection[int]) -> Iterator[str]:
    yield table.metadata_location
    yield from (each.metadata_file for each in table.metadata.metadata_log)
    manifests: dict[str, ManifestFile] = {}
    for snapshot in table.metadata.snapshots:
        if snapshot.snapshot_id not in expired:
            yield snapshot.manifest_list
            manifests |= {each.manifest_path: each for each in snapshot.manifests(table.io)}
    yield from manifests
    yield from (each.file_path for each in files_of(manifests.values(), table.io))


def _candidates(root: Path) -> Iterator[str]:
    """Only what an archive has written."""
    for each in root.glob("p*/*.parquet"):
        path = str(each.relative_to(root))
        if is_ours(path):
            yield path
    for each in (root / ICEBERG_LOG).iterdir():
        name = each.name
        if _MANIFEST.fullmatch(name) or version_of(name) is not None or name.endswith(UNFINISHED):
            yield f"{ICEBERG_LOG}/{name}"


def _is_old(path: Path, before_ms: int) -> bool:
    try:
        return path.stat().st_mtime_ns // 1_000_000 <= before_ms
    except FileNotFoundError:
        return False
