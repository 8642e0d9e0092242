"""`penstock backup`: what the cluster is, kept in a file, and put back from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from penstock import __version__
from penstock.cli.options import confirm, json_option, set_option, yes_option
from penstock.cli.output import counted, emit_json, time_text

if TYPE_CHECKING:
    from penstock.config import BrokerConfig
    from penstock.metadata.backup_file import Backup
    from penstock.metadata.image import Image

F = TypeVar("F", bound=Callable[..., Any])

file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


class Where(NamedTuple):
    """The store that is meant, told as a broker is."""

    config: BrokerConfig
    config_path: str | None
    url: str


def store_options(command: F) -> Callable[..., Any]:
    """--config, --store, --data-dir and --set, which the command gets as a `Where`."""

    @wraps(command)
    def located(
        config_path: str | None,
        store: str | None,
        data_dir: str | None,
        settings: dict[str, str],
        **rest: Any,
    ) -> Any:
        from penstock.cli.backup_store import broker_config, store_url  # noqa: PLC0415
        from penstock.cli.serve import gather  # noqa: PLC0415

        texts = gather(config_path, settings, {"store": store, "data_dir": data_dir})
        config = broker_config(texts)
        return command(where=Where(config, config_path, store_url(config)), **rest)

    options = (
        click.option("--config", "config_path", metavar="FILE", help="A broker's settings."),
        click.option("--store", metavar="URL", help="sqlite:, etcd: or zookeeper:"),
        click.option("--data-dir", metavar="DIR", help="Of a broker that has the store in it."),
        set_option,
    )
    for option in reversed(options):
        option(located)
    return located


@click.group("backup")
def command() -> None:
    """Keep the cluster's metadata in a file, and put it back.

    That is topics, partitions, members, settings and the cluster's secret, and not the records:
    those are in the brokers' data folders, which a restored store goes on with.
    """


@command.command("create")
@file_argument
@store_options
@json_option
def create(file: Path, where: Where, as_json: bool) -> None:
    """Write what is in the store to FILE, with the settings file if --config names one.

    Brokers may run meanwhile: all of it is of one moment. The file holds the cluster's secret, and
    only its owner can read it. An older backup of that name is replaced once the new one is whole.
    """
    from penstock.cli.backup_file import refuse_other_file, write_secret  # noqa: PLC0415
    from penstock.cli.backup_store import read_store, run  # noqa: PLC0415
    from penstock.metadata.backup_file import Backup, Head, encode_backup  # noqa: PLC0415

    refuse_other_file(file)
    entries, revision, image = run(read_store(where.config))
    head = Head(
        penstock=__version__,
        created=_now(),
        cluster_id=image.cluster_id,
        revision=revision,
        records=len(entries),
        config=Path(where.config_path).read_bytes().decode() if where.config_path else None,
    )
    write_secret(file, encode_backup(head, entries))
    _tell(file, Backup(head, entries), as_json, "written")


@command.command("show")
@file_argument
@json_option
def show(file: Path, as_json: bool) -> None:
    """Look a backup over: whether FILE is whole, and what is in it."""
    from penstock.cli.backup_file import read_backup  # noqa: PLC0415

    _tell(file, read_backup(file), as_json, "whole")


@command.command("restore")
@file_argument
@store_options
@click.option(
    "--config-to",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the settings file that the backup has.",
)
@click.option("--replace", is_flag=True, help="Overwrite the cluster that is there; asks first.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, 86_400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the leases of brokers that were killed.",
)
@yes_option
@json_option
def restore(
    file: Path,
    where: Where,
    config_to: Path | None,
    replace: bool,
    timeout_s: float,
    yes: bool,
    as_json: bool,
) -> None:
    """Put a backup into an empty store, of any kind, while no broker runs.

    Then start all brokers against it, with the data folders that they have. If it is cut short, run
    it again: until then no broker starts.
    """
    from penstock.cli.backup_file import read_backup, write_secret  # noqa: PLC0415
    from penstock.cli.backup_store import run, write_store  # noqa: PLC0415

    backup = read_backup(file)
    text = _config_text(backup, config_to)
    work = write_store(
        where.config,
        backup.entries,
        replace=replace,
        timeout_s=timeout_s,
        agree=lambda there: _agree(there, backup, where.url, yes),
    )
    run(work)
    if config_to is not None:
        write_secret(config_to, text.encode())
    _tell(file, backup, as_json, "restored", where.url)


def _config_text(backup: Backup, config_to: Path | None) -> str:
    if config_to is None:
        return ""
    if backup.head.config is None:
        raise click.ClickException("the backup has no settings file: leave --config-to out")
    if config_to.exists():
        raise click.ClickException(f"{config_to} is there already: name a new file")
    return backup.head.config


def _agree(there: Image, backup: Backup, url: str, yes: bool) -> None:
    from penstock.metadata.backup import summary  # noqa: PLC0415

    if there.cluster_id:
        known = _contents(summary(there))
        confirm(
            f"{url} has {known}. Overwrite that by cluster {backup.head.cluster_id} as it was at "
            f"{backup.head.created}?",
            yes,
        )


def _contents(found: dict[str, Any]) -> str:
    numbers = (
        counted(found["topics"], "topic"),
        counted(found["partitions"], "partition"),
        counted(len(found["brokers"]), "broker"),
    )
    return f"cluster {found['cluster_id']} with {', '.join(numbers)}"


def _tell(file: Path, backup: Backup, as_json: bool, what: str, store: str = "") -> None:
    from penstock.metadata.backup import image_of, summary  # noqa: PLC0415

    head, found = backup.head, summary(image_of(backup.entries))
    if as_json:
        rest = {"store": store} if store else {}
        emit_json(
            {
                "file": str(file),
                "created": head.created,
                "penstock": head.penstock,
                "revision": head.revision,
                "records": head.records,
                "has_config": head.config is not None,
                **found,
                **rest,
            }
        )
        return
    settings = ", and a settings file" if head.config is not None else ""
    where = f" to {store}" if store else ""
    click.echo(f"{file} is {what}{where}: {_contents(found)}{settings}, of {head.created}")


def _now() -> str:
    from penstock.world.real import RealClock  # noqa: PLC0415

    return time_text(RealClock().now_ms())
