"""Settings of groups: their declarations fit those of brokers."""

from __future__ import annotations

import pytest

from penstock.config import BROKER_SETTINGS, GROUP_SETTINGS
from penstock.settings import Setting


@pytest.mark.parametrize("setting", GROUP_SETTINGS.values(), ids=GROUP_SETTINGS)
def test_a_group_setting_is_what_its_broker_setting_is(setting: Setting) -> None:
    general = BROKER_SETTINGS[setting.broker_name]
    assert (general.default, general.at_least, general.at_most) == (
        setting.default,
        setting.at_least,
        setting.at_most,
    )


@pytest.mark.parametrize("setting", GROUP_SETTINGS.values(), ids=GROUP_SETTINGS)
def test_the_default_of_a_group_setting_is_within_its_limits(setting: Setting) -> None:
    assert setting.broker_limits is not None
    lowest, highest = (BROKER_SETTINGS[name].default for name in setting.broker_limits)
    assert setting.default == 0 or lowest <= setting.default <= highest
