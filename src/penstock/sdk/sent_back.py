"""Dead letters that were sent back are deleted.

What was sent back is known by the offsets that were committed with it, and not by who has done so:
a command that was killed in between leaves nothing undone that the next one would not see. Letters
of others may lie among them, so nothing from the first of those on is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.client.cluster import WireClient
from penstock.client.group_offsets import committed_offsets
from penstock.client.offsets import EARLIEST, delete_records, ends
from penstock.client.reader import Reader
from penstock.sdk.redriving import Letters
from penstock.wire.records import Record

WAIT_MS = 500


def drop_sent_back(client: WireClient, letters: Letters) -> None:
    """Raises ClientError."""
    sent = {
        index: committed.offset
        for (topic, index), committed in committed_offsets(
            client, letters.reader, is_final=True
        ).items()
        if topic == letters.dead_letters
    }
    firsts = ends(client, letters.dead_letters, sent.keys(), EARLIEST)
    starts = {index: first for index, first in firsts.items() if first < sent[index]}
    others = _first_others(client, letters, starts, sent)
    gone = {index: others[index] for index, first in starts.items() if first < others[index]}
    if gone:
        delete_records(client, letters.dead_letters, gone)


def _first_others(
    client: WireClient, letters: Letters, starts: Mapping[int, int], stops: Mapping[int, int]
) -> dict[int, int]:
    """By partition, where the first letter is that is not one of these; or the end of the stretch.
    Of what cannot be read that is its start."""
    found = {index: stops[index] for index in starts}
    reader = Reader(client, letters.dead_letters, starts)
    while reader.positions:
        for arrived in reader.poll(WAIT_MS):
            index = arrived.partition
            others = [each.offset for each in arrived.records() if not _is_of(letters, each)]
            found[index] = min([found[index], *others])
        for index, position in list(reader.positions.items()):
            if position >= found[index]:
                del reader.positions[index]
    return found | {index: starts[index] for index in reader.lost}


def _is_of(letters: Letters, record: Record) -> bool:
    headers = ((name.decode(errors="replace"), value) for name, value in record.headers)
    return letters.have(headers, record.key, record.value)
