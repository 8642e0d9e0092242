"""`penstock doctor`: whether a broker would do well on this machine."""

from __future__ import annotations

import click

from penstock.cli.options import json_option, set_option
from penstock.cli.output import emit_json, emit_table
from penstock.cli.serve import gather


@click.command("doctor")
@click.option("--config", "config_path", metavar="FILE", help="Settings in TOML.")
@click.option("--data-dir", metavar="DIR", help="The broker's folder.")
@click.option("--store", metavar="URL", help="Where metadata is kept: sqlite:, etcd: or zookeeper:")
@set_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    config_path: str | None,
    data_dir: str | None,
    store: str | None,
    settings: dict[str, str],
    as_json: bool,
) -> None:
    """Look over this machine for a broker with these settings, as `serve` takes them.

    Nothing is changed. The exit code is 1 if something will not do. What is poor will do, at a
    price.
    """
    from penstock.node import settings as node_settings  # noqa: PLC0415
    from penstock.node.checkup import BAD, look_over  # noqa: PLC0415

    texts = gather(config_path, settings, {"data_dir": data_dir, "store": store})
    findings = list(look_over(node_settings.read(texts)))
    if as_json:
        emit_json([each._asdict() for each in findings])
    else:
        emit_table(("what", "verdict", "found"), findings)
    ctx.exit(int(any(each.verdict == BAD for each in findings)))
