"""A cluster on this machine: one child process per broker, started again when it dies.

What is running stands in `cluster.json` in its folder, for `cluster status` and `cluster down`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from penstock.client.cluster import WireClient
from penstock.errors import Unusable

STATE_FILE = "cluster.json"
READY_S_MAX = 60
STOP_S_MAX = 30
RESTART_PAUSE_S = 1.0
LOOK_S = 0.1
READY = "penstock ready: broker "
START_TICKS = 19
"""The 22nd field of a process's stat: two come before those that `_stat` gives."""


class Member(msgspec.Struct):
    node_id: int
    port: int
    pid: int
    born: str = ""
    """Which process of this id it is: ids are used again, and after a reboot soon."""


class State(msgspec.Struct):
    pid: int
    """Of the process that looks after the brokers."""
    store: str
    brokers: list[Member]
    born: str = ""

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)


def read_state(folder: Path) -> State:
    try:
        return msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=State)
    except FileNotFoundError:
        raise Unusable(
            f"no cluster was started in {folder}; start one with "
            f"`penstock cluster up --data-dir {folder}`"
        ) from None
    except msgspec.DecodeError as problem:
        raise Unusable(f"{folder / STATE_FILE} cannot be read: {problem}") from None


def is_alive(pid: int, born: str = "") -> bool:
    """Whether it runs, and is the one that was born then, where that is known."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return not born or birth_of(pid) == born
    return not _is_zombie(pid) and (not born or birth_of(pid) == born)


def birth_of(pid: int) -> str:
    """When a process began, of which boot of the machine; empty where the system does not say."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {_stat(pid)[START_TICKS]}"
    return ""


def _stat(pid: int) -> list[str]:
    """After the name of the program, which may be anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _is_zombie(pid: int) -> bool:
    with suppress(OSError):
        return _stat(pid)[0] == "Z"
    return False


class LocalCluster:
    def __init__(
        self,
        folder: Path,
        brokers: int,
        base_port: int,
        store: str,
        settings: dict[str, str],
        tell: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self.store = store or f"sqlite:{folder / 'metadata.sqlite'}"
        self._settings = settings
        self._tell = tell
        self._ports = [base_port + number if base_port else 0 for number in range(brokers)]
        self._processes: list[subprocess.Popen[str] | None] = [None] * brokers
        self._is_stopping = False

    def start(self) -> None:
        """All brokers; returns when every one accepts clients, and knows of the others."""
        self._refuse_if_running()
        self.folder.mkdir(parents=True, exist_ok=True)
        for index in range(len(self._processes)):
            self._start(index)
            self._wait_ready(index)
        self._wait_known()
        self._write_state()

    def _wait_known(self) -> None:
        """Until each tells its clients of all: a topic may have as many replicas from then on."""
        ids = set(range(1, len(self._processes) + 1))
        give_up_s = time.monotonic() + READY_S_MAX
        for port in self._ports:
            with WireClient(f"127.0.0.1:{port}", timeout_s=READY_S_MAX) as client:
                while not client.metadata([]).brokers.keys() >= ids:
                    if time.monotonic() > give_up_s:
                        raise Unusable(
                            f"the brokers do not all know each other after {READY_S_MAX} s; their "
                            f"logs are in {self.folder}"
                        )
                    time.sleep(LOOK_S)

    def _refuse_if_running(self) -> None:
        with suppress(Unusable):
            brokers = read_state(self.folder).brokers
            running = [each for each in brokers if is_alive(each.pid, each.born)]
            if running:
                raise SystemExit(
                    f"penstock: a cluster is running in {self.folder}; stop it with "
                    f"`penstock cluster down --data-dir {self.folder}`"
                )

    def _start(self, index: int) -> None:
        node_id = index + 1
        command = [sys.executable, "-m", "penstock", "serve"]
        command += ["--listen", f"127.0.0.1:{self._ports[index]}", "--node-id", str(node_id)]
        command += ["--data-dir", str(self.folder / f"broker-{node_id}"), "--store", self.store]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        with open(self.folder / f"broker-{node_id}.log", "ab") as lines:
            self._processes[index] = subprocess.Popen(  # noqa: S603
                command,
                stdout=subprocess.PIPE,
                stderr=lines,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # Ctrl-C is for us, who stop them in order
            )

    def _wait_ready(self, index: int) -> None:
        process = self._processes[index]
        assert process is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith(READY):
            process.wait()
            path = self.folder / f"broker-{index + 1}.log"
            raise Unusable(f"broker {index + 1} did not start: {reason_in(path) or f'see {path}'}")
        self._ports[index] = int(line.rpartition(":")[2])
        self._tell(line.rstrip())

    def _write_state(self) -> None:
        members = [
            Member(index + 1, self._ports[index], process.pid, birth_of(process.pid))
            for index, process in enumerate(self._processes)
            if process is not None
        ]
        state = State(os.getpid(), self.store, members, birth_of(os.getpid()))
        path = self.folder / STATE_FILE
        path.with_suffix(".tmp").write_bytes(msgspec.json.encode(state))
        path.with_suffix(".tmp").replace(path)

    def run(self) -> None:
        """Until `stop` is called: a broker that dies is started again, after a pause."""
        while not self._is_stopping:
            time.sleep(LOOK_S)
            for index, process in enumerate(self._processes):
                if process is not None and process.poll() is not None and not self._is_stopping:
                    self._start_again(index, process.returncode)

    def _start_again(self, index: int, code: int) -> None:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._tell(f"broker {index + 1} has ended ({how}), and is started again")
        time.sleep(RESTART_PAUSE_S)
        if self._is_stopping:
            return
        self._start(index)
        try:
            self._wait_ready(index)
        except Unusable as problem:
            self._tell(str(problem))
        self._write_state()

    def stop(self) -> None:
        self._is_stopping = True

    def close(self) -> None:
        """One broker after the other, so that each can hand over what it leads."""
        for process in self._processes:
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(STOP_S_MAX)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._remove_state()

    def _remove_state(self) -> None:
        """Unless it is of another cluster, which was started in the same folder before this one."""
        with suppress(Unusable):
            if read_state(self.folder).pid == os.getpid():
                (self.folder / STATE_FILE).unlink(missing_ok=True)


def stop_cluster(state: State) -> Iterator[int]:
    """Ends it, first who would start brokers again; the ids of the brokers as they go."""
    _end(state.pid, state.born)
    for broker in state.brokers:
        _end(broker.pid, broker.born)
        yield broker.node_id


def _end(pid: int, born: str) -> None:
    """Unless it has ended already: another process may have its id by now."""
    if not is_alive(pid, born):
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    give_up_s = time.monotonic() + 2 * STOP_S_MAX
    while is_alive(pid, born):
        if time.monotonic() > give_up_s:
            raise Unusable(f"process {pid} does not stop; look at its log")
        time.sleep(LOOK_S / 2)


def reason_in(path: Path) -> str:
    """What the last line of a log says, if that is why its writer has given up."""
    lines = path.read_text(errors="replace").splitlines()
    last = lines[-1] if lines else ""
    for prefix in ("penstock: ", "Error: "):
        if last.startswith(prefix):
            return last.removeprefix(prefix)
    return ""
