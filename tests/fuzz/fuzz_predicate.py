"""Any text as a predicate: refused at a place within it, or one that can be asked.

    python tests/fuzz/fuzz_predicate.py -atheris_runs=1000000
    python tests/fuzz/fuzz_predicate.py -max_total_time=60

Most texts are put together from words or from whole terms, or hardly anything would get past the
parser.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["penstock.predicate"]):
    from penstock.predicate.predicate import Predicate, parse
    from penstock.predicate.pruning import MANY, HeaderValues, Summary
    from penstock.predicate.refusal import BadPredicate

WORDS = [
    *("and", "or", "not", "in", "like", "is", "null", "between", "key", "timestamp"),
    *("(", ")", ",", "=", "!=", "<>", "<", "<=", ">", ">="),
    *("a", '"a b"', "tier", "'eu'", "'%e_'", r"'\%'", "''", "'2026-11-16'", "0.10", "-5", "7"),
]
TERMS = [
    *("a = 'eu'", "a <> 7", "a not in ('e', -5, '')", "tier is null", "tier not like '%e_%'"),
    *("tier between 'e' and 7", "key like '_%'", "key < 0.10", "\"a b\" >= '\xff'"),
    *("timestamp > 0", "timestamp not between -5 and 1000", "timestamp in (1, '2026-11-16')"),
]
JOINTS = [" and ", " or ", " and not ", " or not (", ") and ", ") or ", " and ("]
VALUES = [None, b"", b"eu", b"e", b"7", b"0.1", b"-5.0", b"\xff", b"%"]


def text_from(provider: atheris.FuzzedDataProvider) -> str:
    kind = provider.ConsumeIntInRange(0, 2)
    if kind == 0:
        return str(provider.ConsumeUnicode(provider.ConsumeIntInRange(0, 5000)))
    count = provider.ConsumeIntInRange(0, 30)
    if kind == 1:
        return " ".join(provider.PickValueInList(WORDS) for _ in range(count))
    text = str(provider.PickValueInList(TERMS))
    for _ in range(count):
        text += provider.PickValueInList(JOINTS) + provider.PickValueInList(TERMS)
    opened = max(0, text.count("(") - text.count(")"))
    return text + ")" * opened


def ask(predicate: Predicate, provider: atheris.FuzzedDataProvider) -> None:
    """All that is told of one record must fit together."""
    key = provider.PickValueInList(VALUES)
    timestamp = provider.ConsumeInt(8)
    values = tuple(provider.PickValueInList(VALUES) for _ in predicate.names)
    verdict = predicate.judge(key, timestamp, values)
    assert predicate.settle(values) in (verdict, None)
    again = parse(predicate.text)
    assert again.text == predicate.text
    assert again.judge(key, timestamp, values) == verdict
    seen: dict[bytes, HeaderValues] = {
        name: MANY if provider.ConsumeBool() else (value, provider.PickValueInList(VALUES))
        for name, value in zip(predicate.names, values, strict=True)
    }
    summary = Summary(timestamp, max(timestamp, provider.ConsumeInt(8)), seen)
    assert predicate.may_match(summary) or not verdict


def parsed(text: str) -> Predicate | BadPredicate:
    try:
        return parse(text)
    except BadPredicate as error:
        return error


def fuzz(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    text = text_from(provider)
    found = parsed(text)
    if isinstance(found, BadPredicate):
        assert 0 <= found.at <= len(text)
        assert str(found).startswith(found.message)
    else:
        ask(found, provider)


def main() -> None:
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
