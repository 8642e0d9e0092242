"""Topics of which a consumer wants a part: each is read through a view, made if it is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.client.cluster import WireClient
from penstock.client.where_views import open_view
from penstock.predicate.predicate import Predicate, parse
from penstock.predicate.refusal import BadPredicate
from penstock.sdk.admin_errors import as_our_own
from penstock.sdk.checks import check_text
from penstock.sdk.errors import Misconfigured


def predicate_of(where: str | None, topics: Sequence[str]) -> Predicate | None:
    """Misconfigured, with the place, where it cannot be read."""
    if where is None:
        return None
    check_text("where", where)
    if any(topic.startswith("^") for topic in topics):
        raise Misconfigured("where= goes with topics by their names, not with a pattern")
    try:
        return parse(where)
    except BadPredicate as bad:
        raise Misconfigured(f"where={where!r}: {bad}") from None


class Narrowed:
    """Which view stands for which topic, once they are open."""

    def __init__(self, topics: Sequence[str], predicate: Predicate | None) -> None:
        self._topics = topics
        self._predicate = predicate
        self._views: dict[str, str] = {}
        """By topic."""
        self._sources: dict[str, str] = {}

    @property
    def sources(self) -> Mapping[str, str] | None:
        """The topics by their views' names, to be filled; None where topics are read whole."""
        return None if self._predicate is None else self._sources

    def open(self, bootstrap: str, timeout_s: float) -> list[str]:
        """The names to subscribe to."""
        if self._predicate is None:
            return list(self._topics)
        with as_our_own(), WireClient(bootstrap, timeout_s=timeout_s) as client:
            for topic in self._topics:
                self._views[topic] = open_view(client, topic, self._predicate)
        self._sources.update({view: topic for topic, view in self._views.items()})
        return [self._views[topic] for topic in self._topics]

    def view_of(self, topic: str) -> str:
        """What is read in place of a topic."""
        return self._views.get(topic, topic)
