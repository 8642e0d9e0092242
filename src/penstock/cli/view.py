"""`penstock view`: topics to read that show a part of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, confirm, connect, json_option, yes_option
from penstock.cli.output import counted, emit_json, emit_table, plain

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.metadata import Topic

OF, WHERE = "view.of", "view.where"


@click.group("view")
def command() -> None:
    """Work with views: what matches of a topic, read like a topic."""


@command.command("create")
@click.argument("name")
@click.option("--of", "source", required=True, metavar="TOPIC", help="The topic to show a part of.")
@click.option(
    "--where",
    required=True,
    metavar="PREDICATE",
    help="Which records, by key, timestamp and headers: \"region = 'eu' and tier in ('gold')\".",
)
@json_option
@cluster_options
def create(
    name: str, source: str, where: str, as_json: bool, bootstrap: str, timeout_s: float
) -> None:
    """Make the view NAME."""
    from penstock.client.admin import create_topic  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        create_topic(client, name, configs={OF: source, WHERE: where})
        made = client.retry(lambda deadline: client.topic(name, deadline=deadline))
    if as_json:
        emit_json(_document(made, where))
    else:
        parts = counted(len(made.partitions), "partition")
        click.echo(f"created view {name} of {source}: {parts}")


@command.command("list")
@json_option
@cluster_options
def list_views(as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """List views."""
    with connect(bootstrap, timeout_s) as client:
        found = [each for each in client.metadata().topics.values() if each.view_of]
        views = [(each, _where(client, each.name)) for each in sorted(found, key=lambda t: t.name)]
    if as_json:
        emit_json([_document(view, where) for view, where in views])
    elif views:
        rows = [(view.name, view.view_of, where) for view, where in views]
        emit_table(("view", "of", "where"), rows)
    else:
        click.echo("there are no views; make one with `penstock view create`", err=True)


@command.command("describe")
@click.argument("name")
@json_option
@cluster_options
def describe(name: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Tell what the view NAME shows."""
    with connect(bootstrap, timeout_s) as client:
        view = _view(client, name)
        where = _where(client, name)
    if as_json:
        emit_json(_document(view, where))
        return
    click.echo(f"view {view.name} of {view.view_of}: {counted(len(view.partitions), 'partition')}")
    click.echo(f"where {plain(where)}")


@command.command("delete")
@click.argument("name")
@yes_option
@json_option
@cluster_options
def delete(name: str, yes: bool, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Delete the view NAME. Its topic stays as it is."""
    from penstock.client.admin import delete_topic  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        view = _view(client, name)
        confirm(f"Delete view {name}? The records stay in {view.view_of}.", yes)
        delete_topic(client, name)
    if as_json:
        emit_json({"view": name, "deleted": True})
    else:
        click.echo(f"deleted view {name}")


def _view(client: WireClient, name: str) -> Topic:
    found = client.topic(name)
    if not found.view_of:
        raise click.UsageError(f"{name} is a topic, and no view of one; see `penstock topic`")
    return found


def _where(client: WireClient, name: str) -> str:
    from penstock.client.admin import topic_configs  # noqa: PLC0415

    return topic_configs(client, name)[WHERE].value or ""


def _document(view: Topic, where: str) -> dict[str, object]:
    return {
        "view": view.name,
        "of": view.view_of,
        "where": where,
        "partitions": len(view.partitions),
    }
