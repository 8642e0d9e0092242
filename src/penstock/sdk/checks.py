"""What callers give, looked at before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import iscoroutine
from typing import Any

from penstock.client.connection import parse_addresses
from penstock.sdk.admin_errors import as_our_own
from penstock.sdk.errors import Misconfigured

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def check_addresses(given: object) -> None:
    if not isinstance(given, str):
        raise Misconfigured(
            f"bootstrap={given!r} is no address: give 'HOST:PORT', and a comma between several"
        )
    with as_our_own():
        parse_addresses(given)


def check_seconds(word: str, given: Any) -> None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not given >= 0:  # which "not a number" is not, either
        raise Misconfigured(f"{word}={given!r} is no time: give seconds, 0 or more")


def check_whole(word: str, given: object, least: int, most: int = INT32_MAX) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise Misconfigured(f"{word}={given!r}: give a whole number from {least} to {most}")


def check_text(word: str, given: object) -> None:
    if not isinstance(given, str):
        raise Misconfigured(f"{word}={given!r}: give text")


def check_callable(word: str, given: object) -> None:
    if given is not None and not callable(given):
        raise Misconfigured(f"{word}={given!r} cannot be called: give a function, or leave it out")


def check_handler(given: object) -> None:
    """Before messages are lost by it: what cannot be called fails for each of them."""
    if not callable(given):
        raise Misconfigured(f"handler={given!r} cannot be called: give a function of one argument")


def check_outcome(handler: object, outcome: object) -> None:
    """Of a plain call: a coroutine has done nothing yet, and would not be awaited."""
    if iscoroutine(outcome):
        outcome.close()
        raise Misconfigured(
            f"the handler {handler!r} is a coroutine function, and nobody awaits it here, so "
            "nothing was processed: use AsyncConsumer or AsyncQueue, or a plain function"
        )


def check_settings(given: object) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise Misconfigured(f"settings={given!r}: give a dict of librdkafka's settings")


def check_method(word: str, given: Any, method: str) -> None:
    """Of a serializer or its like: an instance, not its class."""
    if isinstance(given, type) or not callable(getattr(given, method, None)):
        raise Misconfigured(f"{word}={given!r} has no {method}(): give an object that has")
