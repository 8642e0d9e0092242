"""`python -m penstock.sim`: play scenarios from many seeds, and say how to play a failure again."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from penstock.sim.run import Result, play
from penstock.sim.scenarios import SCENARIOS, settled
from penstock.sim.trace import Trace

FINDINGS_SHOWN = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every run went as it must, else 1."""
    wanted = _parser().parse_args(arguments)
    names = [wanted.scenario] if wanted.scenario else [*settled()]
    gc.freeze()  # what is there now stays: the runs need not look at it
    results: list[Result] = []
    failures = 0
    for name in names:
        for seed in range(wanted.first, wanted.first + wanted.seeds):
            trace = Trace() if wanted.trace else None
            results.append(play(name, seed, trace, brokers=wanted.brokers))
            if trace is not None:
                _say(*trace.last)
            if results[-1].findings:
                failures += 1
                _tell(name, wanted.brokers, results[-1])
    _sum_up(results, failures)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m penstock.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many runs of each scenario")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--brokers", type=int, default=1, help="in the cluster")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), help="only this one")
    parser.add_argument("--trace", action="store_true", help="show the last steps of each run")
    return parser


def _tell(name: str, brokers: int, result: Result) -> None:
    _say(f"{name}: seed {result.seed} failed")
    _say(*(f"  {finding}" for finding in result.findings[:FINDINGS_SHOWN]))
    if len(result.findings) > FINDINGS_SHOWN:
        _say(f"  and {len(result.findings) - FINDINGS_SHOWN} more")
    again = f"--scenario {name} --brokers {brokers} --first {result.seed} --seeds 1 --trace"
    _say(f"  again: python -m penstock.sim {again}")


def _sum_up(results: Sequence[Result], failures: int) -> None:
    cpu_s = sum(each.cpu_s for each in results) or 1e-9
    callbacks, virtual_s = (
        sum(each.callbacks for each in results),
        sum(e.virtual_s for e in results),
    )
    _say(
        f"{len(results)} runs, {failures} failed; {sum(e.sent for e in results)} values sent, "
        f"{virtual_s:.0f} virtual seconds in {cpu_s:.1f} CPU seconds "
        f"({len(results) / cpu_s:.1f} runs/s, {callbacks / cpu_s:.0f} callbacks/s)"
    )


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _with_fixed_hashes() -> None:
    """Starts over where the order of sets of strings would differ from one process to the next."""
    if sys.flags.hash_randomization and "PYTHONHASHSEED" not in os.environ:
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "penstock.sim", *sys.argv[1:]]
        os.execve(sys.executable, command, environment)  # noqa: S606


if __name__ == "__main__":
    _with_fixed_hashes()
    sys.exit(main())
