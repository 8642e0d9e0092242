"""Decimals with more digits behind the point than Arrow can count.

Arrow looks up powers of ten by the difference of two scales, in a table that ends with the largest
scale of a type. It does not look whether there is one: a number such as 1e-77 may come out as
0, and 1e-99999999 ends the process. So these are found before Arrow is given them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

SCALE_MAX = 38
"""Of the numbers in that table."""
_SUSPECT = re.compile(rb"[0-9.][eE]-[0-9]")
"""Without an exponent, a number of so many digits is too long for Arrow, which it does notice."""


class TinyDecimals:
    def __init__(self, kind: pa.DataType, shape: Callable[[pa.DataType, Any], Any]) -> None:
        self._kind = kind
        self._decoder = msgspec.json.Decoder(shape(kind, Decimal))

    def among(self, value: bytes) -> bool:
        """Raises what msgspec does where the value is not of its shape."""
        if _SUSPECT.search(value) is None:
            return False
        return _is_any(self._kind, self._decoder.decode(value))


def has_decimals(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(has_decimals(each.type) for each in kind)
    if pa.types.is_list(kind):
        return has_decimals(kind.value_type)
    return bool(pa.types.is_decimal(kind))


def _is_any(kind: pa.DataType, found: Any) -> bool:
    if found is None or not has_decimals(kind):
        return False
    if pa.types.is_struct(kind):
        return any(_is_any(each.type, found.get(each.name)) for each in kind)
    if pa.types.is_list(kind):
        return any(_is_any(kind.value_type, each) for each in found)
    exponent = found.as_tuple().exponent
    return isinstance(exponent, int) and exponent < -SCALE_MAX
