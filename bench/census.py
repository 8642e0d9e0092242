"""What the memory of a broker holds: `python -m bench.census OUT -m penstock serve ...`.

The broker runs as ever. On SIGUSR1 it counts its objects by type, and writes that to OUT.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def count() -> dict[str, tuple[int, int]]:
    """How many there are of each type, and their bytes, of all that the collector can reach.

    Objects that hold no others are unknown to the collector: they are found through their holders.
    """
    gc.unfreeze()
    waiting: list[Any] = gc.get_objects()
    seen = set(map(id, waiting))
    seen |= {id(waiting), id(seen)}
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    while waiting:
        each = waiting.pop()
        name = _title(type(each))
        counts[name] += 1
        sizes[name] += sys.getsizeof(each)
        for held in gc.get_referents(each):
            if id(held) not in seen:
                seen.add(id(held))
                waiting.append(held)
    return {name: (counts[name], size) for name, size in sizes.most_common()}


def _title(kind: type) -> str:
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__


def main(out: Path, arguments: list[str]) -> None:
    def write(*_: object) -> None:
        draft = out.with_suffix(".draft")
        draft.write_text(json.dumps(count()))
        os.replace(draft, out)

    signal.signal(signal.SIGUSR1, write)
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[3:])
