"""The service on chips that a program speaks for: a fault, the stop, the reset, the start; kills and bad programs."""

import os
from pathlib import Path

import pytest

from tests.fakes.tool.standin import ISOLATES, RESETS, Speaker
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install


@pytest.fixture
def served(install: Install) -> tuple[Service, Speaker]:
    """A service that is not started yet, with a pretended container on chip 0, which is reset with chip 1."""
    speaker = Speaker()
    settings = {"driver": "tool", "tool.program": str(speaker.program), "tool.call_timeout": "2s", "resync": "1s"}
    service = install(settings)
    service.pretend("web")
    return service, speaker


def test_a_fault_that_the_program_tells_is_recovered(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    service.start()
    assert service.status()["service"]["driver"] == "tool"
    speaker.occur(0, RESETS)
    eventually(lambda: speaker.resets == [[0, 1]])
    service.until_over()
    assert service.runs("web")
    (episode,) = service.episodes()
    assert (episode.ring, episode.outcome) == (0, "recovered")
    explained = service.cmgr("explain", RESETS)
    assert "it is ill" in explained.out
    assert "RestartNPU" in explained.out


def test_its_codes_are_known_from_the_first_fault_on(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    speaker.occur(0, RESETS, told=False)
    service.start()
    eventually(lambda: speaker.resets == [[0, 1]])
    service.until_over()


def test_its_codes_are_explained_when_no_service_runs(served: tuple[Service, Speaker]) -> None:
    service, _ = served
    service.start()
    service.terminate()
    assert "it is broken" in service.cmgr("explain", ISOLATES).out


def test_a_service_that_is_killed_in_the_middle_of_a_reset_begins_no_other(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    service.start()
    speaker.put("hang.reset")
    speaker.occur(0, RESETS)
    service.until_phase("resetting")
    eventually(lambda: (service.folder / "state" / "tool-reset-0.lock").exists())
    eventually(lambda: _runs(speaker, "reset"))
    service.kill9()
    service.start()
    eventually(lambda: service.ring()["phase"] == "verifying")
    assert len(_runs(speaker, "reset")) == 1
    speaker.take_away("hang.reset")
    service.until_over()
    assert speaker.resets == [[0, 1]]
    assert service.runs("web")


def _runs(speaker: Speaker, word: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text(errors="replace").split("\0")
        except OSError:
            continue
        found += [path.parent.name] if str(speaker.program) in words and word in words else []
    return found


def test_a_service_that_is_killed_leaves_no_watch(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    service.start()
    eventually(lambda: _runs(speaker, "watch"))
    service.kill9()
    eventually(lambda: not _runs(speaker, "watch"))


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        ("say.watch", "", "it has ended"),
        ("say.watch", "nonsense\n", "cannot be understood"),
        ("say.read", "nonsense\n", "cannot be understood"),
    ],
)
def test_a_program_that_is_not_well_is_told_until_it_is(
    served: tuple[Service, Speaker], name: str, said: str, why: str
) -> None:
    service, speaker = served
    speaker.put(name, said)
    service.start()

    def troubles() -> list[str]:
        return [each["why"] for each in service.status()["troubles"] if each["kind"] == "driver"]

    eventually(lambda: any(why in each for each in troubles()))
    assert service.cmgr("status", "--check").code != 0
    speaker.take_away(name)
    eventually(lambda: not troubles())
    speaker.occur(0, RESETS)
    eventually(lambda: speaker.resets == [[0, 1]])
    service.until_over()


def test_a_program_that_floods_hides_no_fault_of_another_chip(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    service.start()
    with (speaker.folder / "events").open("a") as events:
        events.write(20_000 * '{"fault":"0000A003","chip":2,"state":"once"}\n')
    speaker.occur(0, RESETS)
    eventually(lambda: speaker.resets == [[0, 1]])
    service.until_over()


def test_a_fault_whose_program_is_named_stops_nobody_else(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    speaker.set(codes=[(RESETS, "a program has failed", "RestartBusiness")])
    service.start()
    speaker.tell(fault=RESETS, chip=0, state="once", pid=os.getpid())
    service.until_said("it came of no container that runs, and concerns nobody else")
    assert not any("will be stopped" in note.text for note in service.notes())
    speaker.tell(fault=RESETS, chip=0, state="once")
    eventually(lambda: any("will be stopped" in note.text for note in service.notes()))
    service.until_over()
    assert service.runs("web")
    assert speaker.resets == []


def test_a_program_of_another_version_serves_nothing_and_says_so(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    speaker.set(version=2)
    service.launch()
    service.until_said("it speaks version 2, and cmgr version 1")
    speaker.set(version=1)
    eventually(lambda: service._is_up())
    assert len(service.status()["chips"]) == 4


def test_a_program_without_reset_has_its_chips_isolated_and_stops_nobody(served: tuple[Service, Speaker]) -> None:
    service, speaker = served
    speaker.set(can=["processes"])
    service.start()
    speaker.occur(2, RESETS)
    eventually(lambda: [chip["id"] for chip in service.status()["chips"] if chip["isolated"]] == [2])
    assert speaker.resets == []
    assert service.runs("web")
