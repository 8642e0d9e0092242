"""Looking up the topics that expressions stand for, in slices that hold nobody up.

A hostile expression takes two microseconds for each character of a name, so a slice is done within
ten milliseconds whoever wrote it, and however many there are. Where there is little to look up, one
slice in the turn that asks for it is all there is. An expression that has not been looked up yet
stands for no topics.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.lookups import Lookups, Search
from penstock.coordination.group.consumer.state import Consumer, Resolved
from penstock.coordination.regexes import cost_chars, matching
from penstock.errors import ErrorCode, Refused

SLICE_CHARS = 5_000
AT_ONCE_CHARS = 1_000
"""Of a slice that is done together with those of other groups: when a topic has come or gone."""
CHAR_COST = 2
"""Of a character, in the unit of `Pace`."""
EXPRESSIONS_MAX = 500
"""In a group, each counted once."""


def check_expressions(draft: Draft, before: str, after: str) -> None:
    """Refuse a member whose expression is one too many. What it has had so far may go with it."""
    users = draft.body.regex_users
    if not after or after in users:
        return
    if len(users) - (users[before] == 1) >= EXPRESSIONS_MAX:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the members have {len(users)} different expressions, {EXPRESSIONS_MAX} are allowed: "
            "use one that they have, or another group",
        )


def resolve(draft: Draft, text: str) -> None:
    """Begin to look up an expression, unless the group knows it."""
    if not draft.body.members:  # what was begun before nobody was there is out of date
        draft.body.lookups = Lookups()
    lookups = draft.body.lookups
    if not text or draft.regex(text) is not None or lookups.is_to_be_searched(text):
        return
    is_first = lookups.search is None and not lookups.waiting
    lookups.waiting[text] = None
    if is_first:
        _search_some(draft, SLICE_CHARS)
    _go_on_soon(draft)


def look_up_all(draft: Draft) -> None:
    """All of them anew: there may be other topics than we know of."""
    lookups = draft.body.lookups
    lookups.waiting.update(dict.fromkeys(draft.body.regex_users))
    lookups.changed.clear()
    lookups.sweep = None
    _go_on_soon(draft)


def heed_topics(draft: Draft, names: Collection[str]) -> None:
    """These have come or gone."""
    body, lookups, topics = draft.body, draft.body.lookups, draft.turn.image.readable.topics
    if lookups.search is not None:
        lookups.search.left.extend(name for name in names if name in topics)
    if body.regexes:
        lookups.changed.update(names)
    if sum(map(len, lookups.changed)) > SLICE_CHARS:
        look_up_all(draft)
    elif lookups.sweep is None:
        _sweep_some(draft, AT_ONCE_CHARS)
    _go_on_soon(draft)


def are_open(body: Consumer) -> bool:
    """Whether there is anything left to look up."""
    return bool(not body.lookups.is_done or body.regex_users.keys() - body.regexes.keys())


def search_on(draft: Draft) -> None:
    """Some more of it; searches that a former coordinator left undone begin here."""
    body, lookups = draft.body, draft.body.lookups
    for text in lookups.waiting.keys() - body.regex_users.keys():
        del lookups.waiting[text]
    if lookups.search is not None and lookups.search.text not in body.regex_users:
        lookups.search = None
    for text in sorted(body.regex_users.keys() - body.regexes.keys()):
        if not lookups.is_to_be_searched(text):
            lookups.waiting[text] = None
    _sweep_some(draft, SLICE_CHARS // 2)
    _search_some(draft, SLICE_CHARS // 2)
    _go_on_soon(draft)


def _go_on_soon(draft: Draft) -> None:
    if not draft.body.lookups.is_done:
        draft.turn.wake_at(draft.turn.time_ms)


# -- one expression after the other, among all topics


def _search_some(draft: Draft, chars: int) -> None:
    lookups = draft.body.lookups
    while chars > 0 and (lookups.search is not None or lookups.waiting):
        if lookups.search is None:
            text = next(iter(lookups.waiting))
            del lookups.waiting[text]
            lookups.search = Search(text, draft.turn.image.readable.topics)
        cost = _search(draft, lookups.search, chars)
        draft.turn.spend(CHAR_COST * cost)
        chars -= cost


def _search(draft: Draft, search: Search, chars: int) -> int:
    """A slice of it, and what that has cost."""
    cost = cost_chars(search.text)
    names = _slice(search, chars)
    search.found |= matching(search.text, names)
    cost += sum(map(len, names)) + len(names)
    if search.left:
        return cost
    draft.body.lookups.search = None
    topics = draft.turn.image.readable.topics
    return cost + _note(draft, search.text, frozenset(n for n in search.found if n in topics))


def _slice(search: Search, chars: int) -> list[str]:
    names: list[str] = []
    while search.left and chars > 0:
        names.append(search.left.pop())
        chars -= len(names[-1]) + 1
    return names


# -- some topics, by all expressions


def _sweep_some(draft: Draft, chars: int) -> None:
    lookups = draft.body.lookups
    while chars > 0 and (sweep := lookups.next_sweep(draft.body.regexes)) is not None:
        cost = _sweep(draft, sweep.left.pop(), sweep.names)
        draft.turn.spend(CHAR_COST * cost)
        chars -= cost


def _sweep(draft: Draft, text: str, names: frozenset[str]) -> int:
    """One expression, and what that has cost."""
    known = draft.regex(text)
    if known is None:
        return 1
    there = [name for name in names if name in draft.turn.image.readable.topics]
    cost = cost_chars(text) + sum(map(len, there)) + len(names)
    return cost + _note(draft, text, known.topics - names | matching(text, there))


def _note(draft: Draft, text: str, topics: frozenset[str]) -> int:
    """What an expression stands for, and what writing it costs, if it is news."""
    known = draft.regex(text)
    if known is not None and known.topics == topics:
        return 0
    turn = draft.turn
    draft.resolved[text] = Resolved(topics, turn.image.revision, turn.now_ms)
    return len(topics)
