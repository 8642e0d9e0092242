"""`penstock log`: a partition's files on disk, looked into and checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import json_option
from penstock.cli.output import counted, emit_json, plain, time_text
from penstock.errors import Malformed, Refused

if TYPE_CHECKING:
    from penstock.cli.log_scan import Found, Report

_UNCOMPRESSED_BYTES_MAX = 512 << 20


@click.group("log")
def command() -> None:
    """Look into the files of a log, offline."""


@command.command("dump")
@click.argument("path")
@click.option("--records", is_flag=True, help="With the records in each batch.")
@json_option
@click.pass_context
def dump(ctx: click.Context, path: str, records: bool, as_json: bool) -> None:
    """Show the batches in PATH: a data folder, a partition's folder or a segment file."""
    from penstock.cli.log_scan import Torn, batches_of, mapped, segments_at  # noqa: PLC0415

    sound = True
    for segment in segments_at(path):
        if not as_json:
            click.echo(click.style(str(segment), bold=True))
        try:
            for found in batches_of(mapped(segment)):
                sound = sound and found.crc_ok
                _emit_batch(segment, found, records, as_json)
        except Torn as error:
            sound = False
            click.echo(f"{segment}: {error}", err=True)
    ctx.exit(0 if sound else 1)


@command.command("verify")
@click.argument("path")
@json_option
@click.pass_context
def verify(ctx: click.Context, path: str, as_json: bool) -> None:
    """Check PATH: a data folder, a partition's folder or a segment file.

    CRCs, the order of offsets within and across segments, and the indexes. Gaps between segments
    are told, and are no problem by themselves: compaction leaves them. A broker that is running may
    be writing the end of a last segment just now.
    """
    from penstock.cli.log_scan import segments_at  # noqa: PLC0415

    reports = list(_verified(segments_at(path)))
    wrong = sum(len(report.problems) for report in reports)
    if as_json:
        emit_json({"ok": not wrong, "segments": [_report_document(each) for each in reports]})
    else:
        for report in reports:
            for problem in report.problems:
                click.echo(f"{report.segment}: {problem}", err=True)
            if report.gap:
                click.echo(f"{report.segment}: gap: {report.gap}", err=True)
        batches = counted(sum(each.batches for each in reports), "batch", "batches")
        records = counted(sum(each.records for each in reports), "record")
        verdict = counted(wrong, "problem") if wrong else "ok"
        gaps = sum(each.gap is not None for each in reports)
        more = f", {counted(gaps, 'gap')}" if gaps else ""
        click.echo(f"{verdict}: {counted(len(reports), 'segment')}, {batches}, {records}{more}")
    ctx.exit(1 if wrong else 0)


def _verified(segments: list[Path]) -> Iterator[Report]:
    """Each segment by itself, and against the one before it in its folder."""
    from penstock.cli import log_scan  # noqa: PLC0415

    before: Report | None = None
    for segment in segments:
        report = log_scan.verify(segment)
        if before and before.segment.parent == segment.parent:
            report.compare_with(before)
        yield report
        before = report


def _emit_batch(segment: Path, found: Found, records: bool, as_json: bool) -> None:
    document = _batch_document(segment, found)
    inside = _record_documents(found) if records else None
    if as_json:
        if inside is not None:
            document["records"] = inside
        emit_json(document)
        return
    click.echo(
        "  {base_offset}..{last_offset}  at {position}  {size} B  {inside}  "
        "epoch {leader_epoch}  {producer}{codec}  {time}  crc {crc:08x} {verdict}".format(
            inside=counted(document["count"], "record"),
            producer=_producer_text(found),
            verdict="ok" if document["crc_ok"] else "WRONG",
            time=time_text(document["max_timestamp"]),
            **document,
        )
    )
    for each in inside or ():
        click.echo(f"    {each['offset']}  {time_text(each['timestamp'])}  {_record_text(each)}")


def _batch_document(segment: Path, found: Found) -> dict[str, Any]:
    from penstock.wire.compression import Codec  # noqa: PLC0415

    header = found.header
    known = header.codec in list(Codec)
    return {
        "segment": str(segment),
        "position": found.position,
        "size": header.size,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "codec": Codec(header.codec).word if known else f"unknown {header.codec}",
        "max_timestamp": header.max_timestamp,
        "crc": header.crc,
        "crc_ok": found.crc_ok,
    }


def _record_documents(found: Found) -> list[dict[str, Any]] | None:
    """None where the batch is damaged: nothing inside it can be believed."""
    from penstock.wire.batch_builder import read_records  # noqa: PLC0415

    if not found.crc_ok:
        return None
    try:
        inside = read_records(found.data, _UNCOMPRESSED_BYTES_MAX)
    except (Malformed, Refused) as error:
        click.echo(f"the batch at {found.position} cannot be read: {error}", err=True)
        return None
    return [
        {
            "offset": each.offset,
            "timestamp": each.timestamp,
            "key": _text(each.key),
            "value": _text(each.value),
            "headers": [[_text(name), _text(content)] for name, content in each.headers],
        }
        for each in inside
    ]


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="backslashreplace")


def _producer_text(found: Found) -> str:
    header = found.header
    words = ""
    if header.producer_id >= 0:
        words = (
            f"producer {header.producer_id}/{header.producer_epoch} seq {header.base_sequence}  "
        )
    words += "transactional  " if header.is_transactional else ""
    return words + ("control  " if header.is_control else "")


def _record_text(record: dict[str, Any]) -> str:
    key = "" if record["key"] is None else f"{record['key']!r} = "
    headers = "".join(f"  {name}: {content}" for name, content in record["headers"])
    return plain(f"{key}{record['value']!r}{headers}")


def _report_document(report: Report) -> dict[str, Any]:
    return {
        "segment": str(report.segment),
        "batches": report.batches,
        "records": report.records,
        "first_offset": report.first_offset,
        "next_offset": report.next_offset,
        "problems": report.problems,
        "gap": report.gap,
    }
