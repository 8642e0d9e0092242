"""The page about the SDK tells of all that it raises."""

from __future__ import annotations

from pathlib import Path

from penstock.sdk import PLACES

PAGE = (Path(__file__).parents[2] / "docs" / "sdk.md").read_text()


def test_every_exception_is_described() -> None:
    names = [name for name, place in PLACES.items() if place == "errors"]
    for name in names:
        assert f"| {name} |" in PAGE or name == "PenstockError"
