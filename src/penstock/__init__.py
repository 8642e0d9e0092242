"""Penstock: a distributed message queue that speaks the Apache Kafka wire protocol."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.sdk.admin import Admin as Admin
    from penstock.sdk.errors import PenstockError as PenstockError

__version__ = "0.1.0"

SDK = {
    "Admin": "penstock.sdk.admin",
    "PenstockError": "penstock.sdk.errors",
}
"""What programs use, and where it is: loaded when it is asked for, as a broker needs none of it."""


if not TYPE_CHECKING:  # a type checker shall say so of a name that is not there

    def __getattr__(name: str) -> object:
        if name not in SDK:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(SDK[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *SDK])
