"""`penstock queue`: topics that share groups read as queues."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import (
    cluster_options,
    confirm,
    connect,
    json_option,
    topic_argument,
    yes_option,
)
from penstock.cli.output import counted, emit_json, emit_table

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.queues import DeadLetters, QueueGroup

_WAIT_MS = 500

group_option = click.option(
    "--group", metavar="GROUP", help="The share group; may be left out where there is only one."
)


@click.group("queue")
def command() -> None:
    """Work with queues: topics whose messages share groups take and acknowledge one by one."""


@command.command("stats")
@topic_argument
@json_option
@cluster_options
def stats(topic: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Tell how much waits in TOPIC, for each share group, and what was given up.

    What waits is all messages that are not finished, what members are working on included; those
    that are held back until they are due are not. A dash is what is not known.
    """
    from penstock.client.queues import queue_groups  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        found = queue_groups(client, topic)
    if as_json:
        emit_json({"queue": topic, "groups": [_document(each) for each in found]})
    elif found:
        heads = ("group", "state", "members", "waiting", "dead letters", "in")
        emit_table(heads, [_row(each) for each in found])
    else:
        click.echo(_no_groups(topic), err=True)


@command.command("peek")
@topic_argument
@group_option
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Messages to show at most.",
)
@click.option("--dead", is_flag=True, help="Show dead letters instead.")
@click.option(
    "--format", "template", metavar="TEMPLATE", help="A line, as in `penstock consume --format`."
)
@json_option
@cluster_options
def peek(
    topic: str,
    group: str | None,
    count: int,
    dead: bool,
    template: str | None,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Show the next messages of TOPIC, and take none of them.

    From where the group begins in each partition: some of them may be with members, or finished out
    of order.
    """
    from penstock.cli.consume_format import for_eyes, formatter  # noqa: PLC0415
    from penstock.client.offsets import EARLIEST, LATEST, ends  # noqa: PLC0415

    if as_json and template is not None:
        raise click.UsageError("--json and --format: give one of them")
    with connect(bootstrap, timeout_s) as client:
        chosen = _group(client, topic, group)
        source = _letters(chosen).topic if dead else topic
        indexes = _led(client, source)
        starts = ends(client, source, indexes, EARLIEST)
        if not dead:
            for index in starts.keys() & chosen.starts.keys():
                starts[index] = max(starts[index], chosen.starts[index].offset or 0)
        show = formatter(source, as_json, template)
        shown = for_eyes(show) if sys.stdout.isatty() else show
        lines = _lines(client, source, starts, ends(client, source, indexes, LATEST), count, shown)
    for line in lines:
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    if not lines:
        click.echo(f"nothing is there of {source} for group {chosen.name}", err=True)


@command.command("redrive")
@topic_argument
@group_option
@yes_option
@json_option
@cluster_options
def redrive(
    topic: str, group: str | None, yes: bool, as_json: bool, bootstrap: str, timeout_s: float
) -> None:
    """Send the dead letters of TOPIC back to it, each once, as new messages.

    Those that are there when it begins. They are gone from the dead letters then, up to the first
    that is not one of them: of another group, or without a copy of its message.
    """
    from penstock.client.group_offsets import committed_offsets  # noqa: PLC0415
    from penstock.client.offsets import EARLIEST, LATEST, ends  # noqa: PLC0415
    from penstock.sdk.redriving import Letters  # noqa: PLC0415
    from penstock.sdk.redriving import redrive as send_back  # noqa: PLC0415
    from penstock.sdk.sent_back import drop_sent_back  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        chosen = _group(client, topic, group)
        told = _letters(chosen)
        letters = Letters(told.topic, topic, chosen.name)
        indexes = range(len(client.topic(told.topic).partitions))
        lasts = ends(client, told.topic, indexes, LATEST)
        firsts = ends(client, told.topic, indexes, EARLIEST)
        for (_, index), committed in committed_offsets(client, letters.reader).items():
            firsts[index] = max(firsts[index], committed.offset)
        waiting = {index: last for index, last in lasts.items() if last > firsts[index]}
        if not waiting:
            drop_sent_back(client, letters)
            raise click.ClickException(
                f"there are no dead letters of {topic} in {told.topic} that were not sent back"
            )
        if not told.have_copies:
            raise click.ClickException(
                f"the dead letters in {told.topic} hold no copies of their messages: `penstock "
                f"group config {chosen.name} --set errors.deadletterqueue.copy.record.enable=true` "
                "has them put in from now on; the headers of each tell where its message was"
            )
        count = sum(last - firsts[index] for index, last in waiting.items())
        confirm(f"Send up to {counted(count, 'dead letter')} back to {topic}?", yes)
        done = send_back(bootstrap, letters, waiting, len(client.topic(topic).partitions))
        drop_sent_back(client, letters)
    if done.taken:
        raise click.ClickException(
            f"sent {counted(done.sent, 'dead letter')} back to {topic}; others wait in partitions "
            f"{', '.join(map(str, sorted(done.taken)))} of {told.topic} that another redrive has: "
            "let that one end, or wait a minute if it was killed, and run this again"
        )
    if as_json:
        emit_json({"queue": topic, "group": chosen.name, "sent": done.sent, "left": done.left})
        return
    rest = f"; {counted(done.left, 'other letter')} stayed in {told.topic}" if done.left else ""
    click.echo(f"sent {counted(done.sent, 'dead letter')} back to {topic}{rest}")


@command.command("purge")
@topic_argument
@click.option(
    "--group", metavar="GROUP", help="For this share group alone, which must have no members."
)
@yes_option
@json_option
@cluster_options
def purge(
    topic: str, group: str | None, yes: bool, as_json: bool, bootstrap: str, timeout_s: float
) -> None:
    """Drop all that waits in TOPIC: for one group, or, by deleting the records, for everybody."""
    from penstock.client.offsets import LATEST, delete_records, ends  # noqa: PLC0415
    from penstock.client.queues import records_in  # noqa: PLC0415
    from penstock.client.share_offsets import set_share_starts  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        indexes = range(len(client.topic(topic).partitions))
        lasts = ends(client, topic, indexes, LATEST)
        if group is None:
            count = records_in(client, topic, indexes)
            confirm(f"Delete {counted(count, 'record')} of {topic}, for all who read it?", yes)
            delete_records(client, topic, lasts)
        else:
            chosen = _group(client, topic, group)
            count = chosen.waiting or 0
            confirm(f"Drop {counted(count, 'message')} of {topic} for group {group}?", yes)
            set_share_starts(client, group, {(topic, index): lasts[index] for index in indexes})
    if as_json:
        emit_json({"queue": topic, "group": group, "dropped": count})
    else:
        click.echo(f"dropped {counted(count, 'message')} of {topic}")


def _group(client: WireClient, topic: str, wanted: str | None) -> QueueGroup:
    from penstock.client.queues import queue_groups  # noqa: PLC0415

    found = {each.name: each for each in queue_groups(client, topic)}
    if not found:
        raise click.ClickException(_no_groups(topic))
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    if wanted is None:
        raise click.UsageError(f"--group: {topic} is read by {', '.join(found)}; name one of them")
    if wanted not in found:
        raise click.ClickException(
            f"share group {wanted} does not read {topic}; those that do: {', '.join(found)}"
        )
    return found[wanted]


def _letters(chosen: QueueGroup) -> DeadLetters:
    told = chosen.dead_letters
    if told is None:
        raise click.ClickException(
            f"group {chosen.name} has no dead letters: `penstock group config {chosen.name} --set "
            "errors.deadletterqueue.topic.name=dlq.NAME` gives it a topic for them"
        )
    if not told.is_there:
        raise click.ClickException(
            f"there is no topic {told.topic}: `penstock topic create {told.topic} --set "
            "errors.deadletterqueue.group.enable=true` makes it"
        )
    return told


def _led(client: WireClient, topic: str) -> list[int]:
    """Partitions that can be read now; of others it is said that they cannot."""
    partitions = client.topic(topic).partitions
    missing = [str(index) for index, each in partitions.items() if each.leader < 0]
    if missing:
        click.echo(
            f"partitions {', '.join(missing)} of {topic} have no leader now: what is in them is "
            "not shown",
            err=True,
        )
    return [index for index, each in partitions.items() if each.leader >= 0]


def _lines(
    client: WireClient,
    topic: str,
    starts: dict[int, int],
    stops: dict[int, int],
    count: int,
    show: Any,
) -> list[bytes]:
    from penstock.client.reader import Reader  # noqa: PLC0415

    reader = Reader(client, topic, {n: at for n, at in starts.items() if at < stops[n]})
    lines: list[bytes] = []
    while reader.positions and len(lines) < count:
        for arrived in reader.poll(_WAIT_MS):
            lines += [show(arrived, record) for record in arrived.records()]
        for index, position in list(reader.positions.items()):
            if position >= stops[index]:
                del reader.positions[index]
    return lines[:count]


def _no_groups(topic: str) -> str:
    return (
        f"no share group reads {topic} yet: one begins when its first member does, such as "
        "penstock.Queue"
    )


def _row(each: QueueGroup) -> Sequence[object]:
    letters = each.dead_letters
    told = (letters.held, letters.topic) if letters else (None, None)
    return (each.name, each.state, each.members, each.waiting, *told)


def _document(each: QueueGroup) -> dict[str, Any]:
    letters = each.dead_letters
    return {
        "group": each.name,
        "state": each.state,
        "members": each.members,
        "waiting": each.waiting,
        "partitions": [
            {"partition": index, "start": start.offset, "waiting": start.lag}
            for index, start in sorted(each.starts.items())
        ],
        "dead_letters": letters
        and {"topic": letters.topic, "count": letters.held, "copies": letters.have_copies},
    }
