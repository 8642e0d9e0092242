"""`python -m penstock.sim`: play scenarios from many seeds, and say how to play a failure again."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence

from penstock.sim.run import Result, play
from penstock.sim.scenarios import SCENARIOS
from penstock.sim.trace import Trace

FINDINGS_SHOWN = 50
USUAL_BROKERS = (1, 3)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every run went as it must, else 1."""
    wanted = _parser().parse_args(arguments)
    names = [wanted.scenario] if wanted.scenario else [*SCENARIOS]
    gc.freeze()  # what is there now stays: the runs need not look at it
    failures, results = 0, []
    for name in names:
        for brokers in _sizes(name, wanted.brokers):
            played = [*_play_all(name, brokers, wanted)]
            failures += sum(bool(each.findings) for each in played)
            _sum_up(f"{name}, brokers {brokers}", played)
            results += played
    _sum_up("all", results)
    return 1 if failures else 0


def _sizes(name: str, asked: int | None) -> Sequence[int]:
    """A cluster's sizes: what was asked for, or the usual ones, but no less than it takes."""
    least = SCENARIOS[name].brokers_min
    if asked is not None:
        return (max(asked, least),)
    return [each for each in USUAL_BROKERS if each >= least] or (least,)


def _play_all(name: str, brokers: int, wanted: argparse.Namespace) -> Iterator[Result]:
    for seed in range(wanted.first, wanted.first + wanted.seeds):
        trace = Trace() if wanted.trace else None
        result = play(name, seed, trace, brokers=brokers)
        if trace is not None:
            _say(*trace.last)
        if result.findings:
            _tell(name, brokers, result)
        yield result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m penstock.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many runs of each scenario")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--brokers", type=int, help="in the cluster; 1 and 3 if not given")
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


def _sum_up(what: str, results: Sequence[Result]) -> None:
    failures = sum(bool(each.findings) for each in results)
    cpu_s = sum(each.cpu_s for each in results)
    virtual_s = sum(each.virtual_s for each in results)
    _say(
        f"{what}: {len(results)} runs, {failures} failed; "
        f"{sum(each.sent for each in results)} values sent, "
        f"{sum(each.commits for each in results)} offsets committed, "
        f"{sum(each.transactions for each in results)} transactions, "
        f"{virtual_s:.0f} virtual seconds; {cpu_s / max(len(results), 1):.2f} CPU seconds a run, "
        f"{max((each.cpu_s for each in results), default=0):.2f} at most"
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
