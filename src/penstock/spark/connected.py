"""A cluster that a job reads or writes: known by its address wherever a task goes."""

from __future__ import annotations

from penstock.client.cluster import WireClient


class Connected:
    """Connects at the first use, in each process for itself."""

    def __init__(self, bootstrap: str, timeout_s: float) -> None:
        self._bootstrap = bootstrap
        self._timeout_s = timeout_s
        self._client: WireClient | None = None

    @property
    def client(self) -> WireClient:
        if self._client is None:
            self._client = self.another()
        return self._client

    def another(self) -> WireClient:
        """With connections of its own. An address at which nobody is may be a mistake, and is
        told at once."""
        return WireClient(self._bootstrap, "penstock-spark", self._timeout_s)

    def again(self) -> WireClient:
        """For tasks, and the end of a job: whoever has planned it has reached the brokers, so if
        they are away now, they are waited for."""
        return WireClient(self._bootstrap, "penstock-spark", self._timeout_s, is_known=True)

    def __getstate__(self) -> tuple[str, float]:
        return self._bootstrap, self._timeout_s

    def __setstate__(self, state: tuple[str, float]) -> None:
        self.__init__(*state)  # type: ignore[misc]
