"""What retention took from a topic, and its table has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.client.ranges import Gap
from penstock.spark.errors import OptionError
from penstock.spark.source.offsets import Offsets
from penstock.spark.tables.files import Stretch, firsts, missing, picked
from penstock.spark.tables.owner import check_same

if TYPE_CHECKING:
    from penstock.spark.tables.topic_table import TopicTable


class History:
    """A table beside its topic. It is opened where it is needed, in each process for itself."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @cached_property
    def _table(self) -> TopicTable:
        from penstock.spark.tables.formats import open_table  # noqa: PLC0415  # most jobs need none

        return open_table(self._folder)

    def from_first(self, earliest: Offsets) -> Offsets:
        """Where the table begins, if that is before the topic does."""
        owner = self._table.owner
        ids = {each.hex() for (topic, _), each in earliest.ids.items() if topic == owner.topic}
        if not ids:
            raise OptionError(
                f"option archive={self._folder} is the table of topic {owner.topic}, which is not "
                "read"
            )
        if owner.topic_id not in ids:
            check_same(self._folder, owner, owner._replace(topic_id=min(ids)))
        begun = firsts(self._table.files())
        for lane, kept_from in self._table.deleted(begun).items():
            begun[lane] = max(begun[lane], kept_from)
        at = dict(earliest.at)
        for place, offset in earliest.at.items():
            lane = (place[1], earliest.ids[place].hex())
            if place[0] == owner.topic and lane in begun:
                at[place] = min(offset, begun[lane])
        return Offsets(at, earliest.ids)

    def rows(
        self, gap: Gap, columns: list[str], on_gap: Callable[[Gap], None]
    ) -> Iterator[pa.RecordBatch]:
        """What lies in a gap, in order, by what the table has now. `on_gap` is told of what it has
        not either, or what was deleted."""
        from penstock.spark.tables.parquet import read_file  # noqa: PLC0415

        place = gap.place
        wanted = Stretch(place.partition, gap.first, gap.end, place.log_id.hex())
        self._table.refresh()
        files = self._table.files()
        kept_from = min(gap.end, self._table.deleted([wanted.lane]).get(wanted.lane, 0))
        if gap.first < kept_from:
            on_gap(Gap(place, gap.first, kept_from))
            wanted = wanted._replace(first=kept_from)
        for each in missing(files, wanted):
            on_gap(Gap(place, each.first, each.end))
        for file in picked(files, wanted):
            yield from read_file(self._table.folder, file, wanted, columns)


class Stopped(Exception):
    """Raised where a gap is reached, so that what lies before it can be given first."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(str(gap))
        self.gap = gap


def stop_at(gap: Gap) -> None:
    raise Stopped(gap)
