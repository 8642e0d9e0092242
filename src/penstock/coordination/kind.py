"""What a coordinator looks after, whatever that is: groups, say, or transactions.

Each has a name, which says in which partition of an internal topic it is stored, and is made of
that partition's events. What may happen to it is up to its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from penstock.coordination.pace import Pace
from penstock.coordination.turn import Event, Turn
from penstock.errors import ErrorCode
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.stored_codec import StoredKey

NAME_CHARS_MAX = 1000
"""Of a name, which is hashed a character at a time."""


class Kept(Protocol):
    """One of them."""

    name: str
    end: int
    """Behind the last event that it is made of."""
    wake_ms: float | None
    """When it is going to be looked at, if nothing happens before."""

    @property
    def is_ending(self) -> bool:
        """It is being deleted: nobody gets at it any more."""
        ...

    @property
    def has_work(self) -> bool:
        """It is to be looked at at once."""
        ...

    @property
    def is_forgotten(self) -> bool:
        """Nothing is left of it."""
        ...


K = TypeVar("K", bound=Kept)
Out_co = TypeVar("Out_co", bound=Kept, covariant=True)
In_contra = TypeVar("In_contra", bound=Kept, contravariant=True)


class Keeping(Protocol[Out_co]):
    """All of one partition: a replay of its events."""

    unread: dict[str, str]
    """By name, what could not be read. It is not known then what it is."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Out_co]: ...
    def get(self, name: str) -> Out_co | None: ...
    def get_or_add(self, name: str) -> Out_co: ...
    def remove(self, name: str) -> None: ...
    def apply(self, event: Event) -> None: ...
    def leave_out(self, key: StoredKey, problem: str) -> None: ...
    def hold(self, producer_id: int, event: Event, end: int) -> None:
        """Written in a transaction, and not to be applied before that is committed. `end`: of its
        batch; where two of them are about one thing, what was written later counts."""
        ...

    def release(self, producer_id: int, is_commit: bool) -> Iterable[Out_co]:
        """The transaction is over: those about whom it has said something."""
        ...


class Sweep(Protocol[In_contra]):
    """Of one of them, in several turns."""

    is_done: bool

    def go_on(self, turn: Turn, one: In_contra, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind(Generic[K]):
    topic: str
    noun: str
    """What one of them is called in messages."""
    bad_name: ErrorCode
    keep: Callable[[], Keeping[K]]
    look_at: Callable[[Image, K, Pace], Steps[Any]]
    """Ahead of `begin`, as it may take long."""
    begin: Callable[[Turn, K, Any], None]
    """It has been loaded; with what `look_at` has found."""
    expire: Callable[[Turn, K], None]
    """What is due by now."""
    has_left_traces: Callable[[Turn], bool]
    """Whether a decision that is not carried out has changed what is in memory."""
    name_chars_max: int = NAME_CHARS_MAX
