"""Everything that the docs show runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess

from penstock import Producer
from penstock.sdk import PLACES

PAGE = (Path(__file__).parents[2] / "docs" / "sdk.md").read_text()
SNIPPETS = dict(
    re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
)
SNIPPETS["At the top"] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.mark.parametrize("title", sorted(SNIPPETS))
def test_a_snippet_runs(
    broker: BrokerProcess, topic: str, title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Producer(broker.address) as producer:
        producer.send(topic, '"a book"', key="anna").result(30)
    code = SNIPPETS[title].replace("127.0.0.1:9092", broker.address).replace("orders", topic)
    code = code.replace('group="', f'idle_timeout=2.0, group="{topic}-')
    exec(compile(code, title, "exec"), {"__name__": "snippet"})
    if "print(" in code:
        assert capsys.readouterr().out


def test_all_snippets_were_found() -> None:
    assert len(SNIPPETS) == PAGE.count("```python")


def test_every_exception_is_described() -> None:
    names = [name for name, place in PLACES.items() if place == "errors"]
    for name in names:
        assert f"| {name} |" in PAGE or name == "PenstockError"
