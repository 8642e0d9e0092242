"""The command line as a function: arguments in, exit code and output back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from click.testing import CliRunner, Result
from tests.broker_process import BrokerProcess

from penstock.cli.main import main


class Penstock(Protocol):
    def __call__(self, *arguments: str, stdin: str | bytes | None = None) -> Result: ...


def run(address: str, *arguments: str, stdin: str | bytes | None = None) -> Result:
    """Whatever a user does, no traceback."""
    runner = CliRunner(env={"PENSTOCK_BOOTSTRAP": address})
    result = runner.invoke(main, arguments, input=stdin, prog_name="penstock")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def penstock(broker: BrokerProcess) -> Penstock:
    """Runs a command against the shared broker."""

    def call(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return run(broker.address, *arguments, stdin=stdin)

    return call


@pytest.fixture
def offline() -> Penstock:
    """Runs a command where no broker is."""

    def call(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return run("127.0.0.1:1", *arguments, stdin=stdin)

    return call


@pytest.fixture
def lines(penstock: Penstock) -> Callable[..., list[str]]:
    """Runs a command that must succeed; what it printed, line by line."""

    def call(*arguments: str, stdin: str | bytes | None = None) -> list[str]:
        result = penstock(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout.splitlines()

    return call


@pytest.fixture
def broker_data(broker: BrokerProcess) -> Path:
    """Where the shared broker keeps its logs."""
    return broker.data_dir
