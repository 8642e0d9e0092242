"""Settings of groups: their declarations fit those of brokers."""

from __future__ import annotations

import pytest

from penstock.config import BROKER_SETTINGS, GROUP_DEFAULTS
from penstock.settings import Setting

of_brokers = pytest.mark.parametrize("setting", GROUP_DEFAULTS.values(), ids=GROUP_DEFAULTS)


@of_brokers
def test_a_group_setting_is_what_its_broker_setting_is(setting: Setting) -> None:
    general = BROKER_SETTINGS[setting.broker_name]
    assert (general.default, general.at_least, general.at_most) == (
        setting.default,
        setting.at_least,
        setting.at_most,
    )


@of_brokers
def test_the_default_of_a_group_setting_is_within_its_limits(setting: Setting) -> None:
    assert setting.broker_limits is not None
    lowest, highest = (BROKER_SETTINGS[name].default for name in setting.broker_limits)
    assert setting.default == 0 or lowest <= setting.default <= highest
