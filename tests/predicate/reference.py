"""Predicates drawn at random, as plain tuples; their text; and what they mean, told the slow way.

Nothing here uses the code under test. A leaf is (operand, operator, negated, literals); operands
are `KEY`, `TIMESTAMP` or a header's name. A literal is a text, a number as (written, Fraction),
or, for timestamps, (written, milliseconds). Nodes are ("not", node), ("and", nodes) and
("or", nodes).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import strategies as st

KEY, TIMESTAMP = object(), object()
NAMES = ("region", "tier", "key", "a b", 'quo"te', "größe", "x-y.z_1", "And")
BARE = {"region", "tier", "x-y.z_1"}
SIGNS = ("=", "!=", "<>", "<", "<=", ">", ">=")
NOON_MS = 1_794_830_400_000  # 2026-11-16T12:00:00Z

Leaf = tuple[Any, str, bool, list[Any]]

texts = st.sampled_from(["", "eu", "us", "e", "5", "5.0", "ü", "it's", "%", "a_b", "\\"])
numbers = st.sampled_from(["5", "+5", "-5", "5.0", "0.1", "0.10", "-0", "0", "9007199254740993"])
literals = texts | numbers.map(lambda written: (written, Fraction(written)))
moments = st.integers(-3, 12).map(lambda ms: (str(ms), ms)) | st.integers(-3, 3).map(
    lambda ms: (f"'{shown(NOON_MS + ms)}'", NOON_MS + ms)
)
patterns = st.text("eu%_a\\ü", max_size=6).map(lambda text: text.replace("\\", "\\\\"))
wild_patterns = patterns | st.sampled_from(["%", "", "_", "e%", "%u", "%e%u%", r"\%", r"a\_b"])

values = st.none() | st.sampled_from(
    [
        *(b"", b"eu", b"us", b"e", b"eeu", b"%", b"it's", b"a_b", b"\\", b"u\xff", b"\xff"),
        *("ü".encode(), "eü".encode(), b"\xc3", b"5", b"+5", b"5.00", b"-0", b"0.1", b"-5"),
        *(b"9007199254740992", b"9007199254740993", b" 5", b"5 ", b"5e0", b"0" * 41),
    ]
)
timestamps = st.integers(-5, 15) | st.integers(NOON_MS - 5, NOON_MS + 5)
records = st.tuples(values, timestamps, st.fixed_dictionaries(dict.fromkeys(NAMES, values)))
chances = st.integers(0, 2**32).map(Random)


def shown(ms: int) -> str:
    """With an offset, so that the zone is read too."""
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms, hours=-3, minutes=-30)
    return local.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03}-03:30"


@st.composite
def leaves(draw: st.DrawFn) -> Leaf:
    operand = draw(st.sampled_from([KEY, TIMESTAMP, *NAMES]))
    is_time = operand is TIMESTAMP
    some = moments if is_time else literals
    operator = draw(st.sampled_from([*SIGNS, "in", "like", "null", "between"]))
    negated = operator not in SIGNS and draw(st.booleans())
    if operator == "null" or (operator == "like" and is_time):
        return operand, "null", negated, []
    if operator == "like":
        return operand, operator, negated, [draw(wild_patterns)]
    least, most = {"in": (1, 4), "between": (2, 2)}.get(operator, (1, 1))
    return operand, operator, negated, draw(st.lists(some, min_size=least, max_size=most))


trees = st.recursive(
    leaves(),
    lambda nodes: (
        st.tuples(st.just("not"), nodes)
        | st.tuples(st.sampled_from(["and", "or"]), st.lists(nodes, min_size=1, max_size=4))
    ),
    max_leaves=8,
)


# Its text


def spelled(tree: Any, chance: Random) -> str:
    """With spaces, parentheses and the case of keywords as chance has it."""
    words = _words(tree, chance)
    text = words[0]
    for word in words[1:]:
        tight = text[-1] in "(),=<>" or word[0] in "(),=<>!"
        text += chance.choice(["", " "] if tight else [" "]) + chance.choice(["", "  ", "\n", "\t"])
        text += word
    return text


def _words(tree: Any, chance: Random) -> list[str]:
    if tree[0] == "not":
        return [_cased("not", chance), *_inner(tree[1], chance, tree[1][0] in ("and", "or"))]
    if tree[0] in ("and", "or"):
        found: list[str] = []
        for each in tree[1]:
            found += [_cased(tree[0], chance)] if found else []
            found += _inner(each, chance, tree[0] == "and" and each[0] == "or")
        return found
    return _leaf_words(tree, chance)


def _inner(tree: Any, chance: Random, must: bool) -> list[str]:
    words = _words(tree, chance)
    return ["(", *words, ")"] if must or chance.random() < 0.2 else words


def _leaf_words(leaf: Leaf, chance: Random) -> list[str]:
    operand, operator, negated, some = leaf
    name = _operand(operand, chance)
    negation = [_cased("not", chance)] if negated else []
    right = [_literal(each) for each in some]
    if operator == "null":
        return [name, _cased("is", chance), *negation, _cased("null", chance)]
    if operator == "in":
        commas = [word for each in right for word in (",", each)][1:]
        return [name, *negation, _cased("in", chance), "(", *commas, ")"]
    if operator == "between":
        joined = [right[0], _cased("and", chance), right[1]]
        return [name, *negation, _cased("between", chance), *joined]
    return [name, *negation, _cased(operator, chance), *right]


def _operand(operand: Any, chance: Random) -> str:
    if operand is KEY or operand is TIMESTAMP:
        return _cased("key" if operand is KEY else "timestamp", chance)
    if operand in BARE and chance.random() < 0.5:
        return str(operand)
    return '"' + str(operand).replace('"', '""') + '"'


def _literal(literal: Any) -> str:
    if isinstance(literal, tuple):
        return str(literal[0])
    return "'" + str(literal).replace("'", "''") + "'"


def _cased(word: str, chance: Random) -> str:
    return "".join(chance.choice([each.lower(), each.upper()]) for each in word)


# Its meaning


def meant(tree: Any, key: bytes | None, timestamp: int, headers: dict[str, Any]) -> bool | None:
    if tree[0] == "not":
        inner = meant(tree[1], key, timestamp, headers)
        return None if inner is None else not inner
    if tree[0] in ("and", "or"):
        return _joined(tree[0], [meant(each, key, timestamp, headers) for each in tree[1]])
    operand, operator, negated, some = tree
    if operand is TIMESTAMP:
        answer = _of_time(operator, timestamp, [each[1] for each in some])
    else:
        answer = _of_value(operator, key if operand is KEY else headers[operand], some)
    return answer if answer is None or not negated else not answer


def _joined(word: str, parts: list[bool | None]) -> bool | None:
    decisive = word == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _of_time(operator: str, timestamp: int, some: list[int]) -> bool | None:
    if operator == "null":
        return False
    if operator == "in":
        return timestamp in some
    if operator == "between":
        return some[0] <= timestamp <= some[1]
    return _compared(operator, timestamp, some[0])


def _of_value(operator: str, value: bytes | None, some: list[Any]) -> bool | None:
    if operator == "null":
        return value is None
    if operator == "in":
        return _joined("or", [_one(value, "=", each) for each in some])
    if operator == "between":
        return _joined("and", [_one(value, ">=", some[0]), _one(value, "<=", some[1])])
    if operator == "like":
        return None if value is None else _like(_characters(value), _pieces(some[0]))
    return _one(value, operator, some[0])


def _one(value: bytes | None, sign: str, literal: Any) -> bool | None:
    if value is None:
        return None
    if not isinstance(literal, tuple):
        return _compared(sign, value, literal.encode())
    digits = value.removeprefix(b"+") if value[:1] == b"+" else value.removeprefix(b"-")
    whole, dot, part = digits.partition(b".")
    if len(value) > 40 or not whole.isdigit() or (dot and not part.isdigit()):
        return None
    return _compared(sign, Fraction(value.decode()), literal[1])


def _compared(sign: str, left: Any, right: Any) -> bool:
    order = (left > right) - (left < right)
    wanted = {"=": (0,), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
    return order in wanted.get(sign, (-1, 1))


def _characters(value: bytes) -> list[bytes]:
    found = []
    while value:
        size = next((size for size in (1, 2, 3, 4) if _is_character(value[:size])), 1)
        found.append(value[:size])
        value = value[size:]
    return found


def _is_character(piece: bytes) -> bool:
    try:
        return len(piece.decode()) == 1
    except UnicodeDecodeError:
        return False


def _pieces(pattern: str) -> list[bytes | str]:
    """Text as bytes, wildcards as str."""
    found: list[bytes | str] = []
    while pattern:
        is_escape = pattern[0] == "\\"
        one, pattern = pattern[is_escape], pattern[1 + is_escape :]
        found.append(one if one in "%_" and not is_escape else one.encode())
    return found


def _like(characters: list[bytes], pieces: list[bytes | str]) -> bool:
    if not pieces:
        return not characters
    if pieces[0] == "%":
        return any(_like(characters[at:], pieces[1:]) for at in range(len(characters) + 1))
    if not characters or pieces[0] not in ("_", characters[0]):
        return False
    return _like(characters[1:], pieces[1:])
