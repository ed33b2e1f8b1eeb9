"""Alarms of the real service: what a receiver is told of whole episodes, and that a bad one delays nothing."""

import re
import signal
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.receiver import Receiver, Script, receiver
from tests.support.service import LATER, NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.episodes.test_levels import rules

__all__ = ["receiver"]

Telling = Callable[..., Service]


@pytest.fixture
def telling(install: Install) -> Telling:
    """Install services that tell these receivers, given as lines of TOML."""

    def made(*receivers: str, settings: Mapping[str, Setting] | None = None) -> Service:
        service = install(dict(settings or {}))
        service.pretend("one")
        tell(service, *receivers)
        return service

    return made


def tell(service: Service, *receivers: str) -> None:
    service.more = "".join(f"[[alarms.receivers]]\n{each}\n" for each in receivers)
    service.configure({})


def to(receiver: Receiver, *more: str) -> str:
    return "\n".join((f'url = "{receiver.url}/cmgr"', *more))


def test_a_receiver_hears_a_whole_recovery_in_order(telling: Telling, receiver: Receiver) -> None:
    service = telling(to(receiver))
    service.start()
    service.inject(1)
    last = receiver.until_event("recovered")
    assert receiver.events() == ["detected", "stopped", "reset", "recovered"]
    first = receiver.bodies()[0]
    assert (first["episode"], first["ring"], first["chips"]) == (1, 0, [0, 1, 2, 3])
    assert (first["codes"], first["containers"], first["status"]) == ([NOW], ["one"], "firing")
    assert (last["status"], last["outcome"]) == ("resolved", "recovered")
    assert last["summary"].startswith("episode 1 is over: recovered after")


def test_isolation_and_the_end_of_it_are_told(telling: Telling, receiver: Receiver) -> None:
    service = telling(to(receiver, 'events = ["isolated"]'), settings={"isolation.release_after": "300ms"})
    service.start()
    service.inject(3, "80818C00")
    told = receiver.until_event("isolated")
    assert (told["status"], told["chips"], told["codes"]) == ("firing", [3], ["80818C00"])
    service.inject(3, "80818C00", "cleared")
    assert receiver.until_event("isolated", 2)["status"] == "resolved"


def test_what_stands_is_told_again_by_the_next_life_and_what_ends_then_is_told(
    telling: Telling, receiver: Receiver
) -> None:
    service = telling(to(receiver), settings={"levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    receiver.until_event("stopped")
    service.kill9()
    service.start()
    again = receiver.until_event("detected", 2)
    assert (again["id"], again["repeated"]) == ("episode-1", True)
    service.inject(0, LATER, "cleared")
    assert receiver.until_event("recovered")["outcome"] == "cleared"


def test_a_receiver_that_hangs_delays_no_recovery_and_the_other_hears_all(telling: Telling, receiver: Receiver) -> None:
    hanging = Receiver()
    hanging.script = Script(hang=True)
    service = telling(to(hanging), to(receiver), settings={"alarms.timeout": "5m"})
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    receiver.until_event("recovered")
    assert hanging.events() == ["detected"]
    hanging.close()


def test_one_that_is_not_there_is_a_trouble_that_status_shows_until_it_is_back(telling: Telling) -> None:
    gone = Receiver()
    gone.close()
    service = telling(to(gone))
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")

    def troubles() -> list[str]:
        return list(service.status()["service"]["troubles"])

    eventually(lambda: any("Connection refused (4 wait)" in t for t in troubles()), why="the trouble is shown")
    assert service.status()["service"]["state"] == "degraded"
    back = Receiver(port=gone.port)
    back.until_event("recovered")
    eventually(lambda: troubles() == [])
    assert service.status()["service"]["state"] == "ready"
    assert back.events() == ["detected", "stopped", "reset", "recovered"]
    back.close()


def test_alertmanager_hears_that_an_alert_begins_and_ends(telling: Telling, receiver: Receiver) -> None:
    service = telling(f'url = "{receiver.url}"\nformat = "alertmanager"')
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    alerts = [body[0] for body in receiver.until(4)]
    assert {request.path for request in receiver.requests} == {"/api/v2/alerts"}
    assert [alert["annotations"]["step"] for alert in alerts] == ["detected", "stopped", "reset", "recovered"]
    assert len({str(alert["labels"]) for alert in alerts}) == 1
    assert alerts[-1]["endsAt"] < alerts[0]["endsAt"], "it is over, and does not only run out"


def test_receivers_can_change_while_the_service_runs(telling: Telling, receiver: Receiver) -> None:
    service = telling()
    service.start()
    service.inject(7, "80818C00")
    service.until_said("chip 7 is isolated")
    tell(service, to(receiver))
    service.tell(signal.SIGHUP)
    assert receiver.until_event("isolated")["repeated"], "one that is new is told what stands"
    service.inject(0)
    receiver.until_event("recovered")


DEAD_LINK = "81078603"
LASTS = {"EventId": [DEAD_LINK], "FaultTimeout": 1, "RecoverTimeout": 1, "FaultHandling": "PreSeparateNPU"}


def test_the_dead_links_of_all_chips_are_one_alarm_and_one_line_about_the_switch(
    telling: Telling, receiver: Receiver, folder: Path
) -> None:
    service = telling(to(receiver), settings={"faults.rules": rules(folder, FaultDuration=[LASTS])})
    service.more += "".join(f'[[sim.script]]\nchip = {chip}\ncode = "{DEAD_LINK}"\n' for chip in range(8))
    service.configure({"resync": "1s"})
    service.start()
    told = receiver.until_event("trouble")
    assert (told["id"], told["chips"], told["codes"]) == (f"network-{DEAD_LINK}", list(range(8)), [DEAD_LINK])
    line = f"network fault {DEAD_LINK} on chips 0-7"
    assert told["summary"].startswith(line)
    (row,) = service.status()["troubles"]
    assert (row["text"], "look at the switch of chips 0-7" in row["hint"]) == (line, True)
    shown = service.cmgr("status").out
    assert shown.startswith(f"not well: {line}\n8 chips healthy")
    assert set(re.findall(r"network fault \w+ on chips? [\d,-]+", shown)) == {line}
    assert service.cmgr("faults").out.count(DEAD_LINK) == 1
    head, *_, end = service.cmgr("export", "switchinfo", "-o", "describe").out.splitlines()
    assert (head, end) == (f"Name:         mindx-dl-deviceinfo-{socket.gethostname()}", "Events:  <none>")
    assert '"NodeStatus":"SubHealthy"' in service.cmgr("export", "switchinfo").out
    for chip in range(8):
        service.inject(chip, DEAD_LINK, "cleared")
    assert receiver.until_event("trouble", 2)["status"] == "resolved"
    assert receiver.events() == ["trouble", "trouble"]
    assert service.resets() == ()


def test_the_token_and_the_path_of_the_address_stay_out_of_the_log(
    telling: Telling, receiver: Receiver, folder: Path
) -> None:
    token = folder / "token"
    token.write_text("very-secret\n")
    token.chmod(0o600)
    receiver.script = Script(status=403)
    service = telling(f'url = "{receiver.url}/T0/hidden-path"\ntoken_file = "{token}"')
    service.start()
    service.inject(0)
    service.until_said("it answers 403 Forbidden")
    assert receiver.requests[0].headers["Authorization"] == "Bearer very-secret"
    service.terminate()
    assert "very-secret" not in service.said()
    assert "hidden-path" not in service.said()
    assert "were not sent" in service.said()
