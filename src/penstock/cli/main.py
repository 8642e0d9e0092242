"""`penstock`: the commands, loaded when they are asked for, and the way their failures are told."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from penstock import __version__
from penstock.cli.output import plain
from penstock.client.errors import ClientError
from penstock.errors import Malformed, Refused, Unusable

COMMANDS = {
    "serve": "penstock.cli.serve",
    "topic": "penstock.cli.topic",
    "produce": "penstock.cli.produce",
    "consume": "penstock.cli.consume",
    "group": "penstock.cli.group",
    "queue": "penstock.cli.queue",
    "view": "penstock.cli.view",
    "schedule": "penstock.cli.schedule",
    "txn": "penstock.cli.txn",
    "pipeline": "penstock.cli.pipeline",
    "log": "penstock.cli.log",
    "cluster": "penstock.cli.cluster",
    "broker": "penstock.cli.broker",
    "config": "penstock.cli.config",
    "backup": "penstock.cli.backup",
    "doctor": "penstock.cli.doctor",
}
"""By name: the module whose `command` it is."""


class Misused(click.ClickException):
    """A usage error in one line: click would print three."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        path = error.ctx.command_path if error.ctx else "penstock"
        super().__init__(f"{error.format_message().rstrip('.')}; `{path} --help` tells more")


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and args[0] not in COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else "`penstock --help` lists them"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise Misused(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """A user's mistake or a broken connection is one line on standard error; exit code 1."""
        try:
            return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise Misused(error) from None
        except click.ClickException as error:
            raise click.ClickException(plain(error.format_message(), but_for="\n")) from None
        except BrokenPipeError:
            leave_closed_pipe()
            ctx.exit(0)
        except (ClientError, Unusable, Refused, Malformed) as error:
            raise click.ClickException(plain(str(error), but_for="\n")) from None
        except UnicodeEncodeError:
            raise click.ClickException("what was given is not UTF-8 text; spell it so") from None
        except OSError as error:
            about = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{about}{error.strerror or error}") from None


def leave_closed_pipe() -> None:
    """Whoever read our output has enough; the interpreter would complain when it flushes."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.close(nowhere)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="penstock", message="%(prog)s %(version)s")
def main() -> None:
    """A distributed message queue that speaks the Apache Kafka wire protocol."""
