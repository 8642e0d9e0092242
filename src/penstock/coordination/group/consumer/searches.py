"""Looking up the topics that expressions stand for, in slices that hold nobody up.

A hostile expression takes two microseconds for each character of a name, so a slice is done within
ten milliseconds whoever wrote it. Where there are few topics one slice is all there is. An
expression that has not been looked up yet stands for no topics.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.regexes import matching
from penstock.coordination.group.consumer.state import Consumer, Resolved, Search

SLICE_CHARS = 5_000


def resolve(draft: Draft, text: str) -> None:
    """Begin to look up an expression, unless the group knows it."""
    if text and draft.regex(text) is None and text not in draft.body.searches:
        _begin(draft, text)
        _go_on(draft, text)


def look_up_all(draft: Draft) -> None:
    """Begin anew with all of them: there may be other topics than we know of."""
    for text in draft.body.regex_users:
        _begin(draft, text)
        draft.turn.wake_at(draft.turn.time_ms)


def _begin(draft: Draft, text: str) -> None:
    draft.body.searches[text] = Search(list(draft.turn.image.topics))


def are_open(body: Consumer) -> bool:
    """Whether there is anything left to look up."""
    return bool(body.searches or body.regex_users.keys() - body.regexes.keys())


def search_on(draft: Draft) -> None:
    """A slice of one search; those that a former coordinator left undone begin here."""
    body = draft.body
    for text in body.searches.keys() - body.regex_users.keys():
        del body.searches[text]
    for text in body.regex_users.keys() - body.regexes.keys() - body.searches.keys():
        _begin(draft, text)
    if body.searches:
        _go_on(draft, next(iter(body.searches)))
    if body.searches:
        draft.turn.wake_at(draft.turn.time_ms)


def _go_on(draft: Draft, text: str) -> None:
    image, search = draft.turn.image, draft.body.searches[text]
    search.found |= matching(text, _slice(search))
    if search.left:
        draft.turn.wake_at(draft.turn.time_ms)
        return
    del draft.body.searches[text]
    _resolved(draft, text, frozenset(name for name in search.found if name in image.topics))


def _slice(search: Search) -> list[str]:
    names: list[str] = []
    chars = 0
    while search.left and chars < SLICE_CHARS:
        names.append(search.left.pop())
        chars += len(names[-1]) + 1
    return names


def _resolved(draft: Draft, text: str, topics: frozenset[str]) -> None:
    known = draft.regex(text)
    if known is None or known.topics != topics:
        turn = draft.turn
        draft.resolved[text] = Resolved(topics, turn.image.revision, turn.now_ms)


def heed_topics(draft: Draft, names: Collection[str]) -> None:
    """These have come or gone."""
    body, image = draft.body, draft.turn.image
    if sum(map(len, names)) > SLICE_CHARS:
        look_up_all(draft)
        return
    there = [name for name in names if name in image.topics]
    for search in body.searches.values():
        search.left.extend(there)
    for text, known in body.regexes.items():
        _resolved(draft, text, known.topics.difference(names) | matching(text, there))
