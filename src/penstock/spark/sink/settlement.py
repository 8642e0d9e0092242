"""How the batches of a query are settled, by its driver: all of their transactions count, or none.

A decision is written down first, and then carried out. Wherever that is cut off, whoever comes next
finds the decision and goes on; what nobody has decided is condemned, which is written down as well,
and then aborted. The order of both in the log says which was first, so that nothing is committed by
one and aborted by another.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.open_transaction import OpenTransaction
from penstock.spark.errors import SparkError
from penstock.spark.sink.decisions import Decisions
from penstock.spark.sink.entries import Entry
from penstock.spark.sink.transactions import identified, is_over, open_ones

log = logging.getLogger(__name__)

ATTEMPTS = 10
"""To be the first to write."""
LATE_S = 4.0
"""Tasks go on for so long when another has failed: Spark ends Python after two seconds."""
LOOK_EVERY_S = 0.25


class Settlement:
    def __init__(self, client: WireClient, query: str, writer: str) -> None:
        self._client = client
        self._query = query
        self._writer = writer
        self._decisions = Decisions(client)

    def commit(self, batch: int, offered: Collection[OpenTransaction]) -> None:
        """The batch counts from now on, with what was offered or with what was decided before."""
        decision = self._decided(batch, offered)
        self._finish(decision)
        try:
            self._abort_undecided(open_ones(self._client, self._query))
            self._forget_jobs()
        except ClientError as error:
            log.warning("query %s: something is left to be cleared up: %s", self._query, error)

    def abort(self, batch: int, unfinished: int = 0) -> None:
        """All that is open of the query is aborted, unless the batch was decided.

        With several tasks that have not finished, one has failed, and the others may open something
        while they are being ended: nobody else would come for that.
        """
        last = self._decisions.last(self._query)
        if last.batch >= batch:
            self._finish(last)
        deadline = time.monotonic() + (LATE_S if unfinished > 1 else 0)
        self._abort_undecided(open_ones(self._client, self._query))
        while time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
            self._abort_undecided(open_ones(self._client, self._query))

    def end(self, names: Iterable[str]) -> dict[str, bool]:
        """Open ones that nobody is going to end; whether each was committed."""
        names = list(names)
        last = self._decisions.last(self._query)
        decided = {each.name: each for each in last.decided}
        ended: dict[str, bool] = {}
        for name in names:
            if name in decided and identified(self._client, name) == decided[name]:
                is_over(self._client, decided[name], is_commit=True)
                ended[name] = True
        rest = [name for name in names if name not in ended]
        return ended | dict.fromkeys(self._abort_undecided(rest), False)

    def forget(self) -> None:
        """The query will never come again. While something of it is open, whoever ends that asks
        for what was decided."""
        if not open_ones(self._client, self._query):
            self._decisions.forget(self._query)

    def _forget_jobs(self) -> None:
        """Those that are over, and whose drivers were killed before they could say so. What was
        decided is read before it is asked what is open, so that nothing is missed in between."""
        for entry in self._decisions.decided_jobs():
            if entry.query != self._query and self._is_over(entry):
                self._decisions.forget_job(entry)

    def _is_over(self, entry: Entry) -> bool:
        named = (*entry.decided, *entry.condemned)
        return all(identified(self._client, each.name) != each for each in named)

    def _decided(self, batch: int, offered: Collection[OpenTransaction]) -> Entry:
        for _ in range(ATTEMPTS):
            last = self._decisions.last(self._query)
            if last.is_decided(batch):
                return last
            if not offered:
                return last.deciding(self._writer, batch, ())
            self._check_open(offered, last)
            decision = last.deciding(self._writer, batch, offered)
            if self._decide(decision):
                return decision
        raise self._outrun()

    def _check_open(self, offered: Iterable[OpenTransaction], last: Entry) -> None:
        still = set(open_ones(self._client, self._query))
        for each in offered:
            if each.name not in still or each in last.condemned:
                raise SparkError(
                    f"{each.name} is not open any more, so the batch has to be written again: it "
                    "was aborted from outside, or as an orphan (option sink.orphan.timeout)"
                )

    def _decide(self, decision: Entry) -> bool:
        return self._decisions.put(decision)

    def _finish(self, decision: Entry) -> None:
        if not decision.decided:
            return
        for each in decision.decided:
            self._commit_decided(each)
        self._note_end(decision)

    def _commit_decided(self, opened: OpenTransaction) -> None:
        if not is_over(self._client, opened, is_commit=True):
            raise SparkError(
                f"{opened.name} was to be committed, and somebody has aborted it from outside: its "
                "rows are lost. Write the batch once more by hand, or begin with a new checkpoint"
            )

    def _note_end(self, decision: Entry) -> None:
        """So that nobody asks again, when brokers have forgotten the names. Who was faster has
        written after the decision, and leaves it as it is."""
        self._decisions.put(decision.ended(self._writer))

    def _abort_undecided(self, names: Iterable[str]) -> list[str]:
        """Those that were aborted."""
        found = {each for name in names if (each := identified(self._client, name))}
        for _ in range(ATTEMPTS):
            last = self._decisions.last(self._query)
            victims = found - set(last.decided)
            if not victims:
                return []
            if victims <= set(last.condemned) or self._decisions.put(
                last.condemning(self._writer, victims)
            ):
                return [each.name for each in victims if self._is_aborted(each)]
        raise self._outrun()

    def _is_aborted(self, opened: OpenTransaction) -> bool:
        return is_over(self._client, opened, is_commit=False)

    def _outrun(self) -> SparkError:
        return SparkError(
            f"others decide about query {self._query} all the time: is it running twice, with one "
            "checkpoint?"
        )


class JobSettlement(Settlement):
    """Of a job, which is one batch and never comes again."""

    def forget(self) -> None:
        """Its rows count already, or do not: nothing that goes wrong here changes that."""
        try:
            super().forget()
        except ClientError as error:
            log.warning("job %s is over, and will be forgotten by another: %s", self._query, error)

    def _note_end(self, decision: Entry) -> None:
        """It is forgotten instead."""
