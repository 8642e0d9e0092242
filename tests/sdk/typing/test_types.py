"""What users write passes a strict type checker, and their mistakes do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.snippets import ROOT, snippets

PROGRAM = Path(__file__).parent / "program.py"


def test_the_documentation_and_a_program_pass_a_strict_type_checker(tmp_path: Path) -> None:
    files = [PROGRAM]
    for page in ("sdk", "queues"):
        for each in snippets(ROOT / "docs" / f"{page}.md"):
            files.append(tmp_path / f"{page}_line_{each.line}.py")
            files[-1].write_text(each.text)
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"),
            *("--follow-imports=silent", "--cache-dir", str(ROOT / ".mypy_cache" / "users")),
            *map(str, files),
        ],
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout + checked.stderr == ""
    assert checked.returncode == 0
