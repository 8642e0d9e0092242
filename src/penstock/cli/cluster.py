"""`penstock cluster`: several brokers on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click

from penstock import config_file
from penstock.cli.local_cluster import (
    READY_S_MAX,
    LocalCluster,
    State,
    is_alive,
    read_state,
    reason_in,
    stop_cluster,
)
from penstock.cli.options import json_option, set_option
from penstock.cli.output import emit_json, emit_table
from penstock.errors import Unusable

DEFAULT_FOLDER = "penstock-cluster"
PORT = 9092

folder_option = click.option(
    "--data-dir",
    metavar="DIR",
    default=DEFAULT_FOLDER,
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the brokers keep their data and logs.",
)


@click.group("cluster")
def command() -> None:
    """A cluster of brokers on this machine."""


@command.command("up")
@click.option("--brokers", metavar="N", type=click.IntRange(1, 99), default=3, show_default=True)
@folder_option
@click.option(
    "--base-port",
    metavar="P",
    type=click.IntRange(0, 65_000),
    default=PORT,
    show_default=True,
    help="The first broker's port; the others have those after it. 0: any that are free.",
)
@click.option("--store", metavar="URL", default="", help="By default an SQLite file in DIR.")
@click.option("--detach", is_flag=True, help="Go on in the background.")
@set_option
def up(
    brokers: int,
    data_dir: Path,
    base_port: int,
    store: str,
    detach: bool,
    settings: dict[str, str],
) -> None:
    """Start brokers 1 to N, and start each again when it dies, until Ctrl-C."""
    if wrong := config_file.problems(settings):
        raise click.UsageError("; ".join(wrong))
    if detach:
        _detach(data_dir)
        return
    cluster = LocalCluster(data_dir, brokers, base_port, store, settings, click.echo)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: cluster.stop())
    try:
        cluster.start()
        click.echo(f"penstock cluster ready: {read_state(data_dir).bootstrap}")
        sys.stdout.flush()
        cluster.run()
    finally:
        cluster.close()


def _detach(folder: Path) -> None:
    """The same command without --detach, in a session of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [each for each in sys.argv[1:] if each != "--detach"]
    with open(folder / "cluster.log", "ab") as lines:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "penstock", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
            start_new_session=True,
        )
    give_up_s = time.monotonic() + READY_S_MAX
    while time.monotonic() < give_up_s and process.poll() is None:
        state = _state_of(folder, process.pid)
        if state is not None:
            click.echo(f"penstock cluster ready: {state.bootstrap}")
            return
        time.sleep(0.05)
    reason = reason_in(folder / "cluster.log")
    raise Unusable(reason or f"the cluster did not start; {folder / 'cluster.log'} may say why")


def _state_of(folder: Path, pid: int) -> State | None:
    try:
        state = read_state(folder)
    except Unusable:
        return None
    return state if state.pid == pid else None


@command.command("status")
@folder_option
@json_option
def status(data_dir: Path, as_json: bool) -> None:
    """Which brokers run, and where."""
    state = read_state(data_dir)
    is_watched = is_alive(state.pid, state.born)
    rows = [
        {
            "broker": each.node_id,
            "address": f"127.0.0.1:{each.port}",
            "pid": each.pid,
            "state": "running" if is_alive(each.pid, each.born) else "down",
        }
        for each in state.brokers
    ]
    if as_json:
        shown = {"store": state.store, "bootstrap": state.bootstrap, "watched": is_watched}
        emit_json(shown | {"brokers": rows})
    else:
        emit_table(("broker", "address", "pid", "state"), [list(row.values()) for row in rows])
    if not is_watched:
        click.echo(
            "nobody starts brokers again that die, as the process that did is gone: "
            f"`penstock cluster down --data-dir {data_dir}`, and `cluster up` again",
            err=True,
        )
    if not is_watched or any(row["state"] == "down" for row in rows):
        raise click.exceptions.Exit(1)


@command.command("down")
@folder_option
def down(data_dir: Path) -> None:
    """Stop the cluster, each broker cleanly. Its data stays."""
    state = read_state(data_dir)
    if state.pid == os.getpid():
        raise Unusable("this is the cluster itself")
    for node_id in stop_cluster(state):
        click.echo(f"broker {node_id} has stopped")
    (data_dir / "cluster.json").unlink(missing_ok=True)
