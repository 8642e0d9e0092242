"""`penstock serve`: one broker, in the foreground."""

from __future__ import annotations

import gc
import os

import click

from penstock.cli.options import set_option
from penstock.config import BrokerConfig
from penstock.errors import Unusable

FLAGS = {
    "listen": "listeners",
    "advertise": "advertised.listeners",
    "data_dir": "log.dir",
    "node_id": "node.id",
    "store": "metadata.store",
}
"""Which setting a flag stands for."""


@click.command("serve")
@click.option("--config", "config_path", metavar="FILE", help="Settings in TOML.")
@click.option("--listen", metavar="HOST:PORT", help="Where to accept clients; port 0 is any.")
@click.option("--advertise", metavar="HOST:PORT", help="What clients are told to connect to.")
@click.option("--data-dir", metavar="DIR", help="Where data is kept; created if missing.")
@click.option("--node-id", metavar="N", help="This broker's number in the cluster.")
@click.option("--store", metavar="URL", help="Where metadata is kept: sqlite:, etcd: or zookeeper:")
@set_option
@click.pass_context
def command(
    ctx: click.Context, /, config_path: str | None, settings: dict[str, str], **flags: str | None
) -> None:
    """Run a broker until SIGTERM, SIGHUP or Ctrl-C.

    It prints `penstock ready: broker N at HOST:PORT` once it accepts clients. Flags win over --set,
    and --set over the file.
    """
    texts = gather(config_path, settings, flags)
    make_folder(texts.get("log.dir", BrokerConfig().data_dir).strip())
    gc.disable()  # imports make no garbage, and looking for it takes a tenth of the time to start
    from penstock.node.run import serve  # noqa: PLC0415

    ctx.exit(serve(texts))


def gather(
    config_path: str | None, settings: dict[str, str], flags: dict[str, str | None]
) -> dict[str, str]:
    """All texts by setting name, checked: a broker does not start with half of them wrong."""
    from penstock import config_file  # noqa: PLC0415

    given = {FLAGS[flag]: text for flag, text in flags.items() if text is not None}
    if wrong := config_file.problems({**settings, **given}):
        raise click.UsageError("; ".join(wrong))
    texts = config_file.read(config_path) if config_path else {}
    return {**texts, **settings, **given}


def make_folder(path: str) -> None:
    """The data folder, or Unusable with what to do: a bare errno says too little."""
    try:
        os.makedirs(path, exist_ok=True)
        problem = "" if os.access(path, os.R_OK | os.W_OK | os.X_OK) else "Permission denied"
    except FileExistsError:
        problem = "it is a file"
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    if problem:
        raise Unusable(
            f"cannot keep data in {path!r} ({problem}); "
            "name a folder that can be written to with --data-dir"
        )
