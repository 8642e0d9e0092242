"""Options that several commands take, spelled the same everywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from penstock.client.cluster import WireClient

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
_COMPLETION_S = 1.0


def _addresses(ctx: click.Context, param: click.Parameter, given: str) -> str:
    from penstock.client.connection import parse_addresses  # noqa: PLC0415
    from penstock.client.errors import ClientError  # noqa: PLC0415

    if ctx.resilient_parsing:
        return given
    try:
        parse_addresses(given)
    except ClientError as error:
        raise click.BadParameter(str(error)) from None
    return given


def cluster_options(command: F) -> F:
    """--bootstrap and --timeout; `connect` makes a client of them."""
    command = click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(0.1, 86_400),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait, and to try again, before giving up.",
    )(command)
    return click.option(
        "--bootstrap",
        default=DEFAULT_BOOTSTRAP,
        envvar="PENSTOCK_BOOTSTRAP",
        show_default=True,
        show_envvar=True,
        metavar="HOST:PORT,...",
        callback=_addresses,
        help="Where to find the cluster: one or several of its brokers.",
    )(command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

yes_option = click.option("--yes", "-y", is_flag=True, help="Do it without asking.")

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda ctx, param, given: dict(pairs(given)),
    help="A setting; may be given several times.",
)

unset_option = click.option("--unset", multiple=True, metavar="KEY", help="Back to the default.")


def topic_argument(command: F) -> F:
    return click.argument("topic", shell_complete=complete_topic)(command)


def group_argument(command: F) -> F:
    return click.argument("group", shell_complete=complete_group)(command)


def connect(bootstrap: str, timeout_s: float) -> WireClient:
    from penstock.client.cluster import WireClient  # noqa: PLC0415

    return WireClient(bootstrap, client_id="penstock-cli", timeout_s=timeout_s)


def pairs(given: tuple[str, ...]) -> list[tuple[str, str]]:
    """KEY=VALUE, KEY=VALUE; a key may come twice."""
    found = []
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{item!r} is not KEY=VALUE")
        found.append((key.strip(), value))
    return found


def confirm(question: str, yes: bool) -> None:
    """Asks whoever sits at the terminal. Where nobody does, only --yes counts."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask at: give --yes to do it")
    if not click.confirm(question, err=True):
        raise click.ClickException("nothing was done")


def changed_settings(settings: dict[str, str], unset: tuple[str, ...]) -> dict[str, str | None]:
    """What --set and --unset ask for: None for what is to be taken back."""
    if twice := set(unset) & set(settings):
        raise click.UsageError(f"{', '.join(sorted(twice))}: either --set or --unset")
    return {**settings, **dict.fromkeys(unset)}


def complete_topic(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of topics for the shell."""
    return _complete(ctx, incomplete, lambda client: client.metadata().topics)


def complete_group(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of groups for the shell."""
    from penstock.client.group_listing import list_groups  # noqa: PLC0415

    return _complete(ctx, incomplete, lambda client: (each.name for each in list_groups(client)))


def _complete(
    ctx: click.Context, incomplete: str, names: Callable[[WireClient], Iterable[str]]
) -> list[CompletionItem]:
    """None if no broker answers at once."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    from penstock.client.errors import ClientError  # noqa: PLC0415

    bootstrap = ctx.params.get("bootstrap") or DEFAULT_BOOTSTRAP
    try:
        with connect(bootstrap, _COMPLETION_S) as client:
            known = sorted(names(client))
    except ClientError:
        return []
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
