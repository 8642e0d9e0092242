"""Spark's own Kafka connector, from Maven Central: the newest release whose parts are all there."""

from __future__ import annotations

import subprocess
from pathlib import Path

POM = Path(__file__).parent / "spark" / "pom.xml"


def fetch(folder: Path) -> str:
    """Its jars, as `spark.jars` takes them."""
    command = ["mvn", "-q", "-f", str(POM), "dependency:copy-dependencies"]
    subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True, timeout=300)
    return ",".join(map(str, sorted(folder.glob("*.jar"))))
