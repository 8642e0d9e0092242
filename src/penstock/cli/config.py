"""`penstock config`: a settings file looked over, shown, begun."""

from __future__ import annotations

import sys

import click

from penstock.cli.options import json_option, set_option
from penstock.cli.output import counted, emit_json, emit_table


@click.group("config")
def command() -> None:
    """Look at a broker's settings and its file of them."""


@command.command("check")
@click.argument("file")
@json_option
@click.pass_context
def check(ctx: click.Context, file: str, as_json: bool) -> None:
    """Say everything that is wrong with a settings FILE; `-` is standard input."""
    from penstock import config_file  # noqa: PLC0415

    if file == "-":
        file = "standard input"
        texts = config_file.parse_bytes(sys.stdin.buffer.read(), file)
    else:
        texts = config_file.parse(file)
    wrong = config_file.problems(texts)
    if as_json:
        emit_json({"file": file, "ok": not wrong, "settings": len(texts), "problems": wrong})
    elif wrong:
        for each in wrong:
            click.echo(f"{file}: {each}", err=True)
    else:
        click.echo(f"{file}: ok, {counted(len(texts), 'setting')}")
    ctx.exit(1 if wrong else 0)


@command.command("show")
@click.option("--config", "config_path", metavar="FILE", help="Settings in TOML.")
@set_option
@json_option
def show(config_path: str | None, settings: dict[str, str], as_json: bool) -> None:
    """Print every setting, the value in effect, and where that comes from."""
    from penstock import config_file  # noqa: PLC0415

    if wrong := config_file.problems(settings):
        raise click.UsageError("; ".join(wrong))
    from_file = config_file.read(config_path) if config_path else {}
    rows = []
    for name, declared in config_file.KNOWN.items():
        source = "flag" if name in settings else "file" if name in from_file else "default"
        text = {**from_file, **settings}.get(name)
        value = declared.default if text is None else declared.parse(text)
        shown = "(hidden)" if declared.secret and text else declared.show(value)
        rows.append((name, shown, source))
    if as_json:
        emit_json({name: {"value": value, "source": source} for name, value, source in rows})
    else:
        emit_table(("setting", "value", "from"), rows)


@command.command("sample")
@json_option
def sample(as_json: bool) -> None:
    """Print a settings file with every setting, its meaning and its default.

    With --json it is an object of settings by name, each with `default`, `limits` and `doc`.
    """
    from penstock import config_file  # noqa: PLC0415

    if as_json:
        emit_json(config_file.sample_values())
    else:
        click.echo(config_file.sample(), nl=False)
