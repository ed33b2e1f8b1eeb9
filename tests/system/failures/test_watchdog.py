"""The traces of a service that systemd's watchdog has ended, however cmgr was installed."""

import signal

from tests.system.conftest import Install


def test_a_service_that_the_watchdog_ends_says_where_each_thread_is(install: Install) -> None:
    service = install({})
    service.start()
    assert service.end(signal.SIGABRT) == -signal.SIGABRT
    said = service.said()
    assert "Fatal Python error: Aborted" in said
    assert "loop.py" in said
