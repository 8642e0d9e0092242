"""Memory for requests in flight, on all connections together. Who finds none left waits."""

from __future__ import annotations

from collections.abc import Callable


class Budget:
    __slots__ = ("_left", "_waiting", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._left = limit
        self._waiting: dict[Callable[[], None], int] = {}

    @property
    def used(self) -> int:
        return self.limit - self._left

    def take(self, size: int, resume: Callable[[], None]) -> bool:
        """False: there is not enough; `resume` is called when it is worth another try.

        One request larger than the whole budget is let through when nothing else is in flight, or
        it could never be read.
        """
        if self.limit < 0:
            return True
        if size <= self._left or self._left == self.limit:
            self._left -= size
            return True
        self._waiting[resume] = size
        return False

    def give_back(self, size: int) -> None:
        if self.limit < 0 or not size:
            return
        self._left += size
        expected = self._left
        for resume, wanted in list(self._waiting.items()):
            if wanted > expected and self._left != self.limit:
                break
            expected -= wanted
            del self._waiting[resume]
            resume()

    def forget(self, resume: Callable[[], None]) -> None:
        self._waiting.pop(resume, None)
