"""`penstock group`: look at consumer groups and share groups, move them, change and delete them."""

from __future__ import annotations

import click

from penstock.cli.group_delete import delete
from penstock.cli.group_describe import describe
from penstock.cli.group_members import members
from penstock.cli.group_reset import reset
from penstock.cli.options import (
    changed_settings,
    cluster_options,
    connect,
    group_argument,
    json_option,
    set_option,
    unset_option,
)
from penstock.cli.output import changes_text, emit_json, emit_table
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.consumer.phases import GroupState

_STATES = list(dict.fromkeys(state.value for state in (*Phase, *GroupState)))
_KINDS = ["classic", "consumer", "share"]


@click.group("group")
def command() -> None:
    """Work with consumer groups and share groups."""


@command.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    help="Only groups in this state.",
)
@click.option(
    "--type",
    "kinds",
    multiple=True,
    type=click.Choice(_KINDS, case_sensitive=False),
    help="Only groups of this type.",
)
@json_option
@cluster_options
def list_all(
    states: tuple[str, ...],
    kinds: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """List groups, and the brokers that look after them."""
    from penstock.client.group_listing import list_groups, member_counts  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        found = list_groups(client, states, kinds)
        counts = member_counts(client, found)
    rows = [
        (each.name, each.kind, each.state, counts.get(each.name), each.coordinator)
        for each in found
    ]
    heads = ("group", "type", "state", "members", "coordinator")
    if as_json:
        emit_json([dict(zip(heads, row, strict=True)) for row in rows])
    elif rows:
        emit_table(heads, rows)
    elif states or kinds:
        click.echo("there are no such groups; `penstock group list` shows all", err=True)
    else:
        click.echo("there are no groups; a consumer with a group.id makes one", err=True)


command.add_command(describe)
command.add_command(members)
command.add_command(reset)
command.add_command(delete)


@command.command("config")
@group_argument
@set_option
@unset_option
@json_option
@cluster_options
def config(
    group: str,
    settings: dict[str, str],
    unset: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Show the settings of GROUP, or change them; it need not be there yet."""
    from penstock.client.admin import alter_group, group_configs  # noqa: PLC0415

    changes = changed_settings(settings, unset)
    with connect(bootstrap, timeout_s) as client:
        if changes:
            alter_group(client, group, changes)
        found = {} if changes else group_configs(client, group)
    if changes and as_json:
        emit_json({"group": group, "set": settings, "unset": unset})
    elif changes:
        click.echo(f"changed group {group}: {', '.join(changes_text(changes))}")
    elif as_json:
        configs = {
            name: {"value": each.value, "source": each.source} for name, each in found.items()
        }
        emit_json({"group": group, "configs": configs})
    else:
        rows = [(name, each.value, each.source) for name, each in sorted(found.items())]
        emit_table(("setting", "value", "set by"), rows)
