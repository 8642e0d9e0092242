"""Texts become values strictly: what is no number, or none that fits, is refused."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from penstock.errors import ErrorCode, Refused
from penstock.settings import LONG_MAX, LONG_MIN, Setting

WHOLE = Setting("a.number", 5, "")
SHARE = Setting("a.share", 0.5, "")
INT_MAX = (1 << 31) - 1
ALL = list(chain(BROKER_SETTINGS.values(), TOPIC_SETTINGS.values(), GROUP_SETTINGS.values()))
NUMBERS = [each for each in ALL if each.kind in (int, float)]


def refused(setting: Setting, text: str) -> str:
    with pytest.raises(Refused) as caught:
        setting.parse(text)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    return caught.value.message


@pytest.mark.parametrize(
    "text",
    ["", "-", "\u0663", "\uff11", "1_000", "0x10", "1e5", "1.0", "5 5", "--5", "nan", "9" * 5000],
)
def test_a_whole_number_is_ascii_digits_with_a_sign_at_most(text: str) -> None:
    assert refused(WHOLE, text) == f"a.number: {text!r} is not a whole number"


@given(st.integers(LONG_MIN, LONG_MAX), st.sampled_from(["{}", " {}", "{}\t", "{:+}"]))
def test_whole_numbers_of_64_bits_are_read(number: int, shape: str) -> None:
    assert WHOLE.parse(shape.format(number)) == number


def test_what_does_not_fit_into_64_bits_is_refused() -> None:
    assert refused(WHOLE, str(LONG_MAX + 1)) == f"a.number: {LONG_MAX + 1} is more than {LONG_MAX}"
    assert refused(WHOLE, str(LONG_MIN - 1)) == f"a.number: {LONG_MIN - 1} is less than {LONG_MIN}"


@pytest.mark.parametrize(
    "text", ["nan", "NaN", "inf", "-Infinity", "1e999", "0.5f", "\u0660.5", "1_0"]
)
def test_what_is_not_finite_is_no_number(text: str) -> None:
    assert refused(SHARE, text) == f"a.share: {text!r} is not a number"


@given(st.floats(min_value=-1e9, max_value=1e9))
def test_fractions_are_read_as_they_are_shown(number: float) -> None:
    assert SHARE.parse(SHARE.show(number)) == number


@pytest.mark.parametrize("setting", ALL, ids=[each.name for each in ALL])
def test_every_default_is_read_as_it_is_shown(setting: Setting) -> None:
    assert setting.parse(setting.show(setting.default)) == setting.default


@pytest.mark.parametrize("setting", NUMBERS, ids=[each.name for each in NUMBERS])
@pytest.mark.parametrize("text", [str(10**30), str(-(10**30)), "nan", "1_000", "\u0663"])
def test_no_setting_takes_a_number_that_is_none(setting: Setting, text: str) -> None:
    assert refused(setting, text).startswith(f"{setting.name}: ")


@pytest.mark.parametrize(
    "name",
    [
        "index.interval.bytes",
        "max.message.bytes",
        "min.insync.replicas",
        "segment.bytes",
        "segment.index.bytes",
    ],
)
def test_kafkas_ints_have_32_bits(name: str) -> None:
    assert TOPIC_SETTINGS[name].parse(str(INT_MAX)) == INT_MAX
    refused(TOPIC_SETTINGS[name], str(INT_MAX + 1))


@pytest.mark.parametrize("name", ["retention.ms", "retention.bytes", "segment.ms", "flush.ms"])
def test_kafkas_longs_have_64_bits(name: str) -> None:
    assert TOPIC_SETTINGS[name].parse(str(LONG_MAX)) == LONG_MAX


def test_a_brokers_session_lasts_half_an_hour_at_most() -> None:
    session = BROKER_SETTINGS["broker.session.timeout.ms"]
    assert session.parse("1800000") == 1_800_000
    refused(session, "1800001")
