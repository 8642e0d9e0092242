"""Code in the documentation that tests run.

A block of code counts if the line before it is `<!-- test -->`: then it is a piece of a script, and
all such pieces of a page are run one after the other, with the same names. With
`<!-- test: NAME -->` it is the file NAME of a project whose tests pytest runs.

Readers in the documentation read for ever; here they end when nothing has come for a while.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^<!-- test(?:: (\S+))? -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


IDLE_S = 1.0


class Snippet(NamedTuple):
    file: str
    """Empty for a piece of a script."""
    line: int
    text: str


def snippets(page: Path) -> list[Snippet]:
    whole = page.read_text()
    return [
        Snippet(found[1] or "", whole.count("\n", 0, found.start(2)), found[2])
        for found in _BLOCK.finditer(whole)
    ]


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def with_scripts() -> list[Path]:
    return [page for page in pages() if any(not each.file for each in snippets(page))]


def with_projects() -> list[Path]:
    return [page for page in pages() if any(each.file for each in snippets(page))]


def run_script(page: Path, address: str) -> None:
    """In the page's lines, so that a failure points there; at this address, not the usual one."""
    names: dict[str, object] = {"__name__": page.stem}
    for each in snippets(page):
        if not each.file:
            text = "\n" * each.line + each.text.replace("127.0.0.1:9092", address)
            text = text.replace('group="', f'idle_timeout={IDLE_S}, group="')
            with redirect_stdout(io.StringIO()) as printed:
                exec(compile(text, str(page), "exec"), names)
            if "print(" in text:
                assert printed.getvalue(), f"{page}:{each.line}: it prints nothing"
