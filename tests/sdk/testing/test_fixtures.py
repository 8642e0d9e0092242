"""The plugin, in pytest runs of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

PLUGIN = ("-p", "penstock.testing", "-p", "no:randomly")


def run(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(tests)
    return pytester.runpytest_subprocess(*PLUGIN, *options)


def test_one_broker_serves_the_session_and_a_fresh_one_each_test(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        import pytest

        seen, fresh = set(), set()

        @pytest.fixture(scope="session")
        def address(penstock_broker):
            return penstock_broker.bootstrap

        @pytest.mark.parametrize("number", range(3))
        def test_one(address, penstock_broker, penstock_fresh_broker, number):
            seen.add(penstock_broker.bootstrap)
            assert seen == {address}
            assert penstock_fresh_broker.admin.topics.list() == ()
            penstock_fresh_broker.topic()
        """,
    )
    result.assert_outcomes(passed=3)


def test_a_shared_broker_that_a_test_has_harmed_is_there_for_the_next(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.parametrize("harm", ["kill", "pause", "stop", "restart"])
        def test_harm(penstock_broker, harm):
            assert penstock_broker.is_running and not penstock_broker.is_paused
            penstock_broker.topic()
            getattr(penstock_broker, harm)()

        def test_after(penstock_broker):
            assert len(penstock_broker.admin.topics.list()) == 4
        """,
    )
    result.assert_outcomes(passed=5)


def test_an_ini_file_says_how_brokers_run(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        """
        [pytest]
        penstock_in_process = true
        penstock_settings =
            num.partitions = 4
            log.retention.ms=1234
        """
    )
    result = run(
        pytester,
        """
        import sys, threading, pytest

        def test_set(penstock_broker, penstock_fresh_broker):
            for broker in (penstock_broker, penstock_fresh_broker):
                configs = broker.admin.brokers.get_configs(1)
                assert configs["num.partitions"].value == "4"
                assert configs["log.retention.ms"].value == "1234"
            names = [each.name for each in threading.enumerate()]
            assert names.count("penstock-broker") == 2

        @pytest.mark.penstock(in_process=False, settings={"num.partitions": 5})
        def test_nearer(penstock_fresh_broker):
            configs = penstock_fresh_broker.admin.brokers.get_configs(1)
            assert configs["num.partitions"].value == "5"
            penstock_fresh_broker.kill()
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_marker_that_is_not_understood_is_refused(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.penstock(proces=True)
        def test_wrong(penstock_fresh_broker):
            pass
        """,
        "--strict-markers",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes settings= and in_process=*"])


def test_every_worker_of_xdist_has_a_broker_of_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEEN", str(tmp_path))
    result = run(
        pytester,
        """
        import os, pytest
        from pathlib import Path

        @pytest.mark.parametrize("number", range(4))
        def test_one(penstock_broker, number):
            worker = os.environ["PYTEST_XDIST_WORKER"]
            (Path(os.environ["SEEN"]) / f"{worker}-{penstock_broker.port}").touch()
        """,
        *("-n", "2"),
    )
    result.assert_outcomes(passed=4)
    workers, ports = zip(*(each.name.split("-") for each in tmp_path.iterdir()), strict=True)
    assert sorted(workers) == ["gw0", "gw1"]
    assert len(set(ports)) == 2


def test_a_run_without_brokers_loads_little(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import sys

        def test_light():
            loaded = {name for name in sys.modules if name.startswith("penstock")}
            assert loaded == {"penstock", "penstock.testing"}
        """,
    )
    result.assert_outcomes(passed=1)


def test_nothing_is_left_when_the_session_has_ended(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    result = run(
        pytester,
        """
        import pytest, tempfile
        from pathlib import Path

        def test_one(penstock_broker, penstock_cluster):
            penstock_cluster(2).brokers[0].kill()
            assert list(Path(tempfile.gettempdir()).glob("penstock-test-*"))

        @pytest.mark.penstock(in_process=True)
        def test_other(penstock_fresh_broker):
            raise SystemExit("as if it had been interrupted")
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    assert list(tmp_path.glob("penstock-test-*")) == []
